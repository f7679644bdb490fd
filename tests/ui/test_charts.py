"""What can be taken from the figures of every page at first sight, and what the files hold."""

import csv
import io
import re
from collections.abc import Callable

import numpy as np
import pytest
from plotly.offline import get_plotlyjs
from streamlit.testing.v1 import AppTest

from owi_core.figures import NamedRow, row_bars
from owi_core.probes.derivation import CHAIN
from pages._ui.base import page_contents
from pages._ui.base.entries import page_entries
from pages._ui.base.i18n import LANGUAGES, translator
from pages._ui.draw import charts
from pages._ui.frame import report
from tests.pages_under_test import opened

NAMES = [entry.name for entry in page_entries("zh")]
# What must be on a page before anything is trained: settled figures and live drawings.  A page
# that is not listed here is tested too; only this minimum is not asked of it.
AT_FIRST_SIGHT = {
    "home": ["home.words.A", "home.words.B"],
    "rows": ["rows.words.A", "rows.words.B", "rows.difference", "rows.cuts.A", "rows.cuts.B",
             "rows.matrix", "rows.grid"],
    "step": ["step.chain", "step.row.words", "step.model_row.clear", "step.positions.table"],
    "masking": ["masking.fit_causal.0", "masking.pads.matrix"],
    "feedback": ["feedback.words", "feedback.next"],
    "cost": ["cost.reach"],
    "projection": ["projection.words", "projection.worth", "projection.faults",
                   "projection.lengths", "projection.shares"],
    "tying": ["tying.logits"],
}  # fmt: skip
Files = dict[str, Callable[[], bytes]]


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    """Every file that the page offers for download, by its name."""
    offered: Files = {}
    monkeypatch.setattr(
        charts, "_download", lambda label, data, name, mime: offered.update({name: data})
    )
    return offered


def exports(app: AppTest) -> list[str]:
    """Keys of the figures that can be exported."""
    keys = [element.key for element in app.get("popover")]
    return [key.removeprefix("export.") for key in keys if key.startswith("export.")]


def all_open(app: AppTest) -> AppTest:
    """Open the exports of every figure."""
    for key in exports(app):
        app.session_state[f"export.{key}"] = True
    return app.run()


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_offers_its_numbers_and_a_page_of_its_own(name: str, files: Files) -> None:
    app = opened(name)
    found = exports(app)
    assert set(AT_FIRST_SIGHT.get(name, ())) <= set(found)
    assert len(found) >= len(app.main.get("plotly_chart")), "draw with charts.chart(page, figure)"
    assert not files  # shut: nothing is made, nothing can be fetched
    all_open(app)
    assert not app.exception
    assert not app.error
    assert len(files) == 2 * len(found)
    for file, make in files.items():
        if file.endswith(".csv"):
            heading, *rows = csv.reader(io.StringIO(make().decode("utf-8-sig"), newline=""))
            assert rows, file
            assert all(len(row) == len(heading) for row in rows), file
    for file in [file for file in files if file.endswith(".html")][:1]:  # one of each page
        page = files[file]().decode()
        own = page.replace(get_plotlyjs(), "")
        assert '<html lang="zh-CN">' in own
        assert re.search(r"[\u4e00-\u9fff]", own.split("Plotly.newPlot")[1])  # in the figure itself
        assert not re.search(r"(src|href)\s*=|@import|url\(", own)
        assert translator("zh", "common")("export.source") in own


def test_page_of_a_figure_tells_model_seed_and_the_lines_beneath_it(files: Files) -> None:
    app = opened("rows")
    app.session_state["export.rows.difference"] = True
    app.run()
    page = files["owi-rows-difference.html"]().decode()
    assert "<dt>swap</dt>" in page
    assert "seed = 0" in page
    assert "row_difference(a.labels, row_a, b.labels, row_b)" in page
    assert "knock_out_row" not in page  # those stand under another figure


def exported(files: Files, page: str, drawing: str, file: str) -> list[dict[str, str]]:
    """Return the rows of the table that a page offers under a drawing."""
    app = opened(page)
    app.session_state[f"export.{page}.{drawing}"] = True
    app.run()
    text = files[file]().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_numbers_of_a_live_drawing_are_those_it_shows(files: Files) -> None:
    rows = exported(files, "rows", "words.A", "owi-rows-words-A.csv")
    assert {row["series"] for row in rows} == {"它"}
    looked = {row["note 1"]: float(row["x: 注意力权重"]) for row in rows}
    assert looked["杯子 (3)"] == pytest.approx(1.0, abs=1e-3)
    assert sum(looked.values()) == pytest.approx(1.0, abs=1e-5)


def test_chain_of_one_step_gives_every_number_of_every_table(files: Files) -> None:
    rows = exported(files, "step", "chain", "owi-step-chain.csv")
    assert tuple(dict.fromkeys(row["table"] for row in rows)) == CHAIN
    sums: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["table"] == "pattern":
            place = (row["head"], row["row"])
            sums[place] = sums.get(place, 0.0) + float(row["value"])
    assert list(sums.values()) == pytest.approx([1.0] * len(sums))


def test_what_is_drawn_anew_replaces_its_own_code_and_no_other() -> None:
    now = page_contents.PageContents("page")
    for key, lines in (("a", "one"), ("b", "two")):
        now.codes[key] = [lines]
    now.codes["c"] = []
    assert [now.code_for(key) for key in ("a", "b", "c", "unknown")] == ["one", "two", "two", "one"]
    assert now.all_code() == ["one", "two"]


def test_a_long_setting_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    now = page_contents.PageContents("page")
    monkeypatch.setattr(page_contents, "current", lambda: now)
    page_contents.made_by("masking 1", {"seed": 3, "own_text": "字" * 5000})
    assert now.facts["masking 1"].startswith("seed = 3, own_text = 字字")
    assert len(now.facts["masking 1"]) < 700


def test_report_is_offered_at_the_end_of_a_page_and_knows_settings_and_code() -> None:
    app = opened("rows")
    app.session_state["owi.report"] = True
    app.run()
    assert not app.exception
    t = translator("zh", "common")
    assert t("report.about") in [element.value for element in app.main.markdown]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_word_of_the_report_is_in_the_catalog(lang: str) -> None:
    t = translator(lang, "common")
    assert all(t.has(f"report.{word}") for word in report.WORDS)


@pytest.mark.parametrize(
    ("lang", "most", "more"),
    [("zh", "最大 0.75（乙）", "另外还有 2 组"), ("en", "most 0.75 (at 乙)", "And 2 more")],
)
def test_a_figure_tells_its_numbers_to_those_who_hear_it(lang: str, most: str, more: str) -> None:
    rows = [NamedRow(name, ["甲", "乙"], np.array([0.25, 0.75])) for name in "abcdefgh"]
    assert charts.alt_text(row_bars(rows[:1]), lang).count(most) == 1
    told = charts.alt_text(row_bars(rows), lang)
    assert told.count(most) == charts.MOST_HEARD
    assert more in told
