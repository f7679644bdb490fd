"""The few lines of owi_core behind the page of shared weights: they run as shown."""

from collections.abc import Mapping, Sequence
from typing import Any

from owi_core.probes.tie_touch import Cell, Edit
from pages._ui.draw.code import FINISHED, experiment_code

TOUCH = """from owi_core.checkpoints import shipped
from owi_core.probes.tie_proof import tie_cases
from owi_core.probes.tie_touch import Cell, Edit, touch
from owi_core.readings import read

bundle = shipped("swap")
for case in tie_cases(bundle):
    print(case.code, case.storage, case.refused, case.expected)
reading = read(bundle, {text!r})
edits = {edits}
found = touch(bundle, reading.encoding.ids, reading.query, edits, {cell})
print(found.before.logit, found.tied.logit, found.untied.logit)
print(found.cell_after, found.tied.head_cell, found.untied.head_cell)
"""


def touch_code(text: str, edits: Sequence[Edit], cell: Cell) -> str:
    """Lines that try the proof and make the same edits."""
    return TOUCH.format(text=text, edits=[*edits], cell=cell)


def run_code(params: Mapping[str, Any]) -> str:
    """Lines that train the same two models and print what was measured."""
    return experiment_code(
        "tying",
        params,
        "from owi_core.experiments.tying import SIDES",
        FINISHED,
        "result = finished.result",
        'print(result["same_object"], result["gradient_sum_error"])',
        "for name in SIDES[params.question]:",
        "    part = result[name]",
        '    print(name, part["accuracy_heldout"], part["accuracy_unseen_words"])',
    )
