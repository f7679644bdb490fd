"""Which words of two sentences are the same word: pairs of positions, in reading order."""

from collections.abc import Sequence
from difflib import SequenceMatcher

Pair = tuple[int | None, int | None]


def aligned(a_labels: Sequence[str], b_labels: Sequence[str]) -> list[Pair]:
    """Return position pairs: (i, j) for a word that both have, else (i, None) or (None, j).

    Words are aligned in reading order first (difflib); of the rest, equal words that changed
    places are paired too.  苹果 and 杯子 in one slot stay two words, each with its own weight.

    difflib chooses between equally long matches by the order of its arguments, so with repeated
    words A against B would not be the reverse of B against A.  It is always given the two
    sentences in the same order.
    """
    if list(b_labels) < list(a_labels):
        swapped = [(i, j) for j, i in _aligned_in_order(b_labels, a_labels)]
        return _in_order_of_a(swapped)
    return _aligned_in_order(a_labels, b_labels)


def _aligned_in_order(a_labels: Sequence[str], b_labels: Sequence[str]) -> list[Pair]:
    # autojunk would ignore words that are frequent in sentences of 200 words or more.
    matcher = SequenceMatcher(None, list(a_labels), list(b_labels), autojunk=False)
    pairs: list[Pair] = []
    for kind, a_low, a_high, b_low, b_high in matcher.get_opcodes():
        # "replace" is not a pair: 苹果 and 杯子 in one slot are two words with a weight each.
        if kind == "equal":
            pairs += zip(range(a_low, a_high), range(b_low, b_high), strict=True)
        else:
            pairs += [(i, None) for i in range(a_low, a_high)]
            pairs += [(None, j) for j in range(b_low, b_high)]
    return _moved_words_paired(pairs, a_labels, b_labels)


def _in_order_of_a(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs as A is read; B's own words follow A's own words of the same place."""
    alone = {i for i, j in pairs if j is None}
    partners = [(j, i) for i, j in pairs if i is not None and j is not None]

    def place(pair: Pair) -> tuple[int, int]:
        i, j = pair
        if i is not None:
            return i, -1
        assert j is not None
        after = max((its for other, its in partners if other < j), default=-1)
        while after + 1 in alone:
            after += 1
        return after, j

    return sorted(pairs, key=place)


def _moved_words_paired(
    pairs: Sequence[Pair], a_labels: Sequence[str], b_labels: Sequence[str]
) -> list[Pair]:
    # difflib keeps the reading order, so a word that changed places is left on both sides.
    # Each is paired with the first equal word that is still free: every position is used once.
    waiting = [j for i, j in pairs if i is None and j is not None]
    paired: list[Pair] = []
    for i, j in pairs:
        moved = next((k for k in waiting if i is not None and b_labels[k] == a_labels[i]), None)
        if i is not None and j is None and moved is not None:
            waiting.remove(moved)
            paired.append((i, moved))
        else:
            paired.append((i, j))
    # What a moved word was paired with must not be listed again on its own.
    return [(i, j) for i, j in paired if i is not None or j in waiting]
