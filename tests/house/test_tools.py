"""Style, types, installed packages, and the lines that the README gives."""

import re
import subprocess
import sys

import pytest

from tests.house.source import ROOT, app, modules

OF_THE_SERVER = {"uvloop"}  # Streamlit's server uses it if it is installed
COMMANDS = {"ruff", "mypy", "pytest-xdist"}  # run below, or by pytest itself; not imported


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]],
    ids=["style", "format", "types"],
)
def test_the_tools_find_nothing(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_has_a_docstring() -> None:
    import ast

    for module in app():
        if module.tree.body:
            assert ast.get_docstring(module.tree), module.name


def required(file: str) -> dict[str, str]:
    """Return the packages that a requirements file names, with their bounds."""
    lines = (ROOT / file).read_text("utf-8").splitlines()
    matches = [re.match(r"([A-Za-z][\w-]*)(.*)", line) for line in lines]
    return {match[1]: match[2] for match in matches if match}


def test_torch_comes_first_and_pinned() -> None:
    assert next(iter(required("requirements.txt").items())) == ("torch", "==2.13.0")


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-test.txt"])
def test_every_package_is_bounded(file: str) -> None:
    for name, bounds in required(file).items():
        assert "==" in bounds or "<" in bounds, name


def test_every_package_is_used() -> None:
    imported = {name.split(".")[0] for module in app() for name in module.imports()}
    assert set(required("requirements.txt")) - imported - OF_THE_SERVER == set()
    tested = {name.split(".")[0] for module in modules("tests") for name in module.imports()}
    assert set(required("requirements-test.txt")) - tested - COMMANDS == set()


def readme_line(word: str, readme: str = "README.md") -> str:
    """Return the one line of a README that makes the environment and does what `word` says."""
    lines = (ROOT / readme).read_text("utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith("python3 -m venv") and word in line]
    return line


@pytest.mark.parametrize("word", ["streamlit run app.py", "-m pytest"])
def test_the_readme_gives_the_same_line_in_both_languages(word: str) -> None:
    assert readme_line(word) == readme_line(word, "README.zh.md")


def test_ci_runs_the_test_line_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    pattern = re.search(r"grep -m1 '([^']+)' README.md", script)
    assert pattern
    found = re.findall(pattern[1], (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert found == [readme_line("-m pytest")]


def test_the_tested_python_is_the_same_everywhere() -> None:
    readmes = [(ROOT / name).read_text("utf-8") for name in ("README.md", "README.zh.md")]
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert [readme.count("Python 3.11") for readme in readmes] == [1, 1]
    assert 'requires-python = ">=3.11"' in project
    assert 'target-version = "py311"' in project
