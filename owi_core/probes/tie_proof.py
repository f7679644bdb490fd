"""The proof that a shared matrix is shared, and what keeps or breaks it, tried on a real model.

Each case acts on its own copy; what is found is measured, and then compared with what is expected.
"""

import copy
import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
import torch
from torch import nn

from owi_core.checkpoints import Bundle, from_bytes, to_bytes
from owi_core.model import Transformer
from owi_core.probes.storage import TiedStorage, tied_storage

KEPT = TiedStorage(same_object=True, same_storage=True, same_pointer=True)
MEMORY_ONLY = TiedStorage(same_object=False, same_storage=True, same_pointer=True)
PARTED = TiedStorage(same_object=False, same_storage=False, same_pointer=False)


@dataclass(frozen=True)
class TieCase:
    """What was done, what embedding and head share afterwards, and whether that was expected.

    refused: name of the exception raised, or empty.
    """

    code: str
    storage: TiedStorage
    refused: str
    expected: bool


def tie_cases(bundle: Bundle) -> tuple[TieCase, ...]:
    """Try every case on a model, which is not changed; a model of two matrices should keep both."""
    tied = bundle.model.config.tie_weights
    return tuple(_tried(bundle, code, tied=tied) for code in _CASES)


def _tried(bundle: Bundle, code: str, *, tied: bool) -> TieCase:
    act, storage, refusal = _CASES[code]
    if not tied:  # nothing is shared, so no action can part it and no format needs to refuse it
        storage, refusal = PARTED, ""
    model, refused = bundle.model, ""
    try:
        model = act(bundle)
    except RuntimeError as error:
        refused = type(error).__name__
    found = tied_storage(model)
    return TieCase(code, found, refused, (found, refused) == (storage, refusal))


def _as_it_is(bundle: Bundle) -> Transformer:
    return bundle.model


def _deepcopy(bundle: Bundle) -> Transformer:
    return copy.deepcopy(bundle.model)


def _to_dtype(bundle: Bundle) -> Transformer:
    return copy.deepcopy(bundle.model).to(torch.bfloat16)


def _load_state_dict(bundle: Bundle) -> Transformer:
    model = _fresh(bundle)
    model.load_state_dict(bundle.model.state_dict())
    return model


def _torch_save(bundle: Bundle) -> Transformer:
    """Write and read our own bytes in memory; weights_only reads tensors and runs no code."""
    memory = io.BytesIO()
    torch.save(bundle.model.state_dict(), memory)
    memory.seek(0)
    model = _fresh(bundle)
    model.load_state_dict(torch.load(memory, weights_only=True))
    return model


def _own_file(bundle: Bundle) -> Transformer:
    return from_bytes(to_bytes(bundle)).model


def _load_assign(bundle: Bundle) -> Transformer:
    model = _fresh(bundle)
    # The dictionary has two tensors over one storage, and assign makes a Parameter of each.
    model.load_state_dict(bundle.model.state_dict(), assign=True)
    return model


def _new_parameter(bundle: Bundle) -> Transformer:
    model = copy.deepcopy(bundle.model)
    model.embedding.weight = nn.Parameter(model.embedding.weight.detach().clone())
    return model


def _to_empty(bundle: Bundle) -> Transformer:
    """Memory for a model of shapes only: each place gets a Parameter of its own."""
    shapes = copy.deepcopy(bundle.model)
    made: dict[nn.Parameter, nn.Parameter] = {}  # one new Parameter for each old one: still tied
    # Building under torch.device("meta") gives the same and loads 70 MB of modules instead of 34.
    for module in shapes.modules():
        for name, parameter in module.named_parameters(recurse=False):
            if parameter not in made:
                made[parameter] = nn.Parameter(torch.empty_like(parameter, device="meta"))
            setattr(module, name, made[parameter])
    return shapes.to_empty(device="cpu")


def _to_empty_here(bundle: Bundle) -> Transformer:
    """The same call on a model with memory: the Parameter stays, its memory is new."""
    return copy.deepcopy(bundle.model).to_empty(device="cpu")


def _save_file(bundle: Bundle) -> Transformer:
    # Refuses tensors that share memory; save_model below knows how to handle them.
    safetensors.torch.save(bundle.model.state_dict())
    return bundle.model


def _save_model(bundle: Bundle) -> Transformer:
    model = _fresh(bundle)
    with tempfile.TemporaryDirectory(prefix="owi-tie-") as folder:
        file = str(Path(folder) / "model.safetensors")
        safetensors.torch.save_model(bundle.model, file)
        safetensors.torch.load_model(model, file)
    return model


def _fresh(bundle: Bundle) -> Transformer:
    return Transformer(bundle.model.config, torch.Generator().manual_seed(0))


# The action, what should be shared afterwards, and the exception expected.
_CASES: dict[str, tuple[Callable[[Bundle], Transformer], TiedStorage, str]] = {
    "as_it_is": (_as_it_is, KEPT, ""),
    "deepcopy": (_deepcopy, KEPT, ""),
    "to_dtype": (_to_dtype, KEPT, ""),
    "load_state_dict": (_load_state_dict, KEPT, ""),
    "torch_save": (_torch_save, KEPT, ""),
    "own_file": (_own_file, KEPT, ""),
    "save_model": (_save_model, KEPT, ""),
    "to_empty_here": (_to_empty_here, KEPT, ""),
    "load_assign": (_load_assign, MEMORY_ONLY, ""),
    "new_parameter": (_new_parameter, PARTED, ""),
    "to_empty": (_to_empty, PARTED, ""),
    "save_file": (_save_file, KEPT, "RuntimeError"),
}
