"""Where the ready demos lead: the page of each, and what its link sets there."""

import json
from dataclasses import dataclass

from owi_core.demos import (
    HEADS_LAYER,
    HEADS_PAIR,
    MASKED_PAIR,
    PROMPT,
    REACH_SIZE,
    REACH_TOKENS,
    STEP_HEAD,
    STEP_LAYER,
    STEP_PAIR,
    TOUCHED,
    Demo,
    pair_of,
)


@dataclass(frozen=True)
class Link:
    """A page and the parameters of a link to it."""

    page: str
    params: tuple[tuple[str, str], ...] = ()


def link_of(demo: Demo) -> Link:
    """Return where a demo leads; a page shows there what the demo's picture was measured of."""
    if demo.pair:
        return Link("rows", (("pair", demo.pair),))
    return Link(demo.name, _PARAMS.get(demo.name, ()))


_PARAMS: dict[str, tuple[tuple[str, str], ...]] = {
    "masking": (("padded", pair_of(MASKED_PAIR).a),),
    "step": (
        ("source", "sentence"),
        ("text", pair_of(STEP_PAIR).a),
        ("model", pair_of(STEP_PAIR).model),
        ("layer", str(STEP_LAYER + 1)),
        ("head", str(STEP_HEAD + 1)),
    ),
    "tying": (
        ("word", str(TOUCHED.cell.word_id)),
        ("dimension", str(TOUCHED.cell.dimension)),
        ("value", str(TOUCHED.value)),
        ("edits.swap", json.dumps([[*TOUCHED.cell, TOUCHED.value]])),
    ),
    "feedback": (("prompt.language", PROMPT),),
    "projection": (
        ("text", pair_of(HEADS_PAIR).a),
        ("layer", str(HEADS_LAYER)),
        ("on.1.4", "[]"),
    ),
    "cost": (("reach.tokens", str(REACH_TOKENS)), ("reach.size", str(REACH_SIZE))),
}
