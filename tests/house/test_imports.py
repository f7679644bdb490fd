"""Who may import whom: the core knows no page, figures know no torch, nothing goes in circles."""

import graphlib
import re
import subprocess
import sys

import pytest

from tests.house.source import ROOT, Module, app, core, modules, page_scripts

STANDARD = sys.stdlib_module_names


def roots(module: Module) -> set[str]:
    return {name.split(".")[0] for name in module.imports()} - STANDARD


def order() -> list[str]:
    """Return the modules of owi_core from the ground up, as docs/architecture.md lists them."""
    document = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = document.split("<!-- owi_core, from the ground up -->")[1].split("\n\n")[0]
    return re.findall(r"^\| `([a-z_]+)/?`", table, re.MULTILINE)


def part(dotted: str) -> str:
    """Return the module or sub-package of owi_core that a dotted name belongs to."""
    return dotted.split(".")[1] if "." in dotted else "__init__"


def test_the_core_imports_no_streamlit_and_no_page() -> None:
    guilty = {m.name: roots(m) & {"streamlit", "pages", "app"} for m in core()}
    assert {name: names for name, names in guilty.items() if names} == {}


def test_figures_import_arrays_and_charts_only() -> None:
    for module in modules("owi_core/figures"):
        assert roots(module) <= {"numpy", "plotly", "pandas", "owi_core"}, module.name
        inner = {part(name) for name in module.imports() if name.startswith("owi_core")}
        assert inner <= {"figures", "errors", "record"}, module.name


@pytest.mark.parametrize(
    "name", ["owi_core.figures", "owi_core.record", "owi_core.events", "pages._ui.frame.frame"]
)
def test_what_draws_the_title_and_what_is_drawn_load_without_torch(name: str) -> None:
    code = f"import sys, {name}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_a_page_imports_streamlit_the_core_and_what_pages_share() -> None:
    for module in page_scripts():
        assert roots(module) <= {"streamlit", "pages", "owi_core"}, module.name


def test_what_pages_share_imports_no_torch() -> None:
    for module in modules("pages/_ui"):
        known = {"streamlit", "pages", "owi_core", "numpy", "pandas", "segno", "msgspec"}
        assert roots(module) <= known, module.name


def test_no_module_imports_itself_in_a_circle() -> None:
    known = {module.name for module in app()}
    graph = {m.name: (m.imports(lazy=False) & known) - {m.name} for m in app()}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError, naming the circle


def test_the_map_of_the_core_names_every_module() -> None:
    assert {part(m.name) for m in core()} - {"__init__"} == set(order())


def test_a_module_imports_only_what_stands_above_it() -> None:
    rank = {name: place for place, name in enumerate(["__init__", *order()])}
    for module in core():
        own = part(module.name)
        for name in module.imports(lazy=False):
            if name.startswith("owi_core") and part(name) != own:
                assert rank[part(name)] < rank[own], f"{module.name} imports {name}"
