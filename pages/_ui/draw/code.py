"""The few lines of owi_core behind each figure, with the inputs of the moment: they run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from owi_core.experiments import find
from owi_core.experiments._kit.params import needed
from pages._ui.base import page_contents
from pages._ui.base.page import Frame
from pages._ui.session.reading import OWN

OWN_FILE = "model.safetensors"  # the model that the user has downloaded
OWN_TEXT_FILE = "my_text.txt"  # a text that the user pasted: too long for the code itself
READ_OWN_TEXT = f'read_text_file(Path("{OWN_TEXT_FILE}").read_bytes())'
WIDEST = 88  # characters in a line, as long as a code box is wide
FINISHED = "*_, finished = experiment.run(params)"
PRINTED = (
    "print(finished.verdict)",
    "for name, value in finished.result.items():",
    "    print(name, value)",
)


@dataclass(frozen=True)
class Inputs:
    """What a figure was made from: model, sentences with their query indices, layer and head."""

    model: str
    texts: tuple[str, ...]
    queries: tuple[int, ...]
    layer: int = 0
    head: int | None = None


def show_code(page: Frame, code: str) -> None:
    """Draw the lines folded away, under the figure they make.

    They are sent when the fold is opened: what colours them is the heaviest script of a page.
    """
    key = f"owi_code.{page_contents.code(code)}"
    folded = st.expander(page.t("code"), type="compact", key=key, on_change="rerun")
    if folded.open:
        folded.code(code, language="python", wrap_lines=True)


def answer_code(inputs: Inputs) -> str:
    """Row, entropy and answer of one sentence."""
    return _lines(
        "from owi_core.probes.rows import entropy_nats",
        *_reading(inputs, 0),
        f"row = a.record.row(a.query, {_place(inputs)})  # (T,)",
        "for word, weight in zip(a.labels, row):",
        '    print(word, f"{weight:.3f}")',
        "print(entropy_nats(row), a.answer)",
    )


def rows_code(inputs: Inputs) -> str:
    """Both rows as bars, and their difference."""
    return _lines(
        "from owi_core.figures import NamedRow, row_bars, row_difference",
        *_readings(inputs),
        f"row_a = a.record.row(a.query, {_place(inputs)})  # (T_a,)",
        f"row_b = b.record.row(b.query, {_place(inputs)})  # (T_b,)",
        'bars = row_bars([NamedRow("A", a.labels, row_a), NamedRow("B", b.labels, row_b, "B")])',
        "figure = row_difference(a.labels, row_a, b.labels, row_b)",
    )


def proof_code(inputs: Inputs) -> str:
    """The change of the answer for every edge of the query, and for the strongest."""
    return _lines(
        "from owi_core.probes.knockout import knock_out_nats, knock_out_row",
        *_reading(inputs, 0),
        "model, ids = a.bundle.model, a.encoding.ids",
        "changes = knock_out_row(model, ids, a.query, a.query, a.answer_id)  # (L, T), nats",
        f"edge = a.strongest({inputs.layer})",
        "if edge is not None:",
        "    print(knock_out_nats(model, ids, a.query, a.answer_id, edge), a.cut(edge))",
        "print(a.routes)  # the answer without the direct look, and by it alone",
    )


def matrix_code(inputs: Inputs) -> str:
    """The whole matrix of one layer and head."""
    return _lines(
        "from owi_core.figures import pattern_matrix",
        *_reading(inputs, 0),
        f"pattern = a.record.pattern[{inputs.layer}]{_of_heads(inputs)}  # (T, T)",
        "figure = pattern_matrix(pattern, a.record.mask, a.labels, a.labels, query=a.query)",
    )


def heads_code(inputs: Inputs) -> str:
    """All layers and heads."""
    return _lines(
        "from owi_core.figures import thumbnails",
        *_reading(inputs, 0),
        "figure = thumbnails(a.record.pattern, a.record.mask, a.labels, a.labels)",
    )


def rollout_code(inputs: Inputs) -> str:
    """What reaches the query through all layers."""
    return _lines(
        "from owi_core.probes.rows import rollout",
        *_reading(inputs, 0),
        "flow = rollout(a.record.pattern)[a.query]  # (T,)",
    )


def path_code(inputs: Inputs) -> str:
    """The way an answer took through the layers."""
    return _lines(
        "from owi_core.figures import attention_path",
        *_reading(inputs, 0),
        "pattern = a.record.pattern.mean(axis=1)  # (L, T, T)",
        "figure = attention_path(pattern, a.labels, a.query)",
    )


def experiment_code(name: str, params: Mapping[str, Any], *lines: str) -> str:
    """Return the lines that run an experiment again, with the settings that are not the defaults.

    lines: what follows `experiment` and `params`; without any, the result is printed.  Imports
    among them are moved to the top.
    """
    return _lines(
        "from owi_core.experiments import find",
        *_own_text_imports(params),
        "",
        f"experiment = find({name!r})",
        *_params_of(needed(find(name).params(**params))),
        *(lines or (FINISHED, *PRINTED)),
    )


def _params_of(settings: Mapping[str, Any]) -> list[str]:
    """Return the lines that make the parameters; a user's own text is read from a file."""
    given = [
        f"{key}={READ_OWN_TEXT if key == 'own_text' else repr(value)}"
        for key, value in settings.items()
    ]
    line = f"params = experiment.params({', '.join(given)})"
    if len(line) <= WIDEST:
        return [line]
    return ["params = experiment.params(", *(f"    {each}," for each in given), ")"]


def _own_text_imports(params: Mapping[str, Any]) -> list[str]:
    if not params.get("own_text"):
        return []
    return ["from pathlib import Path", "from owi_core.corpora import read_text_file"]


def after_reading(inputs: Inputs, *lines: str) -> str:
    """A lab's own lines after those that read one sentence as `a`; imports find their place."""
    return _lines(*_reading(inputs, 0), *lines)


def _readings(inputs: Inputs) -> list[str]:
    return [*_reading(inputs, 0), _read("b", inputs, 1)]


def _reading(inputs: Inputs, index: int) -> list[str]:
    model, reads = _bundle(inputs.model), _read("a", inputs, index)
    return [*_model(inputs.model), "from owi_core.readings import read", "", model, reads]


def _read(name: str, inputs: Inputs, index: int) -> str:
    return f"{name} = read(bundle, {inputs.texts[index]!r}, {inputs.queries[index]})"


def _model(model: str) -> list[str]:
    if model == OWN:
        return ["from pathlib import Path", "from owi_core.checkpoints import from_bytes"]
    return ["from owi_core.checkpoints import shipped"]


def _bundle(model: str) -> str:
    if model == OWN:
        return f"bundle = from_bytes(Path({OWN_FILE!r}).read_bytes())"
    return f"bundle = shipped({model!r})"


def _place(inputs: Inputs) -> str:
    return f"layer={inputs.layer}, head={inputs.head}"


def _of_heads(inputs: Inputs) -> str:
    return ".mean(axis=0)" if inputs.head is None else f"[{inputs.head}]"


def _lines(*lines: str) -> str:
    """Join the lines, imports first as they are written in a file."""
    imports = sorted(line for line in lines if line.startswith(("from ", "import ")))
    rest = [line for line in lines if line not in imports]
    return "\n".join([*imports, *rest])
