"""The words that figures print; English unless a page passes its own language."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FigureText:
    """Axis titles and hover words; `{…}` in `threshold` is filled by the figure."""

    query: str = "query: who looks"
    key: str = "key: who is looked at"
    weight: str = "attention weight"
    layer: str = "layer"
    head: str = "head"
    forbidden: str = "forbidden by the mask: exactly 0"
    leak: str = "forbidden by the mask, yet not 0: a leak"
    difference: str = "difference B − A"
    only_a: str = "only in A"
    only_b: str = "only in B"
    both: str = "in both"
    step: str = "training step"
    loss: str = "loss (nats)"
    trained: str = "training"
    evaluated: str = "held out"
    floor: str = "floor"
    uniform: str = "ln V: all tokens alike"
    input: str = "input"
    # Filled with str.format, so a page's text keeps the name in braces.
    threshold: str = "drawn: weights of at least {threshold}"
    change: str = "change of log p(answer), nats"
    cut: str = "cut edge"
    control: str = "control"
    position: str = "position"
    dimension: str = "dimension"
