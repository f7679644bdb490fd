"""Two tasks that separate the models: recall over a distance, and a rule of two neighbours.

Recall: one noun among filler words, and at the end the mark ？, where the noun is the answer.
Neighbours: each word has an answer, looked up by this word and the one before in a random table.
Shapes: N samples, T tokens.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from owi_core.corpora.words import word_list

N_KEYS, N_FILLERS = 16, 16
MARK = "？"
RECALL_VOCABULARY = N_KEYS + N_FILLERS + 1
RECALL_CHANCE = 1 / N_KEYS
N_SYMBOLS = 16  # of the neighbour task
UNASKED = -100  # no answer expected; F.cross_entropy ignores it


def recall_words() -> tuple[str, ...]:
    """Return the words of the recall task in the order of their ids: nouns, fillers, the mark."""
    lists = word_list().by_class
    fillers = [*lists["time"], *lists["manner"], *lists["then"]][:N_FILLERS]
    return (*lists["noun"][:N_KEYS], *fillers, MARK)


def distances(longest: int) -> tuple[int, ...]:
    """Return the distances that are asked for: some near ones, and far ones up to `longest`."""
    grid = {1, 2, 4, 6, 8, 16, 24, 32, 48, 64, 96, longest}
    return tuple(sorted(d for d in grid if d <= longest))


def recall_samples(
    n: int, longest: int, asked: Sequence[int], rng: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return ids (N, longest + 1) and the noun's id (N,); the mark is last.

    The noun is d words before the mark, d drawn from `asked`.
    """
    T = longest + 1
    ids = N_KEYS + torch.randint(N_FILLERS, (n, T), generator=rng)
    keys = torch.randint(N_KEYS, (n,), generator=rng)
    far = torch.tensor(asked)[torch.randint(len(asked), (n,), generator=rng)]
    ids[torch.arange(n), T - 1 - far] = keys
    ids[:, -1] = RECALL_VOCABULARY - 1
    return ids, keys


def recall_pair(T: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return two sentences (T,) of the same words, the noun near the start and near the mark."""
    rng = torch.Generator().manual_seed(seed)
    (early,), _ = recall_samples(1, T - 1, (T - 3,), rng)
    # Exchange the noun with the filler 4 words before the mark: same words, other distance.
    late = early.clone()
    late[[2, T - 5]] = early[[T - 5, 2]]
    return early, late


def neighbour_table(seed: int) -> Tensor:
    """Return the rule, (N_SYMBOLS, N_SYMBOLS): the answer to [the word before, this word]."""
    rng = torch.Generator().manual_seed(seed)
    return torch.randint(N_SYMBOLS, (N_SYMBOLS, N_SYMBOLS), generator=rng)


def neighbour_samples(n: int, T: int, table: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return ids (N, T) and their answers (N, T), UNASKED at the first word."""
    ids = torch.randint(N_SYMBOLS, (n, T), generator=rng)
    answers = torch.full_like(ids, UNASKED)
    answers[:, 1:] = table[ids[:, :-1], ids[:, 1:]]
    return ids, answers
