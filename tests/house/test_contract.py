"""Every lab fulfils the contract of CONTRIBUTING.md; each failure says what to write.

One test per clause.  The labs are found by their page scripts, so a new one cannot escape.
"""

import ast
import dataclasses
import importlib
import inspect
from functools import cache

import pytest
from streamlit.material_icon_names import ALL_MATERIAL_ICONS

from owi_core.errors import SettingError
from owi_core.experiments import EXPERIMENTS, Experiment, find, parameters, parse_params
from owi_core.experiments._kit.params import BaseParams
from owi_core.experiments._kit.results import BaseResult
from pages._ui.base.entries import GROUPS
from tests.house.source import (
    LANGUAGES,
    ROOT,
    Module,
    called_name,
    catalog,
    catalog_names,
    labs,
    modules,
    page_name,
    page_scripts,
    where,
)

PAGE_KEYS = ("title", "icon", "group", "order", "question", "lead")
READING_KEYS = ("papers", "pytorch", "huggingface")
# Labs that are views of the experiments of others.
VIEW_OF = {"train": ("pronoun", "language"), "rows": ("pronoun",)}
RUN_TAKES = ["params", "folder", "control", "resume"]
# Which argument of a call is the key of a kept value; the other fields take `key=`.
KEY_IS = {"keep": 0, "held": 0, "kept_setting": 1, "setting_field": 2, "choice": 2}
FIELDS = {"decimal", "scale", "segments", "select", "several", "slider", "whole"}
LINK_TESTS = ("tests/ui/test_links.py", "tests/ui/test_share.py")

EACH_LAB = pytest.mark.parametrize("name", labs())
EACH_PAGE = pytest.mark.parametrize("name", sorted(map(page_name, page_scripts())))
EACH_LANGUAGE = pytest.mark.parametrize("lang", LANGUAGES)
OWN = pytest.mark.parametrize("name", [name for name in labs() if name not in VIEW_OF])


def script(name: str) -> Module:
    return next(module for module in page_scripts() if page_name(module) == name)


def own_modules(name: str) -> tuple[Module, ...]:
    """Return the page script and what is in the lab's folder, if it has one."""
    return (script(name), *modules(f"pages/_labs/{name}"))


@cache
def experiment(name: str) -> Experiment:
    assert name in EXPERIMENTS, (
        f'write owi_core/experiments/{name}.py (or a package) with `NAME = "{name}"`, a class '
        "`Params` and a function `run`"
    )
    return find(name)


# Texts


@EACH_PAGE
@EACH_LANGUAGE
def test_a_page_has_a_catalog_in_each_language(name: str, lang: str) -> None:
    assert name in catalog_names(lang), f"write assets/i18n/{lang}/{name}.toml with a table [page]"


@EACH_PAGE
@EACH_LANGUAGE
def test_a_catalog_names_its_page(name: str, lang: str) -> None:
    missing = [key for key in PAGE_KEYS if f"page.{key}" not in catalog(lang, name)]
    assert not missing, f"write {missing} into [page] of assets/i18n/{lang}/{name}.toml"
    order = catalog(lang, name)["page.order"]
    assert order.replace(".", "").isdigit(), (
        f"page.order is {order!r}: write a number; the navigation lists smaller ones first"
    )


@EACH_PAGE
def test_a_page_has_a_group_and_an_icon_of_its_own(name: str) -> None:
    words = catalog("en", name)
    group, icon = words.get("page.group"), words["page.icon"]
    assert group in GROUPS, f"page.group is {group!r}: write one of {', '.join(GROUPS)}"
    assert icon in ALL_MATERIAL_ICONS, (
        f"page.icon is {icon!r}: write the name of a Material icon, for example visibility"
    )
    same = [
        page for page in map(page_name, page_scripts()) if catalog("en", page)["page.icon"] == icon
    ]
    assert same == [name], f"page.icon {icon!r} is also that of {same}: one icon, one meaning"


def test_both_languages_give_a_page_the_same_order_and_icon() -> None:
    for page in map(page_name, page_scripts()):
        for key in ("page.order", "page.icon", "page.group"):
            zh, en = (catalog(lang, page)[key] for lang in LANGUAGES)
            assert zh == en, f"{page}: {key} is {zh} in zh and {en} in en; write the same"


@EACH_PAGE
def test_a_page_has_the_same_keys_in_both_languages(name: str) -> None:
    zh, en = (set(catalog(lang, name)) for lang in LANGUAGES)
    assert not en - zh, f"write {sorted(en - zh)} into assets/i18n/zh/{name}.toml"
    assert not zh - en, f"write {sorted(zh - en)} into assets/i18n/en/{name}.toml"


@EACH_LAB
@EACH_LANGUAGE
def test_a_lab_names_papers_and_sources(name: str, lang: str) -> None:
    missing = [key for key in READING_KEYS if f"reading.{key}" not in catalog(lang, name)]
    assert not missing, (
        f"write {missing} into [reading] of assets/i18n/{lang}/{name}.toml: the paper, and where "
        "PyTorch and Hugging Face do the same"
    )


# The experiment


@OWN
def test_a_lab_has_an_experiment_of_its_name(name: str) -> None:
    assert experiment(name).name == name


@EACH_LAB
def test_a_view_names_experiments_that_exist(name: str) -> None:
    for other in VIEW_OF.get(name, ()):
        assert other in EXPERIMENTS


@OWN
def test_parameters_are_frozen_and_declared_with_a_meaning(name: str) -> None:
    kind = experiment(name).params
    assert issubclass(kind, BaseParams), f"{name}: write `class Params(BaseParams)`"
    assert kind.__dataclass_params__.frozen, f"{name}: write `@dataclass(frozen=True)`"
    for field in dataclasses.fields(kind):
        assert field.metadata.get("meaning"), (
            f'{name}: write `{field.name}: … = setting(default, "what it means", …)`'
        )
    for p in parameters(kind):
        bounded = p.choices or (p.low is not None and p.high is not None)
        assert p.kind in (str, bool) or bounded, f"{name}: give setting {p.name} `low=` and `high=`"


@OWN
def test_the_result_is_frozen_and_typed(name: str) -> None:
    kind = getattr(importlib.import_module(experiment(name).run.__module__), "Result", None)
    assert kind is not None, f"{name}: write `class Result(BaseResult)` beside `run`"
    results = kind.__args__ if hasattr(kind, "__args__") else (kind,)
    for each in results:
        assert issubclass(each, BaseResult), f"{name}: write `class {each.__name__}(BaseResult)`"
        assert each.__dataclass_params__.frozen, f"{name}: write `@dataclass(frozen=True)`"


@OWN
def test_every_experiment_accepts_the_seed_seven(name: str) -> None:
    assert parse_params(experiment(name), {"seed": "7"}).seed == 7, (
        f"{name}: `seed` comes with BaseParams; allow all of 0 … MAX_SEED"
    )


@OWN
def test_a_wrong_value_is_refused_as_a_setting_error(name: str) -> None:
    with pytest.raises(SettingError):
        parse_params(experiment(name), {"seed": "-1"})
    with pytest.raises(SettingError):
        parse_params(experiment(name), {"no_such_setting": "1"})


@OWN
def test_run_takes_what_every_caller_passes(name: str) -> None:
    taken = list(inspect.signature(experiment(name).run).parameters)
    assert taken == RUN_TAKES, f"{name}: write `def run({', '.join(RUN_TAKES)})`"
    assert inspect.isgeneratorfunction(experiment(name).run), f"{name}: run must yield events"


# The page


@EACH_PAGE
def test_a_page_ends_with_the_footer(name: str) -> None:
    calls = [call for call in script(name).calls() if called_name(call) == "footer"]
    # The footer ends the view: without it neither the link nor the report of the page is complete.
    assert calls or not is_listed(name), f"write `footer(page.lang)` as the last call of {name}"


def is_listed(name: str) -> bool:
    return catalog("en", name).get("page.listed") != "False"


@EACH_PAGE
@EACH_LANGUAGE
def test_a_page_that_shows_code_names_it(name: str, lang: str) -> None:
    shown = [
        where(module, call)
        for module in own_modules(name)
        for call in module.calls()
        if called_name(call) == "show_code"
    ]
    assert not shown or "code" in catalog(lang, name), (
        f'{shown[0]}: write `code = "…"` at the top of assets/i18n/{lang}/{name}.toml'
    )


@EACH_LAB
def test_kept_values_are_named_after_their_page(name: str) -> None:
    """A link calls `rows.layer` just `layer`, and opens the page that the key begins with."""
    for module in own_modules(name):
        for call in module.calls():
            key = kept_key(call)
            begins = next((n for n in ast.walk(key) if isinstance(n, ast.Constant)), None)
            if isinstance(key, ast.Constant | ast.JoinedStr) and begins is not None:
                assert str(begins.value).startswith(f"{name}."), (
                    f'{module.path.name}:{call.lineno}: write "{name}.…" as the key of the value'
                )


def kept_key(call: ast.Call) -> ast.expr | ast.Pass:
    """Return the key that a call keeps a value under; Pass if it keeps none."""
    place = KEY_IS.get(called_name(call))
    if place is not None and len(call.args) > place:
        return call.args[place]
    if called_name(call) in FIELDS:
        return next((k.value for k in call.keywords if k.arg == "key"), ast.Pass())
    return ast.Pass()


# Tests


@EACH_LAB
def test_a_lab_has_a_test_of_its_page(name: str) -> None:
    assert (ROOT / "tests" / "pages" / f"test_{name}.py").is_file(), (
        f"write tests/pages/test_{name}.py: the page in both languages, one wrong input, the code "
        "that it shows"
    )


@OWN
def test_a_lab_has_a_test_of_its_experiment(name: str) -> None:
    wanted = f"owi_core.experiments.{name}"
    tested = [
        module.name
        for module in modules("tests")
        if module.path.name.startswith("test_")
        and any(dotted == wanted or dotted.startswith(f"{wanted}.") for dotted in module.imports())
    ]
    assert tested, (
        f"write tests/experiments/test_{name}.py (or one file with the page's tests): the result "
        "against another way to compute it"
    )


@pytest.mark.parametrize("path", LINK_TESTS)
def test_links_are_tested_for_every_page_that_exists(path: str) -> None:
    text = (ROOT / path).read_text("utf-8")
    assert "page_entries" in text, f"{path}: derive the names of the pages from page_entries"
