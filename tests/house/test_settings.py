"""Every environment variable is declared in one module, and only that module reads any."""

import ast
import re

from pages._ui.base import settings
from tests.house.source import Module, app, where

DECLARED = {variable for variable, _, _ in settings.table()}
# Modules that may use the environment: the settings; the start of a worker, which passes it on;
# what is set for a whole process.
HANDLE_THE_ENVIRONMENT = {
    "pages._ui.base.settings",
    "owi_core.jobs.worker_process",
    "owi_core.process",
}


def environment_of(module: Module) -> list[ast.Attribute]:
    nodes = (node for node in ast.walk(module.tree) if isinstance(node, ast.Attribute))
    return [node for node in nodes if node.attr in {"environ", "environb", "getenv"}]


def test_only_the_settings_read_the_environment() -> None:
    found = {module.name for module in app() if environment_of(module)}
    assert found == HANDLE_THE_ENVIRONMENT


def test_no_variable_of_the_app_is_named_outside_the_settings() -> None:
    found = [
        where(module, node)
        for module in app()
        for node in module.strings()
        if re.fullmatch(r"OWI_[A-Z_]*", str(node.value))
        and module.name != "pages._ui.base.settings"
    ]
    assert found == []


def test_variables_that_tests_and_documents_name_are_declared() -> None:
    root = settings.PAGES.parent
    files = [*root.glob("*.md"), *(root / "docs").glob("*.md"), root / "Containerfile"]
    files += (root / "tests").rglob("*.py")
    for path in files:
        if path.name == "test_settings.py":  # it names wrong variables as well
            continue
        named = set(re.findall(r"\bOWI_[A-Z_]*[A-Z]\b", path.read_text("utf-8")))
        assert named <= DECLARED, path
