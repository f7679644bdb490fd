"""The tree of continuations kept as plain lists, so that a link can carry it.

A branch is [number, shown, parent or 0, fork, ids after the prompt, places that were forced,
drawings].  A drawing is [place, temperature, top-k, top-p, seed]: from that place on tokens were
drawn with it.  Older links have no drawings; their tokens are measured with the current settings.
A link carries no probabilities: they are measured again.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from owi_core.config import SamplingConfig
from owi_core.untrusted import MisfitError, checked
from pages._labs.feedback import models
from pages._labs.feedback import tree as feedback_tree
from pages._labs.feedback.form import HOTTEST, LEAST_TOP_P, Chosen
from pages._labs.feedback.tree import MAX_BRANCHES, MAX_TOKENS, Branch, Drawing, Token, Tree
from pages._ui.session.state import held, keep, renew, set_kept

BRANCHES, ACTIVE = "feedback.branches", "feedback.active"
_Whole = Annotated[int, Meta(ge=0, lt=10**6)]
WithoutDrawings = tuple[_Whole, _Whole, _Whole, _Whole, list[_Whole], list[_Whole]]
WrittenDrawing = tuple[
    _Whole,
    Annotated[float, Meta(ge=0, le=HOTTEST)],
    _Whole,
    Annotated[float, Meta(ge=LEAST_TOP_P, le=1)],
    Annotated[int, Meta(ge=0, lt=2**31)],
]
Written = tuple[_Whole, _Whole, _Whole, _Whole, list[_Whole], list[_Whole], list[WrittenDrawing]]
MOST_MEASURED = 300  # tokens of all branches of a link; each costs a pass of the model


def planted(chosen: Chosen) -> Tree:
    """Return the tree that is kept for this model and prompt, or one that nothing follows yet."""
    renew("feedback.planted", chosen.origin, BRANCHES, ACTIVE)
    bare = feedback_tree.planted(chosen.prompt)
    kept: list[Any] = held(BRANCHES, [], high=MAX_BRANCHES)
    active = held(ACTIVE, 1)
    branches = [_branch(chosen, each) for each in kept]
    found = tuple(branch for branch in branches if branch is not None)
    numbers = {branch.number for branch in found}
    sound = found and len(found) == len(kept) == len(numbers)
    if not sound or sum(len(b.tokens) - len(chosen.prompt) for b in found) > MOST_MEASURED:
        return bare
    return feedback_tree.choose(Tree(len(chosen.prompt), found, found[0].number), active)


def note(tree: Tree) -> None:
    """Keep the tree."""
    for key, value, usual in (
        (BRANCHES, [_written(tree, branch) for branch in tree.branches], []),
        (ACTIVE, tree.active, 1),
    ):
        set_kept(key, value)
        keep(key, usual)


def _written(tree: Tree, branch: Branch) -> list[Any]:
    new = branch.tokens[tree.n_prompt :]
    forced = [place for place, token in enumerate(new) if token.forced]
    shown = branch.at - tree.n_prompt
    ids = [token.id for token in new]
    return [branch.number, shown, branch.parent or 0, branch.fork, ids, forced, _drawings(new)]


def _drawings(tokens: Sequence[Token]) -> list[list[Any]]:
    """Return each drawing with the place where it begins."""
    found: list[list[Any]] = []
    before = None
    for place, token in enumerate(tokens):
        if token.drawing is not None and token.drawing != before:
            how = token.drawing.sampling
            settings = [how.temperature, how.top_k, how.top_p, token.drawing.seed]
            found.append([place, *settings])
        before = token.drawing
    return found


def _branch(chosen: Chosen, written: object) -> Branch | None:
    """Return a branch as it was kept, its tokens measured; None for anything else."""
    try:
        if isinstance(written, list) and len(written) == 6:
            written = [*checked(written, WithoutDrawings), []]
        number, shown, parent, fork, ids, forced, drawings = checked(written, Written)
    except MisfitError:
        return None
    prompt = chosen.prompt
    most, vocabulary = MAX_TOKENS - len(prompt), chosen.writer.tokenizer.vocab_size
    if not shown <= len(ids) <= most or any(i >= vocabulary for i in ids):
        return None
    begins = {0: chosen.drawing} | {each[0]: _drawing(each) for each in drawings}
    tokens: list[Token] = []
    drawing = chosen.drawing
    for place in range(len(ids)):
        drawing = begins.get(place, drawing)
        tokens.append(_token(chosen, ids, place, place in forced, drawing))
    whole = (*map(Token, prompt), *tokens)
    return Branch(number, whole, len(prompt) + shown, parent or None, min(fork, len(whole)))


def _drawing(written: WrittenDrawing) -> Drawing:
    _, temperature, top_k, top_p, seed = written
    return Drawing(SamplingConfig(temperature=temperature, top_k=top_k, top_p=top_p), seed)


def _token(chosen: Chosen, ids: list[int], place: int, forced: bool, drawing: Drawing) -> Token:
    before = (*chosen.prompt, *ids[:place])
    forecast = models.forecast(chosen.writer, before, drawing.sampling)
    u = models.u_of(drawing.seed, place)
    return Token(ids[place], u, float(forecast.after[ids[place]]), forced, drawing)
