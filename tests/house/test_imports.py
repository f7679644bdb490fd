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


def test_there_is_no_import_cycle() -> None:
    known = {module.name for module in app()}
    graph = {m.name: (m.imports(lazy=False) & known) - {m.name} for m in app()}
    list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError, naming the circle


def test_the_map_of_the_core_names_every_module() -> None:
    assert {part(m.name) for m in core()} - {"__init__"} == set(order())


def test_a_module_imports_only_what_is_above_it_in_the_map() -> None:
    rank = {name: place for place, name in enumerate(["__init__", *order()])}
    for module in core():
        own = part(module.name)
        for name in module.imports(lazy=False):
            if name.startswith("owi_core") and part(name) != own:
                assert rank[part(name)] < rank[own], f"{module.name} imports {name}"


def room(dotted: str) -> str:
    """Return the floor of the house that a module is on, or its lab."""
    parts = dotted.split(".")
    if parts[0] == "owi_core":
        return "owi_core"
    folder = ".".join(parts[:3])
    if parts[:2] == ["pages", "_labs"] or folder in FLOORS:
        return folder
    return "pages"  # a script that is run by its own name, as the two checks in pages/_ui are


FLOORS = [
    "owi_core",
    *(f"pages._ui.{name}" for name in ("base", "session", "draw", "lessons", "frame")),
    "a lab",
    "pages",
]


def floor(dotted: str) -> int:
    """Return how high a module is: a module imports only from its own floor or from below."""
    name = room(dotted)
    return FLOORS.index("a lab" if name.startswith("pages._labs") else name)


def arrows(module: Module) -> set[str]:
    """Return the modules of this project that a module imports, also inside its functions."""
    return {name for name in module.imports() if name.split(".")[0] in {"owi_core", "pages", "app"}}


def test_every_folder_of_shared_page_code_is_a_floor() -> None:
    folders = {path.parent.name for path in (ROOT / "pages" / "_ui").glob("*/__init__.py")}
    assert {f"pages._ui.{name}" for name in folders} <= set(FLOORS)


def test_no_module_imports_from_a_floor_above_its_own() -> None:
    found = [
        f"{module.name} imports {name}"
        for module in app()
        for name in arrows(module)
        if floor(name) > floor(module.name)
    ]
    assert found == []


def test_a_lab_imports_no_other_lab() -> None:
    found = [
        f"{module.name} imports {name}: move what both need to pages/_ui/draw"
        for module in modules("pages/_labs")
        for name in arrows(module)
        if name.startswith("pages._labs") and room(name) != room(module.name)
    ]
    assert found == []
