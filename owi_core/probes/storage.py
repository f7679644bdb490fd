"""Whether two modules hold one matrix or two."""

from dataclasses import dataclass

import torch
from torch import nn

from owi_core.model import Transformer


@dataclass(frozen=True)
class TiedStorage:
    """What embedding and head share: the Python object, the storage, the first address."""

    same_object: bool
    same_storage: bool
    same_pointer: bool

    @property
    def shared(self) -> bool:
        """Whether a number written through one is read through the other."""
        # Both: two views of one storage may begin at different numbers.
        return self.same_storage and self.same_pointer


def tied_storage(model: Transformer) -> TiedStorage:
    """Return what embedding.weight and lm_head.weight share."""
    embedding, head = model.embedding.weight, model.lm_head.weight
    # Addresses of the memory, not equality of values: a copy has equal values too.
    same_storage = embedding.untyped_storage().data_ptr() == head.untyped_storage().data_ptr()
    same_pointer = embedding.data_ptr() == head.data_ptr()
    return TiedStorage(embedding is head, same_storage, same_pointer)


def untie(model: Transformer) -> Transformer:
    """Give the head a matrix of its own with the same numbers, in place; return the model."""
    with torch.no_grad():
        model.lm_head.weight = nn.Parameter(model.embedding.weight.detach().clone())
    return model
