"""The few lines of owi_core behind the projection page: they run as shown and print its numbers."""

from owi_core.probes.ablation import Head
from owi_core.readings import Reading
from pages._ui.draw.code import Inputs, after_reading


def cut_code(model: str, reading: Reading, cut: tuple[Head, ...]) -> str:
    """Lines that cut heads and print what that does, and what each head is worth."""
    return after_reading(
        _inputs(model, reading),
        "from owi_core.experiments.altered import head_effects, without",
        f"changed = without(a, {list(cut)})  # (layer, head), from 0",
        "print(changed.change_nats, changed.after.answer)",
        "effects = head_effects(a)",
        "print(effects.singles, effects.together, effects.sharing)",
    )


def parts_code(model: str, reading: Reading, word: int) -> str:
    """Lines that print the equality's error and one word's logit as a sum."""
    return after_reading(
        _inputs(model, reading),
        "from owi_core.probes.contributions import contributions, sum_errors",
        "model, ids = a.bundle.model, a.encoding.ids",
        "print(sum_errors(model, ids))",
        f"shares = contributions(model, ids, a.query).shares({word})",
        "for part, value in zip(shares.parts, shares.values):",
        '    print(part, f"{value:+.3f}")',
        "print(shares.values.sum(), shares.logit, shares.error)",
    )


def _inputs(model: str, reading: Reading) -> Inputs:
    return Inputs(model, (reading.encoding.text,), (reading.query,))
