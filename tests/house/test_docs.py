"""The documents are short, lead to each other, and name files, tests and modules that exist."""

import ast
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.house.source import ROOT

LONGEST_README = 6 * 1024  # bytes
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TRANSLATED = sorted(path for path in DOCUMENTS if path.name.endswith(".zh.md"))
EACH = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
EACH_PAIR = pytest.mark.parametrize("path", TRANSLATED, ids=lambda path: path.name)


def english(path: Path) -> Path:
    return path.with_name(path.name.replace(".zh.md", ".md"))


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def shape(text: str) -> list[str]:
    """Return what a translation must keep: levels of headings, commands, first cells in code."""
    lines = [
        line for line in text.splitlines() if line.startswith(("#", "| `", "python3", ".venv"))
    ]
    cells = [re.match(r"#+|\| `\w+`|python3.*|\.venv\S* -m \S+", line) for line in lines]
    return [match[0] for match in cells if match]


@cache
def names_in(folder_and_file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / folder_and_file).read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@EACH_PAIR
def test_a_document_and_its_translation_lead_to_each_other_in_the_first_line(path: Path) -> None:
    assert path.read_text("utf-8").startswith(f"[English]({english(path).name})\n")
    assert english(path).read_text("utf-8").startswith(f"[中文]({path.name})\n")


@EACH_PAIR
def test_a_translation_has_the_same_headings_commands_and_table_rows(path: Path) -> None:
    assert shape(path.read_text("utf-8")) == shape(english(path).read_text("utf-8"))


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_readme_is_short_and_shows_two_pictures(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert len(text.encode()) <= LONGEST_README
    pictures = re.findall(r"!\[.+\]\((.+)\)", text)
    assert len(pictures) == 2
    assert all((ROOT / picture).is_file() for picture in pictures)


@EACH
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8")):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        found = path.parent / file if file else path
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text("utf-8")), target


@EACH
def test_every_test_that_a_document_names_exists(path: Path) -> None:
    for line in path.read_text("utf-8").splitlines():
        file = ""
        for name in re.findall(r"`([^`\s]+)`", line):
            if match := re.fullmatch(r"(?:tests/)?(\w+/test_\w+\.py)", name):
                file = match[1]
                to_write = "NAME" in file or f"tests/{file}" in skeletons()
                assert (ROOT / "tests" / file).is_file() or to_write, name
            elif re.fullmatch(r"test_\w+…", name):
                begins = name.removesuffix("…")
                assert any(known.startswith(begins) for known in names_in(file)), f"{file}: {name}"


@EACH
def test_every_module_that_a_command_starts_exists(path: Path) -> None:
    for name in re.findall(r"-m ((?:owi_core|pages|tests)[\w.]*)", path.read_text("utf-8")):
        place = ROOT / Path(*name.split("."))
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), name


def reading_order() -> list[tuple[str, str]]:
    """Return what docs/source.md points to, row by row: a file and a name in it."""
    rows = re.findall(
        r"^\| [^|]+ \| `([^`|]+)` \| ([^|]+) \|",
        (ROOT / "docs/source.md").read_text("utf-8"),
        re.MULTILINE,
    )
    return [(file, name) for file, names in rows for name in re.findall(r"`([^`]+)`", names)]


@pytest.mark.parametrize(("file", "name"), reading_order())
def test_every_name_in_the_reading_order_exists(file: str, name: str) -> None:
    body: list[ast.stmt] = ast.parse((ROOT / file).read_text("utf-8")).body
    for part in name.split("."):  # a method is looked for inside its class
        named = [
            n for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == part
        ]
        assert named, f"{file} has no {part}"
        body = named[0].body


def test_the_reading_order_has_a_name_for_every_row() -> None:
    text = (ROOT / "docs/source.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|") and ".py`" in line]
    files = [re.findall(r"`([^`]+\.py)`", line)[0] for line in rows]
    assert rows
    assert set(files) == {file for file, _ in reading_order()}


def test_every_document_is_reached_from_the_readme() -> None:
    known, waiting = set(), [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in known:
            continue
        known.add(path)
        targets = re.findall(r"\]\(([^)\s#]+\.md)", path.read_text("utf-8"))
        waiting += [(path.parent / target).resolve() for target in targets if "://" not in target]
    assert set(DOCUMENTS) - known == set()


def skeletons() -> dict[str, str]:
    """Return the files that CONTRIBUTING.md gives to copy, by their paths."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return dict(re.findall(r"^`(\S+)`\n\n```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


def test_the_skeletons_of_a_lab_are_its_five_files() -> None:
    kinds = {re.sub(r"\w+(?=\.(py|toml)$)", "NAME", path) for path in skeletons()}
    assert kinds == {
        "owi_core/experiments/NAME.py",
        "pages/NAME.py",
        "assets/i18n/zh/NAME.toml",
        "assets/i18n/en/NAME.toml",
        "tests/pages/NAME.py",
    }


@pytest.mark.slow
def test_the_skeletons_make_a_lab_that_passes_the_tests(tmp_path: Path) -> None:
    for name in ("app.py", "owi_core", "pages", "assets", "tests", "docs", "pyproject.toml"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / ".streamlit", tmp_path / ".streamlit")
    for path, text in skeletons().items():
        assert not (tmp_path / path).exists()
        (tmp_path / path).write_text(text, "utf-8")
    of_the_lab = Path(next(path for path in skeletons() if path.startswith("pages/"))).stem
    general = ["tests/house/test_contract.py", "tests/house/test_pages.py", "tests/ui"]
    for asked in (
        [f"tests/pages/test_{of_the_lab}.py"],
        [*general, "tests/experiments/test_experiments.py", "-k", of_the_lab],
    ):
        command = [sys.executable, "-m", "pytest", "-n", "0", *asked]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
