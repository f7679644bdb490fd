"""The compare page: two files side by side, what they have in common, and files that are none."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs
from streamlit.testing.v1 import AppTest

from owi_core import record_file
from owi_core.checkpoints import shipped
from owi_core.readings import read
from owi_core.record_file import SavedRecord, saved
from pages._labs.compare.form import EXAMPLE
from pages._labs.compare.view import difference_code, model_line
from pages._ui.base.i18n import catalog
from tests.pages_under_test import calm, opened, told
from tests.tiny import word_bundle

A, B = "小明把苹果放在桌子上，小红拿走了它", "小明把杯子放在桌子上，小红拿走了它"
WORDS = {lang: catalog(lang, "compare") for lang in ("zh", "en")}
ERRORS = catalog("zh", "errors")


def record(text: str = A, label: str = "", **changes: Any) -> SavedRecord:
    bundle = word_bundle(**changes) if changes else shipped("swap")
    return saved(read(bundle, text), "swap", label)


def put(app: AppTest, side: str, data: bytes) -> AppTest:
    field = app.file_uploader(key=f"owi.compare.file.{side}")
    return calm(field.upload("record.safetensors", data).run())


def with_both(a: SavedRecord, b: SavedRecord) -> AppTest:
    app = put(opened("compare"), "A", record_file.to_bytes(a))
    return put(app, "B", record_file.to_bytes(b))


def drawn(app: AppTest, key: str) -> dict[str, Any]:
    (found,) = [each for each in app.main.get("bidi_component") if each.key == key]
    return json.loads(found.proto.json)


def difference(app: AppTest) -> list[float]:
    (figure,) = app.main.get("plotly_chart")
    packed = json.loads(figure.proto.spec)["data"][0]["x"]
    assert packed["dtype"] == "f8"
    return list(np.frombuffer(base64.b64decode(packed["bdata"])))


def start(code: str) -> str:
    """Return the words of an error that stand before its first value."""
    return ERRORS[f"errors.{code}"].partition("{")[0]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_without_a_record_the_page_says_how_to_get_one(lang: str) -> None:
    app = calm(opened("compare", lang=lang))
    assert [box.value for box in app.info] == [WORDS[lang]["empty"]]
    assert WORDS[lang]["to_rows"] in [link.proto.label for link in app.main.get("page_link")]


def test_two_records_show_words_rows_and_their_difference() -> None:
    a, b = record(A, "小红"), record(B, "*小刚*")
    app = with_both(a, b)
    assert drawn(app, "compare.words.A")["labels"] == list(a.labels)
    assert drawn(app, "compare.words.B")["colour"] == "B"
    layer = app.session_state["compare.layer"]
    np.testing.assert_allclose(
        drawn(app, "compare.words.B")["weights"], b.record.row(b.query, layer), atol=1e-5
    )
    assert sum(difference(app)) == pytest.approx(0, abs=1e-5)
    assert max(difference(app)) == pytest.approx(1, abs=0.01)
    assert WORDS["zh"]["model.same"].partition("{")[0] in told(app)
    assert r"\*小刚\*" in told(app)
    assert "✓" in told(app)
    assert WORDS["zh"]["uploaded"] in told(app)


def test_layers_and_heads_offered_are_those_that_both_have() -> None:
    app = with_both(record(), record(n_layer=1, n_head=2))
    layers = next(c for c in app.main.segmented_control if c.key == "compare.layer")
    heads = next(c for c in app.main.segmented_control if c.key == "compare.head")
    assert (len(layers.options), len(heads.options)) == (1, 1 + 2)


def test_one_model_is_told_from_one_recipe_and_from_two_models() -> None:
    from dataclasses import replace

    a, other = record(), record(seed=1)
    elsewhere = replace(a, model=structs.replace(a.model, weights="other bits"))
    assert model_line(a, record(B))[0] == "model.same"
    assert model_line(a, elsewhere)[0] == "model.same_recipe"
    assert model_line(a, other)[0] == "model.different"
    nameless = replace(other, model=structs.replace(other.model, weights="others"))
    assert model_line(other, nameless)[0] == "model.different"  # no recipe is not one recipe


def test_a_file_that_is_none_says_why_and_keeps_the_other() -> None:
    app = put(opened("compare"), "A", record_file.to_bytes(record()))
    app = put(app, "B", b"no record at all")
    assert [error.value.startswith(start("record_unreadable")) for error in app.error] == [True]
    assert drawn(app, "compare.words.A")["labels"] == list(record().labels)
    app = put(app, "A", b"")
    assert len(app.error) == 2
    assert drawn(app, "compare.words.A")["labels"] == list(record().labels)  # still the last good
    calm(app.file_uploader(key="owi.compare.file.A").clear().run())
    assert drawn(app, "compare.words.A")["labels"] == list(record().labels)


def test_a_record_can_be_taken_out_again() -> None:
    app = with_both(record(), record(B))
    calm(app.file_uploader(key="owi.compare.file.A").clear().run())
    keys = [each.key for each in app.main.get("bidi_component")]
    assert "compare.words.A" not in keys
    assert "compare.words.B" in keys
    assert WORDS["zh"]["one_more"].format(side="A") in [box.value for box in app.info]


def test_a_record_is_still_there_after_a_visit_to_another_page() -> None:
    app = put(opened("compare"), "A", record_file.to_bytes(record()))
    calm(app.switch_page("pages/rows.py").run())
    calm(app.switch_page("pages/compare.py").run())
    assert drawn(app, "compare.words.A")["labels"] == list(record().labels)
    calm(app.button(key="owi.compare.remove.A").click().run())
    assert [box.value for box in app.info] == [WORDS["zh"]["empty"]]


def test_two_records_of_one_row_have_no_difference() -> None:
    app = with_both(record(), record())
    assert catalog("zh", "rows")["difference.none"] in told(app)
    assert not app.main.get("plotly_chart")


def test_the_example_needs_no_file_and_a_file_takes_its_place() -> None:
    app = opened("compare")
    calm(app.toggle(key=EXAMPLE).set_value(True).run())
    assert max(difference(app)) == pytest.approx(1, abs=0.01)
    assert WORDS["zh"]["uploaded"] not in told(app)
    app = put(app, "B", record_file.to_bytes(record(A)))
    assert drawn(app, "compare.words.B")["labels"] == list(record(A).labels)


def test_the_code_beside_the_difference_draws_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = {"A": record(A), "B": record(B)}
    for name, kept in looked.items():
        (tmp_path / f"owi-record-{name}.safetensors").write_bytes(record_file.to_bytes(kept))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(difference_code(looked, (1, None)), names)  # type: ignore[arg-type]
    assert list(names["figure"].data[0].x) == pytest.approx(
        difference(with_both(looked["A"], looked["B"]))
    )


def test_the_rows_page_gives_both_records_and_keeps_the_name_out_of_links() -> None:
    from tests.pages_under_test import shared_link

    app = opened("rows")
    app.session_state["rows.take"] = True
    app.run()
    calm(app.text_input(key="rows.whose").set_value("小红").run())
    labels = [button.proto.label for button in app.main.get("download_button")]
    said = catalog("zh", "rows")["take.download"]
    assert [said.format(side=side) in labels for side in ("A", "B")] == [True, True]
    assert "whose" not in shared_link(app)
