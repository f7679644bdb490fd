"""Continuations of one prompt as a tree: tokens so far, where one looks, and where others forked.

Frozen values: what a session holds is replaced, never changed.
"""

from dataclasses import dataclass, replace
from itertools import takewhile

from owi_core.config import SamplingConfig

MAX_BRANCHES = 6
MAX_TOKENS = 240


@dataclass(frozen=True)
class Drawing:
    """What a token was drawn with: its probability and its u follow from this."""

    sampling: SamplingConfig
    seed: int


@dataclass(frozen=True)
class Token:
    """One token, and how it came: of the prompt (no u), drawn with u, or forced by the reader."""

    id: int
    u: float | None = None
    probability: float | None = None
    forced: bool = False
    drawing: Drawing | None = None


@dataclass(frozen=True)
class Branch:
    """One continuation: its tokens, how many of them are shown, and what it forked from, where."""

    number: int
    tokens: tuple[Token, ...]
    at: int
    parent: int | None = None
    fork: int = 0

    @property
    def ids(self) -> tuple[int, ...]:
        """The tokens that are shown: what lies ahead was taken back."""
        return tuple(token.id for token in self.tokens[: self.at])


@dataclass(frozen=True)
class Tree:
    """All branches, and the number of the one that goes on."""

    n_prompt: int
    branches: tuple[Branch, ...]
    active: int

    @property
    def current(self) -> Branch:
        return next(b for b in self.branches if b.number == self.active)

    @property
    def n_drawn(self) -> int:
        """The number of the next step, from 0."""
        return self.current.at - self.n_prompt

    @property
    def n_ahead(self) -> int:
        """How many tokens were taken back and can be brought back."""
        return len(self.current.tokens) - self.current.at

    @property
    def full(self) -> bool:
        return self.current.at >= MAX_TOKENS


def planted(ids: tuple[int, ...]) -> Tree:
    """Return the tree of a prompt that nothing follows yet."""
    return Tree(len(ids), (Branch(1, tuple(map(Token, ids)), len(ids)),), 1)


def back(tree: Tree, to: int | None = None) -> Tree:
    """Take back the last token, or all from the place `to` on; they stay in the branch."""
    at = tree.current.at - 1 if to is None else to
    return _put(tree, replace(tree.current, at=min(max(at, tree.n_prompt), tree.current.at)))


def restore(tree: Tree) -> Tree:
    """Bring back what was taken back and is still in the branch."""
    return _put(tree, replace(tree.current, at=len(tree.current.tokens)))


def choose(tree: Tree, number: int) -> Tree:
    """Go on with another branch; one that no longer exists leaves the tree as it is."""
    known = any(branch.number == number for branch in tree.branches)
    return replace(tree, active=number) if known else tree


def step(tree: Tree, drawn: Token) -> Tree:
    """Go on by what is drawn here; what was taken back comes again when it is the same or forced.

    Where the branch once went on in another way, a new one forks off.
    """
    branch = tree.current
    ahead = branch.tokens[branch.at] if branch.at < len(branch.tokens) else None
    if ahead is not None and (ahead.forced or ahead.id == drawn.id):
        return _put(tree, replace(branch, at=branch.at + 1))
    return _go(tree, drawn)


def force(tree: Tree, token: Token, drawn: Token) -> Tree:
    """Put a token of the reader's here; the branch beside it goes on by what would be drawn."""
    if token.id == drawn.id:
        return step(tree, drawn)
    start = tree.current
    if start.at == len(start.tokens):  # so that both can be seen to part
        tree = _put(tree, replace(start, tokens=(*start.tokens, drawn), at=start.at + 1))
        tree = _put(tree, replace(tree.current, at=start.at))
    return _go(tree, token)


def _go(tree: Tree, token: Token) -> Tree:
    branch = tree.current
    ids = (*branch.ids, token.id)
    for other in tree.branches:  # the same branch may already exist
        if tuple(t.id for t in other.tokens[: len(ids)]) == ids:
            return choose(_put(tree, replace(other, at=len(ids))), other.number)
    tokens = (*branch.tokens[: branch.at], token)
    if branch.at == len(branch.tokens):
        return _put(tree, replace(branch, tokens=tokens, at=len(tokens)))
    number = max(b.number for b in tree.branches) + 1
    forked = Branch(number, tokens, len(tokens), branch.number, branch.at)
    whole = replace(branch, at=len(branch.tokens))
    kept = [b if b.number != branch.number else whole for b in tree.branches]
    if len(kept) == MAX_BRANCHES:  # drop the oldest branch that is not current
        kept.remove(next(b for b in kept if b.number != branch.number))
    return Tree(tree.n_prompt, (*kept, forked), number)


def shared_length(branch: Branch, others: tuple[Branch, ...]) -> int:
    """Return after how many tokens the branch goes its own way, away from every other."""
    pairs = [
        zip(branch.tokens[: branch.at], other.tokens, strict=False)
        for other in others
        if other.number != branch.number
    ]
    return max((len(list(takewhile(_alike, pair))) for pair in pairs), default=branch.at)


def _alike(pair: tuple[Token, Token]) -> bool:
    return pair[0].id == pair[1].id


def _put(tree: Tree, branch: Branch) -> Tree:
    """Return the tree with a branch in place of the one of its number."""
    branches = tuple(branch if b.number == branch.number else b for b in tree.branches)
    return replace(tree, branches=branches)
