"""Cut edges: the change in nats with its sign, the control beside the cut."""

from owi_core.figures import CutEdge, FigureText, knockout_bars

CUTS = [
    CutEdge("它", 9, "苹果", 2, -6.03),
    CutEdge("它", 9, "<b>", 0, -0.02, control=True),
]


def test_bars_are_the_changes_in_nats() -> None:
    figure = knockout_bars(CUTS, text=FigureText(change="变化（nat）"))
    assert list(figure.data[0].x) == [-6.03, -0.02]
    assert list(figure.data[0].text) == ["−6.03", "−0.02"]
    assert figure.layout.xaxis.title.text == "变化（nat）"


def test_what_rounds_to_nothing_is_written_without_a_sign() -> None:
    cuts = [CutEdge("它", 9, "把", key, change) for key, change in enumerate((-0.0004, 0.0, 3e-7))]
    assert list(knockout_bars(cuts).data[0].text) == ["0.00", "0.00", "0.00"]


def test_zero_is_drawn_and_every_bar_fits() -> None:
    figure = knockout_bars(CUTS)
    low, high = figure.layout.xaxis.range
    assert low < -6.03
    assert high > 0
    assert figure.layout.xaxis.zeroline


def test_a_change_of_nothing_looks_like_nothing() -> None:
    low, _ = knockout_bars([CutEdge("它", 1, "我", 0, -0.001)]).layout.xaxis.range
    assert low <= -1


def test_the_control_is_named_and_hatched() -> None:
    figure = knockout_bars(CUTS)
    assert "control" in figure.layout.yaxis.ticktext[1]
    assert list(figure.data[0].marker.pattern.shape) == ["", "/"]


def test_edges_are_named_as_typed_with_their_places() -> None:
    figure = knockout_bars(CUTS)
    assert figure.layout.yaxis.ticktext[1].startswith("它 → &#60;b&#62;")
    assert figure.data[0].customdata[0][0] == "它 (10) → 苹果 (3)"
    assert "%{hovertext}" in figure.data[0].hovertemplate
    assert list(figure.data[0].hovertext) == ["−6.030", "−0.020"]
