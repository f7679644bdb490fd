"""Links: every value comes back as it was, and no link, however hostile, upsets a page."""

import math
import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from owi_core.experiments import EXPERIMENTS, parameters
from owi_core.untrusted import MisfitError
from pages._ui.base import links
from pages._ui.base.i18n import catalog
from pages._ui.base.links import (
    LONGEST_LINK,
    RESERVED,
    Limits,
    Recipe,
    address,
    fitted,
    nearest,
    parse,
    read,
    shortened,
    written,
)
from pages._ui.frame.frame import page_entries
from pages._ui.session.recipes import params_of, parts, recipe_of
from tests.pages_under_test import SHARE, calm, kept_by, opened, rest, told

pytestmark = pytest.mark.usefixtures("own_workers")

NAMES = [entry.name for entry in page_entries("zh")]
N_HOSTILE = 200


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
numbers = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(-(10**18), 10**18)
plain = st.recursive(
    st.none() | st.booleans() | whole | numbers | texts,
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)
defaults = st.sampled_from([True, 3, 0.5, "text", None, [1], (1, 2)])


# What a link says


@given(st.booleans() | whole | numbers | texts)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    default = type(value)()
    text = written(value, default)
    assert text is not None
    back = parse(text, default)
    assert type(back) is type(value)
    assert back == value


@given(st.lists(plain, max_size=6))
def test_a_list_of_plain_values_comes_back_as_it_was(value: list[Any]) -> None:
    text = written(value, [])
    if text is not None and len(text) <= links.LONGEST_TEXT:
        assert parse(text, []) == value


@pytest.mark.parametrize("text", ["0,003", "3,0e-3", "0.003"])
def test_a_number_in_a_link_may_have_a_decimal_comma(text: str) -> None:
    assert parse(text, 1.0) == 0.003


@pytest.mark.parametrize("mark", ["。", "）", ").", "，", "》", "”。", "…"])
def test_a_mark_behind_a_lesson_is_no_part_of_its_name(mark: str) -> None:
    assert links.teaching({"lesson": f"connections{mark}"}) == {"lesson": "connections"}
    assert links.teaching({"lesson": "mask", "at": f"2{mark}"}) == {"lesson": "mask", "at": "2"}
    assert not links.read({"lesson": f"connections{mark}"}).ignored


@given(plain, defaults)
def test_what_is_parsed_is_of_the_defaults_kind_or_refused(value: Any, default: Any) -> None:
    try:
        got = parse(str(value), default)
    except MisfitError:
        return
    assert default is None or type(got) is type(default)


@pytest.mark.parametrize(
    ("text", "default"),
    [
        ("9" * 5000, 1), ("1e999", 1.0), ("nan", 1.0), ("-inf", 0.0), ("1.0", 1), ("٣", 1),
        ("x" * 5001, ""), ("\ud800", ""), ("[" * 4000, []), ('{"a": 1}', []), ("[NaN]", []),
        ("[1e999]", []), ("2", True), ("", 1), ("null", 1), ("[[[[[1]]]]]", []), ("1", [0]),
    ],
)  # fmt: skip
def test_a_text_that_means_nothing_there_is_refused(text: str, default: Any) -> None:
    with pytest.raises(MisfitError):
        parse(text, default)


@pytest.mark.parametrize(
    "value", [math.nan, [math.inf], [[[[[1]]]]], {"a": 1}, ["\ud83d"], [0] * 501]
)
def test_what_a_link_could_not_carry_back_is_not_written(value: Any) -> None:
    assert written(value, None) is None


def test_one_and_true_are_two_values() -> None:
    with pytest.raises(MisfitError):
        fitted(True, None, Limits(among=(1, 2)))
    assert fitted(1, 1.0, Limits(among=(0.5, 1.0))) == 1.0
    assert math.isclose(nearest(7, 0.5, Limits(low=0.0, high=2.0)), 2.0)


@given(plain, whole, whole)
def test_the_nearest_value_lies_within_its_bounds(value: Any, a: int, b: int) -> None:
    low, high = sorted((a, b))
    assert low <= nearest(value, low, Limits(low=low, high=high)) <= high


@given(plain, st.lists(whole, min_size=1, max_size=4))
def test_the_nearest_value_is_an_option(value: Any, among: list[int]) -> None:
    assert nearest(value, 7, Limits(among=among)) in among


@given(st.dictionaries(texts, texts, max_size=8))
def test_any_parameters_can_be_read(params: dict[str, str]) -> None:
    link = read(params)
    assert not link.values.keys() & RESERVED
    for recipe in [*link.runs.values(), *([link.trained] if link.trained else [])]:
        params_of(recipe)


@given(st.dictionaries(texts.filter(lambda n: n.partition(".")[0] not in RESERVED), texts))
def test_an_address_says_what_was_put_in_and_no_more(values: dict[str, str]) -> None:
    link = address("http://host:8501/rows?old=1#there", values.items())
    assert link.startswith("http://host:8501/rows?v=1")
    assert link.isascii()
    found = read(dict(parse_qsl(urlsplit(link).query, keep_blank_values=True)))
    assert found.values == values
    assert not found.cut
    assert not found.foreign


VALUES = {"pair": "typed", "text.A": "小明把🍎放在桌子上", "query.A": "10", "layer": "1"}


@pytest.mark.parametrize("length", range(20, len(address("/rows", VALUES.items())), 3))
def test_a_cut_link_still_gives_all_before_the_cut(length: int) -> None:
    whole_link = address("/rows", VALUES.items())
    link = read(dict(parse_qsl(urlsplit(whole_link[:length]).query, keep_blank_values=True)))
    assert link.cut
    names = list(link.values)
    assert all(link.values[name] == VALUES[name] for name in names[:-1])
    if names and names[-1] in VALUES:
        assert VALUES[names[-1]].startswith(link.values[names[-1]])


def test_the_recipe_in_which_a_link_was_cut_is_not_trained() -> None:
    recipe = Recipe("pronoun", {"family": "verb", "seed": "3"})
    cut = dict([("v", "1"), *parts("run", recipe)[:-1]])
    assert read(cut).runs == {}
    assert read(cut).ignored == ("run",)
    assert read(cut | {"corpus": "swap"}).runs["run"].settings == {"family": "verb"}


def test_what_is_too_long_for_a_link_is_left_out_and_named() -> None:
    values = VALUES | {"text.B": "长" * 2000}
    link, left_out = shortened("/rows", list(values.items()))
    assert len(link) <= LONGEST_LINK
    assert left_out == ["text.B"]
    assert quote(VALUES["text.A"]) in link


# Recipes


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_a_recipe_of_usual_settings_comes_back_complete(name: str) -> None:
    usual = vars(EXPERIMENTS[name].params())
    recipe = recipe_of(name, usual | {"seed": 7})
    assert recipe is not None
    assert params_of(recipe) == usual | {"seed": 7}
    assert len(recipe.settings) < 5


def typed_settings() -> Iterator[tuple[str, str]]:
    for name, experiment in EXPERIMENTS.items():
        for p in parameters(experiment.params):
            if p.kind is str and not p.choices:
                yield name, p.name


@pytest.mark.parametrize(("experiment", "setting"), list(typed_settings()))
def test_what_somebody_types_is_part_of_no_recipe(experiment: str, setting: str) -> None:
    assert params_of(Recipe(experiment, {setting: "/etc/hostname"})) is None
    assert recipe_of(experiment, {setting: "小猫把鱼放在桌子上，小狗拿走了它"}) is None


@pytest.mark.parametrize(
    ("experiment", "settings"),
    [
        ("nothing", {}),
        ("", {}),
        ("pronoun", {"steps": "20001"}),
        ("pronoun", {"steps": "1e3"}),
        ("pronoun", {"family": "<script>"}),
        ("pronoun", {"lr": "nan"}),
        ("pronoun", {"__init__": "1"}),
        ("language", {"text_file": "/etc/passwd"}),
    ],
)
def test_a_recipe_that_is_none_is_refused(experiment: str, settings: dict[str, str]) -> None:
    assert params_of(Recipe(experiment, settings)) is None


# Hostile links on every page

NASTY = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "javascript:alert(1)",
    "'; DROP TABLE runs; --", "../../etc/passwd", "\x00", "\ufffd" * 9, "\u202e\u2066x", "%",
    "9" * 4000, "-1", "1e308", "-1e308", "1e-400", "NaN", "Infinity", "null", "true", "[]", "{}",
    "[" * 3000, '[["x",0,0,1e9],["mask",0,0,0],["w_q",99,0,1]]', '["pattern",0,-1]', "[null]",
    "", " ", "0x10", "1_000", "１２", "👨‍👩‍👧" * 300, "它" * 4999, "苹" * 2500, "a" * 20_000,
    "{0.__class__}", "{name}", "${x}", "$\\frac{1}{0}$", ":smile: [x](http://x)", "\r\n\r\n",
    "__class__", "None", "[1,[2,[3,[4,[5]]]]]", "2147483648", "0.1", "own", "typed", "auto",
]  # fmt: skip
RUNS = [
    {"run": "pronoun", "run.steps": "99999999999999999999"},
    {"run": "language", "run.text_file": "/etc/passwd"},
    {"run": "<script>", "run.x": "1"},
    {"run6": "masking", "run6.against": "../x"},
    {"run.steps": "5"},
    {"trained": "pronoun", "trained.family": "<b>"},
    {"trained": "nothing"},
    {"trained": "language", "trained.own_text": "x"},
]
VERSIONS = ["0", "2", "99999999999999999999", "-1", "<b>v</b>", "", "1.0", "x" * 500]


@pytest.fixture(scope="module")
def pages() -> dict[str, tuple[AppTest, list[str]]]:
    """Each page with one session, and the names of what it keeps."""
    found = {}
    for name in NAMES:
        app = opened(name)
        found[name] = (app, [key.partition(".")[2] for key in kept_by(app)])
    return found


def hostile(number: int, names: list[str]) -> dict[str, str]:
    """Return the parameters of one hostile link; the same number gives the same link."""
    chosen = random.Random(number)
    junk = "".join(chr(chosen.randrange(1, 0xD800)) for _ in range(chosen.randrange(60)))
    keys = chosen.sample(names, k=min(len(names), chosen.randrange(1, 8))) if names else []
    link = {key: chosen.choice([*NASTY, junk]) for key in keys}
    link[chosen.choice([junk, *NASTY])[:200] or "x"] = chosen.choice(NASTY)
    if number % 3 == 0:
        link |= chosen.choice(RUNS)
    if number % 4 == 0:
        link = {"v": chosen.choice(VERSIONS)} | link
    return link | {"lang": chosen.choice(["zh", "en", "xx", "<b>"])}


def visit(app: AppTest, names: list[str], link: dict[str, str]) -> None:
    """Open a page by a hostile link and demand calm, and a view that makes sense."""
    app.query_params.clear()
    app.query_params.update(link)
    calm(app.run())
    lang = app.session_state["owi.language"]
    view = app.session_state["owi.view"]
    while view.awaits_run:  # its result may still use what the link says
        view = rest(app).session_state["owi.view"]
    assert app.title[0].value == catalog(lang, view.page)["page.question"]
    for key, default in view.keys.items():
        kept = app.session_state[key]
        assert default is None or type(kept) is type(default), key
    assert app.session_state["owi.links"][view.page].runs == {}
    lines = [caption.value for caption in app.caption if caption.value.startswith(SHARE)]
    assert len(lines) == 1
    assert len(lines[0]) < 1500
    assert "<script>" not in lines[0].replace("\\<script\\>", "")


@pytest.mark.parametrize("block", range(10))
def test_hostile_links_leave_every_page_calm(
    block: int, pages: dict[str, tuple[AppTest, list[str]]]
) -> None:
    for number in range(block, N_HOSTILE, 10):
        name = NAMES[number // 10 % len(NAMES)]
        app, names = pages[name]
        visit(app, names, hostile(number, names))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_hostile_link_leaves_every_page_calm(name: str) -> None:
    app = opened(name)
    names = [key.partition(".")[2] for key in kept_by(app)]
    for number in range(N_HOSTILE):
        visit(app, names, hostile(number, names))


def test_the_line_names_what_was_ignored_and_counts_the_rest() -> None:
    link = {f"name{i}": "1" for i in range(12)} | {"v": "7"}
    app = calm(opened("rows", **link))
    (line,) = [caption.value for caption in app.caption if caption.value.startswith(SHARE)]
    assert "name7" in line
    assert "name8" not in line
    assert "4" in line.rpartition("name7")[2]
    assert "7" in line.partition("name0")[0]


def test_a_link_written_by_hand_needs_no_version_and_is_not_called_cut() -> None:
    app = calm(opened("rows", pair="verb", head="2"))
    assert app.selectbox(key="rows.pair").value == "verb"
    assert app.session_state["rows.head"] == 2
    assert SHARE not in told(app)
