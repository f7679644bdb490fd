"""Pages are thin, call the frame first, speak through catalogs and fetch nothing from outside."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.source import (
    ROOT,
    Module,
    app,
    called_name,
    modules,
    page_name,
    page_scripts,
    where,
)

MOST_LINES = 120
CHARTS = "pages._ui.draw.charts"
CJK = re.compile(r"[\u4e00-\u9fff]")
# Markup, icons, the app's name, a catalog's key, a file's name.
NO_WORDS = re.compile(r"<[^>]*>|:material/[a-z_]+:|\bOWI\b|^[a-z_]+(\.[a-z_]*)+$", re.DOTALL)
WORD = re.compile(r"[A-Za-z]{2,}")
# What Streamlit prints: the first argument of these, and these keywords of any call.
# fmt: off
PRINTING = {
    "button", "caption", "checkbox", "download_button", "error", "expander", "file_uploader",
    "header", "help", "html", "info", "link_button", "markdown", "metric", "multiselect",
    "number_input", "page_link", "pills", "popover", "radio", "segmented_control",
    "select_slider", "selectbox", "slider", "spinner", "status", "subheader", "success",
    "tabs", "text", "text_area", "text_input", "title", "toast", "toggle", "warning", "write",
}
# fmt: on
PRINTED_KEYWORDS = {"label", "help", "placeholder", "caption", "body", "text", "page_title"}
BOUNDED = {
    "number_input", "pills", "radio", "segmented_control", "select_slider", "selectbox", "slider",
}  # fmt: skip
FORMS = "pages._ui.draw.forms"
SCRIPTS = pytest.mark.parametrize("script", page_scripts(), ids=lambda module: module.name)


def first_action(script: Module) -> ast.stmt:
    """Return the first statement that runs when the page is opened."""
    functions = {n.name: n for n in script.tree.body if isinstance(n, ast.FunctionDef)}
    statement = next(s for s in script.tree.body if _acts(s))
    call = getattr(statement, "value", None)
    if isinstance(call, ast.Call) and called_name(call) in functions:
        body = functions[called_name(call)].body
        return next(s for s in body if not _is_docstring(s))
    return statement


def _acts(statement: ast.stmt) -> bool:
    declares = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.AnnAssign
    constant = isinstance(statement, ast.Assign) and all(
        isinstance(target, ast.Name) and target.id.isupper() for target in statement.targets
    )
    return not (isinstance(statement, declares) or constant or _is_docstring(statement))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


@SCRIPTS
def test_a_page_calls_the_frame_first_with_its_own_name(script: Module) -> None:
    call = getattr(first_action(script), "value", None)
    wanted = f'frame("{page_name(script)}")'
    assert ast.unparse(call or ast.Pass()).replace("'", '"') == wanted, (
        f"{script.path.name}: write `page = {wanted}` as the first call of the page"
    )


@SCRIPTS
def test_a_page_is_thin(script: Module) -> None:
    n_lines = len(script.path.read_text("utf-8").splitlines())
    assert n_lines <= MOST_LINES, (
        f"{script.path.name} has {n_lines} lines; at most {MOST_LINES}: "
        f"move what draws into pages/_labs/{page_name(script)}/"
    )


def printed(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield the strings written out in the code that Streamlit would print."""
    for call in module.calls():
        if called_name(call) not in PRINTING or _speaks_itself(call):
            continue
        shown = call.args[:1] + [k.value for k in call.keywords if k.arg in PRINTED_KEYWORDS]
        for node in shown:
            for part in [node, *getattr(node, "values", [])]:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part, part.value


def _speaks_itself(call: ast.Call) -> bool:
    """Return whether it is `t.markdown(key)` or `_log.error(…)`, not a call of Streamlit."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = getattr(owner, "attr", getattr(owner, "id", ""))
    translated = isinstance(owner, ast.Call) and called_name(owner) == "translator"
    return translated or name in {"t", "_log"}


def test_no_page_prints_words_of_its_own() -> None:
    found = [
        f"{where(module, node)}: {text!r}"
        for module in modules("app.py", "pages")
        for node, text in printed(module)
        if WORD.search(NO_WORDS.sub("", text))
    ]
    assert not found, "\n".join(found)


def test_no_page_holds_chinese_outside_the_catalogs() -> None:
    found = [
        f"{where(module, node)}: {node.value!r}"
        for module in modules("app.py", "pages")
        for node in module.strings()
        if CJK.search(str(node.value))
    ]
    assert not found, "\n".join(found)


def test_no_icon_and_no_component_is_fetched_from_elsewhere() -> None:
    scripts = {".js", ".css"}
    files = [path for path in (ROOT / "assets" / "components").rglob("*") if path.is_file()]
    files += [path for path in (ROOT / "pages").rglob("*") if path.suffix in scripts]
    assert {"step_chain.js", "page.css"} <= {path.name for path in files}
    files += [module.path for module in modules("app.py", "pages")]
    files += list((ROOT / "assets" / "i18n").rglob("*.toml"))
    for path in files:
        text = path.read_text("utf-8").replace("http://www.w3.org/", "")
        # The browser tests see that these icons' font is served by the app; for an icon of the tab
        # Streamlit asks a foreign host.
        tab_icons = re.findall(r"page_icon=([^,)]*)", text)
        assert all(icon == "ICON" for icon in tab_icons), f"{path}: write page_icon=ICON"
        assert not re.search(r"https?://|[\"'(]//", text) or path.suffix == ".py", path
        assert "@import" not in text, path


def test_no_random_number_can_reach_the_screen() -> None:
    for module in modules("app.py", "pages", "owi_core/figures", "owi_core/record.py"):
        names = {name.split(".")[0] for name in module.imports()}
        assert not names & {"random", "secrets"}, module.name
        drawn = [n for n in ast.walk(module.tree) if isinstance(n, ast.Attribute)]
        assert not [where(module, n) for n in drawn if n.attr in {"random", "default_rng"}]


def test_no_deprecated_function_of_streamlit_is_used() -> None:
    for module in modules("app.py", "pages"):
        text = module.path.read_text("utf-8")
        assert not re.search(r"use_container_width|st\.experimental_|components\.v1|add_rows", text)


def test_every_figure_is_drawn_with_its_exports_and_keeps_its_own_colours() -> None:
    calls = [
        (module, call)
        for module in modules("app.py", "pages")
        for call in module.calls()
        if called_name(call) == "plotly_chart"
    ]
    assert [where(module, call) for module, call in calls if module.name != CHARTS] == []
    (given,) = ({k.arg: ast.unparse(k.value) for k in call.keywords} for _, call in calls)
    assert given["theme"] == "None"


def test_what_a_widget_offers_is_bounded_by_the_form_fields() -> None:
    """Streamlit fails on a value that a widget does not offer, and anyone can write a link.

    draw/forms.py gives options and bounds to the widget and to what is kept for it alike.
    """
    found = {
        where(module, call): (module.name, called_name(call))
        for module in modules("app.py", "pages")
        for call in module.calls()
        if called_name(call) in BOUNDED and isinstance(call.func, ast.Attribute)
    }
    elsewhere = {place: what for place, what in found.items() if what[0] != FORMS}
    # The switch of languages, which the address bar holds; the questions of a lesson.
    allowed = {("pages._ui.frame.frame", "segmented_control"), ("pages._ui.lessons.bar", "radio")}
    assert set(elsewhere.values()) == allowed, f"use pages/_ui/draw/forms.py instead: {elsewhere}"
    assert {name for module, name in found.values() if module == FORMS} == BOUNDED - {"radio"}


def test_a_default_of_none_says_what_else_may_be_chosen() -> None:
    for module in modules("app.py", "pages"):
        for call in module.calls():
            default = call.args[1] if len(call.args) > 1 else None
            if called_name(call) in {"keep", "held", "kept_value"}:
                nothing = isinstance(default, ast.Constant) and default.value is None
                among = {k.arg for k in call.keywords} & {"among", None}
                assert not nothing or among, f"{where(module, call)}: among=…"


# This module shows that torch.save and torch.load keep a shared matrix: it calls them in memory, on
# its own bytes, with weights_only. No file and no bytes of a user reach it.
TRIES_TORCH_SAVE = "owi_core.probes.tie_proof"


def test_the_proof_with_torch_save_reads_only_its_own_bytes() -> None:
    (module,) = modules("owi_core/probes/tie_proof.py")
    (load,) = (call for call in module.calls() if ast.unparse(call.func) == "torch.load")
    assert ast.unparse(load) == "torch.load(memory, weights_only=True)"
    assert "memory = io.BytesIO()" in ast.unparse(module.tree)


def test_nothing_is_pickled_and_nothing_hooks_into_a_model() -> None:
    for module in app():
        assert "pickle" not in module.imports(), module.name
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute):
                assert not re.match(r"register_.*hook", node.attr), where(module, node)
                inner = node.value
                torch_load = isinstance(inner, ast.Name) and (inner.id, node.attr) in {
                    ("torch", "load"),
                    ("torch", "save"),
                }
                allowed = module.name == TRIES_TORCH_SAVE
                assert allowed or not torch_load, where(module, node)


def test_every_component_that_is_mounted_has_its_script() -> None:
    """A missing file is an empty script, and an empty component draws nothing and says nothing."""
    mounting = {"mount", "mount_clickable"}
    calls = [c for m in modules("pages") for c in m.calls() if called_name(c) in mounting]
    named = [call for call in calls if isinstance(call.args[0], ast.Constant)]
    assert len(named) > 8
    for call in named:
        labs = [k.value for k in call.keywords if k.arg == "lab"]
        name, *lab = (ast.literal_eval(given) for given in (*call.args, *labs))
        folder = ROOT / "pages" / "_labs" / lab[0] if lab else ROOT / "assets" / "components"
        assert (folder / f"{name}.js").is_file(), (name, lab)
