"""The tree of continuations kept as plain lists, so that a link can carry it.

A branch is [number, shown, parent or 0, fork, ids after the prompt, places that were forced].
A link carries only the ids of the tokens: their probabilities are measured again.
"""

from typing import Annotated, Any

from msgspec import Meta

from owi_core.untrusted import MisfitError, checked
from pages._labs.feedback import models
from pages._labs.feedback import tree as feedback_tree
from pages._labs.feedback.form import Chosen
from pages._labs.feedback.tree import MAX_BRANCHES, MAX_TOKENS, Branch, Token, Tree
from pages._ui.session.state import held, keep, renew, set_kept

BRANCHES, ACTIVE = "feedback.branches", "feedback.active"
_Whole = Annotated[int, Meta(ge=0, lt=10**6)]
Written = tuple[_Whole, _Whole, _Whole, _Whole, list[_Whole], list[_Whole]]
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
    return [branch.number, shown, branch.parent or 0, branch.fork, ids, forced]


def _branch(chosen: Chosen, written: object) -> Branch | None:
    """Return a branch as it was kept, its tokens measured; None for anything else."""
    try:
        number, shown, parent, fork, ids, forced = checked(written, Written)
    except MisfitError:
        return None
    prompt = chosen.prompt
    most, vocabulary = MAX_TOKENS - len(prompt), chosen.writer.tokenizer.vocab_size
    if not shown <= len(ids) <= most or any(i >= vocabulary for i in ids):
        return None
    tokens = [_token(chosen, ids, place, place in forced) for place in range(len(ids))]
    whole = (*map(Token, prompt), *tokens)
    return Branch(number, whole, len(prompt) + shown, parent or None, min(fork, len(whole)))


def _token(chosen: Chosen, ids: list[int], place: int, forced: bool) -> Token:
    before = (*chosen.prompt, *ids[:place])
    forecast = models.forecast(chosen.writer, before, chosen.sampling)
    u = models.u_of(chosen.seed, place)
    return Token(ids[place], u, float(forecast.after[ids[place]]), forced)
