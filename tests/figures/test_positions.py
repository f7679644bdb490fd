"""The pictures of positions hold the table's own numbers and name their axes."""

import numpy as np
import pytest

from owi_core.figures import position_likeness, position_table

TABLE = np.array([[0.0, 1.0], [0.6, 0.8], [1.0, 0.0]])


def test_table_is_drawn_as_it_is_on_a_fixed_scale() -> None:
    figure = position_table(TABLE)
    np.testing.assert_array_equal(figure.data[0].z, TABLE)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-1, 1)
    assert figure.layout.yaxis.title.text == "position"
    assert figure.layout.xaxis.title.text == "dimension"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_likeness_is_the_cosine(theme: str) -> None:
    z = position_likeness(TABLE * 3, theme=theme).data[0].z  # type: ignore[arg-type]
    np.testing.assert_allclose(np.diag(z), 1)
    assert z[0][1] == pytest.approx(0.8)
    assert position_likeness(-TABLE * [1, -1]).data[0].hovertext[0][2] == "0.000"
    assert position_table(-TABLE).data[0].hovertext[0][1] == "−1.000"
    assert z[0][2] == pytest.approx(0.0)
