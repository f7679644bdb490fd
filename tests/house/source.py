"""The project's own source, parsed and never run: modules, imports, calls and catalogs."""

import ast
import string
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CATALOGS = ROOT / "assets" / "i18n"
LANGUAGES = ("zh", "en")
# Pages that show what the labs have made, and teach no subject of their own.
NO_LABS = {"home", "compare", "watch", "status"}


@dataclass(frozen=True)
class Module:
    """A Python file: dotted name, path, syntax tree."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    def imports(self, *, lazy: bool = True) -> set[str]:
        """Return the dotted names it imports; `lazy` counts imports inside functions too."""
        nodes = ast.walk(self.tree) if lazy else _outside_functions(self.tree)
        return {name for node in nodes for name in _imported(node, self)}

    def calls(self) -> Iterator[ast.Call]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))

    def strings(self) -> Iterator[ast.Constant]:
        """Yield the string constants that are not docstrings."""
        prose = {id(node.value) for node in ast.walk(self.tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(self.tree):
            written = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if written and id(node) not in prose:
                yield node


@cache
def modules(*places: str) -> tuple[Module, ...]:
    """Return the modules under files or folders of the project, by name."""
    paths = [path for place in places for path in _python_files(ROOT / place)]
    return tuple(Module(_dotted(path), path, ast.parse(path.read_text("utf-8"))) for path in paths)


def core() -> tuple[Module, ...]:
    return modules("owi_core")


def page_scripts() -> tuple[Module, ...]:
    """Return app.py and the page scripts, without what they share."""
    return tuple(
        m
        for m in modules("app.py", "pages")
        if m.name.count(".") < 2 and m.path.name != "__init__.py"
    )


def page_name(script: Module) -> str:
    """Return the name of a page: of its catalog, its keys, its folder."""
    return "home" if script.name == "app" else script.path.stem


def labs() -> list[str]:
    """Return the names of the labs: every page that exists, without NO_LABS."""
    return sorted({page_name(script) for script in page_scripts()} - NO_LABS)


def app() -> tuple[Module, ...]:
    return modules("owi_core", "pages", "app.py")


@cache
def catalog(lang: str, name: str) -> dict[str, str]:
    """Return a catalog's sentences by dotted key; empty if there is no such catalog."""
    path = CATALOGS / lang / f"{name}.toml"
    return dict(_flat(tomllib.loads(path.read_text("utf-8")), "")) if path.exists() else {}


def catalog_names(lang: str) -> set[str]:
    return {path.stem for path in (CATALOGS / lang).glob("*.toml")}


def placeholders(sentence: str) -> set[str]:
    """Return the names of the placeholders of a sentence."""
    return {name.split(".")[0] for _, name, _, _ in string.Formatter().parse(sentence) if name}


def called_name(call: ast.Call) -> str:
    """Return the last part of what is called: `button` of st.button(…)."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def where(module: Module, node: ast.AST) -> str:
    return f"{module.path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


def _python_files(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from _outside_functions(node)


def _imported(node: ast.AST, module: Module) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            up = module.name.split(".")
            keep = len(up) - node.level + module.is_package
            base = ".".join([*up[:keep], *([base] if base else [])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            yield inner if _is_module(inner) else base


def _is_module(dotted: str) -> bool:
    path = ROOT / Path(*dotted.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def _flat(table: dict[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, str(value)
