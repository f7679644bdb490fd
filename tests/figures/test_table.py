"""A figure's table holds the numbers that the figure was given, with the words beside them."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from owi_core import figures
from owi_core.figures.alt import figure_heard
from owi_core.figures.page import figure_page
from owi_core.figures.table import csv_bytes, figure_table, reading_line
from tests.figures.conftest import SENTENCE, Pattern

T = len(SENTENCE)
MASK = np.tri(T, dtype=bool)
# Numbers that no rounding leaves as they are, so that a shortened one is noticed.
WEIGHTS = np.random.default_rng(3).dirichlet(np.ones(T), size=T)
CAUSAL = MASK * WEIGHTS / (MASK * WEIGHTS).sum(-1, keepdims=True)
STEPS, LOSSES = [0, 7, 20], [np.pi, np.e, 1 / 3]
BY_NUMBER = {8: 1 / 7, 16: 2 / 7, 64: 6 / 7}


def read_back(figure: go.Figure) -> pd.DataFrame:
    """The table as a reader of CSV finds it; Python's own reader, which rounds no number."""
    text = csv_bytes(figure_table(figure)).decode("utf-8-sig")
    heading, *rows = csv.reader(io.StringIO(text, newline=""))
    table = pd.DataFrame(rows, columns=heading)
    for name in heading:
        if name.split(":")[0] in ("x", "y", "value"):
            table[name] = [float(cell or "nan") for cell in table[name]]
    return table


def column(table: pd.DataFrame, name: str) -> pd.Series:
    """The column of that name, whatever title its axis adds."""
    (found,) = [c for c in table if c == name or c.startswith(f"{name}: ")]
    return table[found]


def numbers(figure: go.Figure, name: str, series: str = "") -> list[float]:
    """The numbers of a column, of one series where one is named."""
    table = read_back(figure)
    if series:
        table = table[table["series"] == series]
    return list(column(table, name))


def test_matrix_gives_every_cell_with_both_words_and_tells_what_is_forbidden() -> None:
    table = read_back(figures.pattern_matrix(CAUSAL, MASK, SENTENCE, SENTENCE))
    rebuilt = np.full((T, T), np.nan)
    rebuilt[column(table, "y").astype(int), column(table, "x").astype(int)] = column(table, "value")
    np.testing.assert_array_equal(rebuilt, np.where(MASK, CAUSAL, np.nan))
    forbidden = table["series"].str.startswith("forbidden")
    assert forbidden.sum() == (~MASK).sum()
    assert column(table[forbidden], "value").isna().all()
    assert set(table["y text"]) == {f"{word} ({i + 1})" for i, word in enumerate(SENTENCE)}


def hatched_figures(leak: float) -> dict[str, go.Figure]:
    """Every figure that hatches what the mask forbids, drawn from CAUSAL; `leak` at query 1."""
    pattern = CAUSAL.copy()
    pattern[1, 4] = leak
    look = figures.NamedRow("它", SENTENCE, pattern[1], query=1, allowed=MASK[1])
    return {
        "row": figures.row_bars([look]),
        "matrix": figures.pattern_matrix(pattern, MASK, SENTENCE, SENTENCE),
        "influence": figures.influence_map(pattern, MASK, SENTENCE),
        "thumbnails": figures.thumbnails(pattern[None, None], MASK, SENTENCE, SENTENCE),
    }


def exported_weights(table: pd.DataFrame, name: str) -> np.ndarray:
    """What a table says of query 1, (T,); NaN for a key without a number."""
    if name != "row":
        at_query = table["y text"].str.contains("和 (2)", regex=False)
        table = table[at_query]
    found = np.full(T, np.nan)
    at = column(table, "y" if name == "row" else "x").astype(int)
    found[at] = column(table, "x" if name == "row" else "value")
    return found


@pytest.mark.parametrize("name", ["row", "matrix", "influence", "thumbnails"])
def test_a_forbidden_key_has_no_number_in_the_file_and_is_marked(name: str) -> None:
    table = read_back(hatched_figures(0.0)[name])
    weights = exported_weights(table, name)
    np.testing.assert_array_equal(weights, np.where(MASK[1], CAUSAL[1], np.nan))
    assert np.nansum(weights) == pytest.approx(1.0)
    forbidden = figures.FigureText().forbidden
    marks = table["mark"] if name == "row" else table["series"]
    marked = (marks == forbidden).sum()
    assert marked == ((~MASK[1]).sum() if name == "row" else (~MASK).sum())


@pytest.mark.parametrize("name", ["row", "matrix", "influence", "thumbnails"])
def test_a_leak_keeps_its_own_number_in_the_file(name: str) -> None:
    table = read_back(hatched_figures(0.125)[name])
    assert exported_weights(table, name)[4] == 0.125
    if name == "row":
        assert list(table["mark"] == figures.FigureText().leak) == [i == 4 for i in range(T)]


@pytest.mark.parametrize("name", ["row", "matrix", "influence", "thumbnails"])
def test_alternative_text_counts_allowed_keys_and_no_hatch(name: str) -> None:
    (heard,) = figure_heard(hatched_figures(0.0)[name])
    allowed = MASK[1] if name == "row" else MASK
    values = (CAUSAL[1] if name == "row" else CAUSAL)[allowed]
    assert heard.count == allowed.sum()
    assert (heard.low.value, heard.high.value) == (values.min(), values.max())


def test_a_leak_keeps_its_weight_in_the_table() -> None:
    leaking = CAUSAL.copy()
    leaking[0, 3] = 0.125
    table = read_back(figures.influence_map(leaking, MASK, SENTENCE))
    cell = table[(column(table, "y") == 0) & (column(table, "x") == 3)]
    assert list(column(cell, "value")) == [0.125]
    assert not cell["series"].str.startswith("forbidden").any()


def test_thumbnails_name_layer_head_and_word_of_every_cell(causal: Pattern) -> None:
    pattern, mask = causal(2, 3, tokens=T)
    table = read_back(figures.thumbnails(pattern, mask, SENTENCE, SENTENCE))
    assert len(table) == pattern.size
    rows = table[table["y text"].eq("layer 2 · 它 (6)") & table["x text"].str.startswith("head 3")]
    assert list(column(rows, "value")) == list(pattern[1, 2, -1])


def test_rows_are_told_apart_by_their_names() -> None:
    rows = [
        figures.NamedRow("A", SENTENCE, WEIGHTS[0]),
        figures.NamedRow("B", SENTENCE[:4], WEIGHTS[1, :4], "B"),
    ]
    figure = figures.row_bars(rows)
    assert numbers(figure, "x", "A") == list(WEIGHTS[0])
    assert numbers(figure, "x", "B") == list(WEIGHTS[1, :4])
    assert list(read_back(figure)["y text"]) == SENTENCE + SENTENCE[:4]


def test_difference_is_signed_and_whole() -> None:
    figure = figures.row_difference(SENTENCE, WEIGHTS[0], SENTENCE, WEIGHTS[1])
    assert numbers(figure, "x") == list(WEIGHTS[1] - WEIGHTS[0])


def test_loss_has_its_held_out_part_and_its_floor() -> None:
    figure = figures.loss_curve(STEPS, LOSSES, [(7, 1 / 3)], floor=1 / 9)
    assert numbers(figure, "x", "training") == STEPS
    assert numbers(figure, "y", "training") == LOSSES
    assert numbers(figure, "y", "held out") == [1 / 3]
    assert numbers(figure, "y", "floor") == [1 / 9]


def test_row_over_training_gives_steps_and_words() -> None:
    table = read_back(figures.row_over_training(STEPS, WEIGHTS[:3], SENTENCE))
    assert list(column(table, "value")) == list(WEIGHTS[:3].T.ravel())
    assert list(column(table, "x")) == STEPS * T
    assert list(table["y text"]) == [word for word in SENTENCE for _ in STEPS]


def test_path_gives_every_read_at_full_precision() -> None:
    pattern = np.stack([CAUSAL, CAUSAL])
    table = read_back(figures.attention_path(pattern, SENTENCE, T - 1))
    reads = table[table["series"] == "weights"]
    told = [float(weight) for weight in reads["note 3"]]
    assert told == [edge.weight for edge in figures.path_edges(pattern, T - 1)]


def test_cuts_give_their_changes_and_name_the_control() -> None:
    cuts = [
        figures.CutEdge("它", 5, "苹果", 0, -1 / 3),
        figures.CutEdge("它", 5, "的", 4, 1 / 7, control=True),
    ]
    table = read_back(figures.knockout_bars(cuts))
    assert list(column(table, "x")) == [-1 / 3, 1 / 7]
    assert list(table["note 2"]) == ["cut edge", "control"]


@pytest.mark.parametrize(
    ("figure", "name", "expected"),
    [
        (lambda: figures.position_table(WEIGHTS), "value", WEIGHTS.ravel()),
        (lambda: figures.position_likeness(np.eye(3)), "value", np.eye(3).ravel()),
        (
            lambda: figures.amount_bars(
                [figures.Bar("a", 1 / 3), figures.Bar("b", 7)], "t", unit="s"
            ),
            "x",
            [1 / 3, 7],
        ),
        (lambda: figures.amount_bars([figures.Bar("a", 1 / 3)], "norm"), "x", [1 / 3]),
        (lambda: figures.signed_bars([figures.Bar("a", -1 / 3)], "nats"), "x", [-1 / 3]),
        (
            lambda: figures.accuracy_map(
                ["a", "b"], WEIGHTS[:2], WEIGHTS[:2] > 0,
                x_title="d", value_title="v", unlinked="none",
            ),
            "value",
            WEIGHTS[:2].ravel(),
        ),
        (
            lambda: figures.grouped_bars(
                ["a"],
                [
                    figures.Group("b", [1 / 3], "muted"),
                    figures.Group("t", [2 / 3], "a"),
                    figures.Group("u", [5 / 3], "b"),
                ],
                "logit",
            ),
            "x",
            [1 / 3, 2 / 3, 5 / 3],
        ),
        (
            lambda: figures.line_chart(
                [
                    figures.Line("a", list(zip(STEPS, LOSSES, strict=True))),
                    figures.Line("b", [(1, 1 / 7)]),
                ],
                figures.Scale("x"),
                figures.Scale("y"),
            ),
            "y",
            [*LOSSES, 1 / 7],
        ),
        (
            lambda: figures.line_chart(
                [figures.Line("a", list(BY_NUMBER.items()))],
                figures.Scale("x", log=True),
                figures.Scale("y", limits=(0, 1)),
                names="ends",
                levels=[figures.Level("c", 1 / 3)],
            ),
            "y",
            [*BY_NUMBER.values(), 1 / 3],
        ),
        (
            lambda: figures.time_by_length(
                [figures.Timed("a", BY_NUMBER)], x_title="T", y_title="ms"
            ),
            "y",
            [1000 * value for value in BY_NUMBER.values()],
        ),
    ],
)  # fmt: skip
def test_numbers_come_back_as_they_went_in(
    figure: Callable[[], go.Figure], name: str, expected: list[float]
) -> None:
    assert numbers(figure(), name) == list(expected)


def test_gradient_keeps_the_rows_that_get_nothing() -> None:
    parts = np.array([[1.0, 0.0], [1 / 3, 100.0]])
    table = read_back(
        figures.gradient_map(
            ["它", "b"], ["r", "s"], parts, names=("in", "out"), across="w", scale="log10"
        )
    )
    assert list(column(table, "value"))[2:] == list(np.log10(parts[1]))
    assert np.isnan(column(table, "value")[1])
    assert list(table["note 3"])[:2] == ["1", "0"]


def test_reach_names_kind_layer_and_place_of_every_pair() -> None:
    reached = np.stack([np.stack([np.eye(3, dtype=bool), np.tri(3, dtype=bool)])] * 2)
    table = read_back(
        figures.reach_panels(reached, ["k", "l"], ["1", "2"], linked="yes", unlinked="no")
    )
    assert len(table) == reached.size
    panel = table[table["y text"].str.startswith("l (") & table["x text"].str.startswith("2 (")]
    assert list(panel["note 1"].eq("yes")) == list(np.tri(3, dtype=bool).ravel())


# A spreadsheet's file cannot hold a NUL, nor half a character.
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)


@example(["=1+1", "@x", "+a", "-b", "\r\n", "1,2", '"'])
@given(st.lists(WORDS, min_size=1, max_size=5))
def test_words_of_any_kind_make_a_file_that_reads_back_and_runs_no_formula(
    words: list[str],
) -> None:
    weights = np.full(len(words), 1 / len(words))
    figure = figures.row_bars([figures.NamedRow("A", words, weights)])
    table = read_back(figure)
    assert list(column(table, "x")) == list(weights)
    notes = [str(note) for note in table["note 1"]]
    assert all(note.endswith(f"({i + 1})") for i, note in enumerate(notes))
    assert not any(note.startswith(("=", "+", "-", "@")) for note in notes)


def test_our_line_reads_tokens_called_na_null_and_none_and_the_exact_numbers(
    tmp_path: Path,
) -> None:
    words = ["NA", "null", "None", "nan", "", "它", "N/A"]
    table = pd.DataFrame({"word": words, "weight": [1 / 3, np.nan, 1e-300, 0.1 + 0.2, 1, 0, 2]})
    (tmp_path / "owi.csv").write_bytes(csv_bytes(table))
    line = reading_line(str(tmp_path / "owi.csv"))
    back = eval(line, {"pandas": pd})
    assert [word if isinstance(word, str) else "" for word in back["word"]] == words
    np.testing.assert_array_equal(back["weight"], table["weight"])


@pytest.mark.parametrize("leak", [0.0, 0.25])
@pytest.mark.parametrize("query", [0, 3, T - 1])
def test_every_exported_weight_is_the_records_and_a_forbidden_word_has_none(
    query: int, leak: float
) -> None:
    weights = CAUSAL[query].copy()
    weights[-1] += leak if query < T - 1 else 0
    row = figures.NamedRow("它", SENTENCE, weights, "A", query, MASK[query])
    table = read_back(figures.row_bars([row]))
    places, read = column(table, "y"), column(table, "x")
    assert list(places) == list(range(T))
    for place, weight in enumerate(weights):
        if MASK[query, place] or weight:
            assert read[place] == weight
        else:
            assert np.isnan(read[place])


def test_file_opens_in_a_spreadsheet_with_its_chinese_intact() -> None:
    raw = csv_bytes(figure_table(figures.row_bars([figures.NamedRow("A", SENTENCE, WEIGHTS[0])])))
    assert raw.startswith(b"\xef\xbb\xbf")
    assert "苹果" in raw.decode("utf-8-sig")


def test_page_escapes_its_words_and_names_its_language() -> None:
    page = figure_page(
        figures.row_bars([figures.NamedRow("A", ["</script>", "它"], np.array([0.5, 0.5]))]),
        title="<b>看谁</b>",
        source="& here",
        facts={"seed": "<0>"},
        code="a < b",
        lang="zh",
        theme="dark",
    )
    assert '<html lang="zh-CN">' in page
    assert '<meta charset="utf-8">' in page
    assert "&lt;b&gt;看谁&lt;/b&gt;" in page
    for told in ("&amp; here", "&lt;0&gt;", "a &lt; b"):
        assert told in page
    assert "</script>" not in page.split('id="figure"')[1].split("Plotly.newPlot", 1)[1][:400]
