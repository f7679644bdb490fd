"""Model files: back exactly as saved, one shared matrix, and nothing but refusals for the rest."""

import io
import json
import pickle
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from owi_core import checkpoints
from owi_core.checkpoints import (
    MAX_UPLOAD_BYTES,
    Bundle,
    from_bytes,
    load,
    save,
    shipped,
    shipped_names,
    to_bytes,
)
from owi_core.errors import ModelFileError
from tests.tiny import (
    character_bundle,
    global_generator_untouched,
    refused,
    sentences_of,
    some_ids,
    word_bundle,
)

BUNDLES: dict[str, Callable[[], Bundle]] = {
    "characters": character_bundle,
    "words": word_bundle,
    "untied": lambda: character_bundle(tie_weights=False, head_bias=True),
    "post, sinusoidal, no W_O": lambda: character_bundle(
        norm="post", positions="sinusoidal", d_model=20, output_projection=False
    ),
    "none, bidirectional": lambda: character_bundle(positions="none", mask="bidirectional"),
}
GOOD = to_bytes(character_bundle())
N_KNOWN = character_bundle().tokenizer.vocab_size


def header_of(data: bytes) -> dict[str, Any]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["owi"])  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", BUNDLES)
def test_a_model_comes_back_exactly_from_bytes_and_from_disk(name: str, tmp_path: Path) -> None:
    bundle = BUNDLES[name]()
    save(bundle, tmp_path / "new" / "folder")
    ids = some_ids(3, 11)
    for again in (from_bytes(to_bytes(bundle)), load(tmp_path / "new" / "folder")):
        assert again.model.config == bundle.model.config
        assert again.tokenizer.to_dict() == bundle.tokenizer.to_dict()
        assert again.note == bundle.note
        assert not again.model.training
        weights = bundle.model.state_dict()
        assert weights.keys() == again.model.state_dict().keys()
        assert all(torch.equal(weights[n], t) for n, t in again.model.state_dict().items())
        assert torch.equal(bundle.model(ids).logits, again.model(ids).logits)


def test_saving_leaves_one_file_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    path = save(character_bundle(), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]
    assert path.read_bytes() == GOOD


def test_tied_weights_are_one_object_after_loading_and_stored_once() -> None:
    again = from_bytes(GOOD).model
    assert again.lm_head.weight is again.embedding.weight
    assert "lm_head.weight" not in safetensors.torch.load(GOOD)
    with torch.no_grad():
        again.embedding.weight[0, 0] = 7.0
    assert again.lm_head.weight[0, 0] == 7.0


def test_untied_weights_are_two_objects_after_loading() -> None:
    again = from_bytes(to_bytes(character_bundle(tie_weights=False))).model
    assert again.lm_head.weight is not again.embedding.weight


def test_loading_leaves_the_global_generator_as_it_was() -> None:
    with global_generator_untouched():
        from_bytes(GOOD)


def rewritten(header: object = None, tensors: dict[str, Tensor] | None = None) -> bytes:
    """The good file with another header of ours, or other tensors."""
    values = header_of(GOOD) if header is None else header
    text = values if isinstance(values, str) else json.dumps(values)
    return safetensors.torch.save(tensors or safetensors.torch.load(GOOD), {"owi": text})


def test_a_second_copy_of_the_shared_matrix_is_taken_when_it_agrees() -> None:
    tensors = safetensors.torch.load(GOOD)
    tensors["lm_head.weight"] = tensors["embedding.weight"].clone()
    again = from_bytes(rewritten(tensors=tensors)).model
    assert again.lm_head.weight is again.embedding.weight


@pytest.mark.parametrize("spoil", ["value", "shape"])
def test_a_second_copy_that_conflicts_is_refused(spoil: str) -> None:
    tensors = safetensors.torch.load(GOOD)
    head = tensors["embedding.weight"].clone()
    if spoil == "value":
        head[3, 5] += 1e-3
    if spoil == "shape":
        head = head[:-1].clone()
    with refused("tied_weights_conflict", ModelFileError):
        from_bytes(rewritten(tensors=tensors | {"lm_head.weight": head}))


def test_a_tied_file_that_holds_only_the_head_is_complete() -> None:
    tensors = safetensors.torch.load(GOOD)
    tensors["lm_head.weight"] = tensors.pop("embedding.weight")
    assert to_bytes(from_bytes(rewritten(tensors=tensors))) == GOOD


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_model_of_ours_in_half_precision_has_its_own_sentence(dtype: torch.dtype) -> None:
    tensors = {name: t.to(dtype) for name, t in safetensors.torch.load(GOOD).items()}
    with refused("model_half", ModelFileError, dtype=str(dtype).removeprefix("torch.")):
        from_bytes(rewritten(tensors=tensors))


def test_a_compiled_model_of_ours_has_its_own_sentence() -> None:
    tensors = {f"_orig_mod.{name}": t for name, t in safetensors.torch.load(GOOD).items()}
    with refused("model_compiled", ModelFileError, prefix="_orig_mod."):
        from_bytes(rewritten(tensors=tensors))


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("transformer.wte.weight", "transformer.h.0.attn.c_attn.weight"), "model_foreign_gpt"),
        (("_orig_mod.h.3.mlp.c_fc.weight",), "model_foreign_gpt"),
        (("wpe.weight", "h.0.attn.bias", "h.0.attn.c_proj.weight"), "model_foreign_gpt"),
        (("bert.embeddings.weight",), "model_foreign"),
        (("mywte.weight",), "model_foreign"),
    ],
)
@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_a_model_of_another_program_has_its_own_sentence(
    names: tuple[str, ...], code: str, metadata: dict[str, str] | None
) -> None:
    data = safetensors.torch.save({name: torch.zeros(2, 3) for name in names}, metadata)
    with refused(code, ModelFileError, name=min(names)):
        from_bytes(data)


def test_a_pickle_is_named_and_never_opened() -> None:
    file = io.BytesIO()
    torch.save({"a": torch.zeros(3)}, file)
    for data in (file.getvalue(), pickle.dumps({"a": 1}, protocol=4)):
        with refused("model_pickled", ModelFileError):
            from_bytes(data)


@pytest.mark.parametrize(
    ("settings", "name", "found", "wanted"),
    [
        ({"vocab_size": 36}, "vocab_size", N_KNOWN, "36"),
        ({"block_size": 9}, "positions", None, "9×"),
        ({"n_head": 4}, "n_head", 4, "d_model"),
        ({"n_layer": 7}, "n_layer", 7, "1 … 6"),
        ({"mask": "sideways"}, "mask", "sideways", "causal, bidirectional"),
        ({"speed": 3}, "speed", 3, "–"),
    ],
)
def test_a_misfit_gives_both_numbers(
    settings: dict[str, Any], name: str, found: object, wanted: str
) -> None:
    header = header_of(GOOD)
    header["model"] |= settings
    with pytest.raises(ModelFileError) as caught:
        from_bytes(rewritten(header))
    values = caught.value.values
    assert values["name"] == name
    assert found is None or str(values["found"]) == str(found)
    assert wanted in values["wanted"]
    for text in sentences_of(caught.value):
        assert str(values["found"]) in text
        assert values["wanted"] in text


def test_a_tensor_of_another_shape_is_named_with_both_shapes() -> None:
    with refused("model_misfit", name="positions"):
        from_bytes(changed("positions", lambda t: t[:-1].clone()))
    with pytest.raises(ModelFileError) as caught:
        from_bytes(changed("positions", lambda t: t[:-1].clone()))
    rows, width = safetensors.torch.load(GOOD)["positions"].shape
    found = caught.value.values
    assert (found["found"], found["wanted"]) == (f"{rows - 1}×{width}", f"{rows}×{width}")


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999", "9" * 5_000])
def test_what_is_no_number_in_a_models_json_is_named_with_its_field(number: str) -> None:
    text = json.dumps(header_of(GOOD) | {"note": {"params": {"lr": [0, "here"]}}})
    with pytest.raises(ModelFileError) as caught:
        from_bytes(rewritten(text.replace('"here"', number)))
    assert caught.value.code == "model_unreadable"
    assert caught.value.values["reason"].startswith(f"note.params.lr[1] = {number[:30]}")


def test_a_repeated_key_in_a_models_json_is_named() -> None:
    text = json.dumps(header_of(GOOD)).replace('"n_head":', '"n_layer": 2, "n_head":')
    with refused("model_unreadable", reason="n_layer = 2 ×"):
        from_bytes(rewritten(text))


def test_a_note_that_no_browser_can_show_is_refused() -> None:
    with refused("model_unreadable", reason="note.experiment = ?"):
        from_bytes(rewritten(header_of(GOOD) | {"note": {"experiment": "\ud83d"}}))


CLASS_NAME = re.compile(r"[A-Z][a-z]+Error|header")


@given(st.integers(8, len(GOOD) - 1))
def test_no_sentence_about_a_broken_file_names_a_python_class(length: int) -> None:
    with pytest.raises(ModelFileError) as caught:
        from_bytes(GOOD[:length])
    assert not CLASS_NAME.search(str(caught.value))
    assert not any(CLASS_NAME.search(text) for text in sentences_of(caught.value))


def changed(name: str, change: Callable[[Tensor], Tensor]) -> bytes:
    tensors = safetensors.torch.load(GOOD)
    return rewritten(tensors=tensors | {name: change(tensors[name])})


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.double(),
        lambda t: t.to(torch.int64),
        lambda t: t.T.contiguous(),
        lambda t: t[:-1].clone(),
        lambda t: t[None].clone(),
        lambda t: torch.zeros(0, 10**6),
        lambda t: t * float("nan"),
        lambda t: torch.where(t == t.max(), float("inf"), t),
    ],
)
def test_a_tensor_of_another_kind_shape_or_without_a_value_is_refused(
    change: Callable[[Tensor], Tensor],
) -> None:
    name = "blocks.1.mlp_in.weight"
    with refused("model_misfit", ModelFileError, name=name):
        from_bytes(changed(name, change))


def test_a_tensor_too_many_or_too_few_is_refused() -> None:
    tensors = safetensors.torch.load(GOOD)
    with refused("model_misfit", name="blocks.9.extra"):
        from_bytes(rewritten(tensors=tensors | {"blocks.9.extra": torch.zeros(1)}))
    del tensors["norm_final.bias"]
    with refused("model_misfit", name="norm_final.bias"):
        from_bytes(rewritten(tensors=tensors))


@pytest.mark.parametrize(
    ("part", "value", "code"),
    [
        ("model", header_of(GOOD)["model"] | {"n_head": 4}, "model_misfit"),
        ("version", 2, "model_version"),
        ("version", None, "model_version"),
        ("version", "9" * 10_000, "model_version"),
        ("model", None, "model_unreadable"),
        ("model", [], "model_unreadable"),
        ("model", {}, "model_unreadable"),
        ("tokenizer", 3, "model_unreadable"),
        ("tokenizer", {}, "vocabulary_unreadable"),
        ("tokenizer", {"kind": "characters", "version": 1, "characters": ["a"]}, "model_misfit"),
        ("note", "made by hand", "model_unreadable"),
        ("note", {"loss": float("nan")}, "model_unreadable"),
        ("note", {"loss": float("inf")}, "model_unreadable"),
        ("note", {"params": ["swap"]}, "model_unreadable"),
        ("note", {"private": "no"}, "model_unreadable"),
        ("version", True, "model_unreadable"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(part: str, value: object, code: str) -> None:
    with refused(code, ModelFileError):
        from_bytes(rewritten(header_of(GOOD) | {part: value}))


def test_a_header_that_does_not_fit_is_named_with_its_value() -> None:
    with refused("model_unreadable", reason="note.recipe = 3"):
        from_bytes(rewritten(header_of(GOOD) | {"note": {"recipe": 3}}))
    with refused("model_unreadable", reason="tokenizer = 3"):
        from_bytes(rewritten(header_of(GOOD) | {"tokenizer": 3}))


def test_a_note_keeps_what_this_version_does_not_know() -> None:
    note = {"recipe": "a1", "later": [1, {"x": None}]}
    assert from_bytes(rewritten(header_of(GOOD) | {"note": note})).note == note


def refused_with_peak(data: bytes) -> tuple[ModelFileError, int]:
    """Return how a file is refused, and the most bytes that reading it took."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) as caught:
            from_bytes(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return caught.value, peak


@pytest.mark.parametrize(
    "settings",
    [
        {"d_model": 4095, "n_head": 5},
        {"d_mlp": 16_384, "n_layer": 6},
        {"d_model": 10**12},
        {"d_model": -5},
        {"n_layer": 10**9},
        {"block_size": 4096},
        {"vocab_size": 100_000},
        {"n_head": 4},
        {"dropout": float("nan")},
        {"d_model": "35"},
        {"x" * 100_000: 1},
        {"mask": ["causal"]},
        {"tie_weights": "no"},
    ],
)
def test_settings_that_the_numbers_do_not_fit_are_refused_without_taking_memory(
    settings: dict[str, Any],
) -> None:
    header = header_of(GOOD)
    header["model"] |= settings
    data = rewritten(header)
    error, peak = refused_with_peak(data)
    assert peak < 10_000_000
    assert all(len(sentence) < 300 for sentence in sentences_of(error))


def test_a_giant_is_never_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    real = checkpoints.Transformer

    def watched(config: Any, rng: torch.Generator) -> Any:
        model = real(config, rng)
        built.append({p.device.type for p in model.parameters()})
        return model

    monkeypatch.setattr(checkpoints, "Transformer", watched)
    header = header_of(GOOD)
    header["model"] |= {"d_model": 4095, "d_mlp": 16_384, "n_layer": 6}
    with refused("model_misfit"):
        from_bytes(rewritten(header))
    assert built == []


def raw(header: str | bytes, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else header.encode()
    return len(text).to_bytes(8, "little") + text + body


def hostile(shape: str, offsets: str = "[0, 4]", dtype: str = "F32", more: str = "") -> bytes:
    metadata = json.dumps({"owi": json.dumps(header_of(GOOD))})
    tensor = f'{{"dtype": "{dtype}", "shape": {shape}, "data_offsets": {offsets}}}'
    return raw(f'{{"__metadata__": {metadata}, "embedding.weight": {tensor}{more}}}', b"\0" * 4)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 7,
        b"\xff" * 8,
        b"\xff" * 64,
        b"PK\x03\x04" + b"\0" * 100,
        b"\x80\x04\x95" + b"\0" * 100,
        raw("{}"),
        raw("[]"),
        raw("null"),
        raw('{"__metadata__": {"owi": 3}}'),
        raw('{"__metadata__": {"owi": "[]"}}'),
        raw('{"__metadata__": {"owi": "' + "[" * 50_000 + '"}}'),
        raw("[" * 100_000),
        raw(b"\xff\xfe\xfd"),
        raw("[" + "[]," * 1_000_000 + "[]]"),
        (10**18).to_bytes(8, "little") + b"{}",
        hostile("[1000000000000]"),
        hostile("[99999999999999999999]"),
        hostile("[0, 9223372036854775807]", "[0, 0]"),
        hostile("[-1]"),
        hostile("[1.5]"),
        hostile('"all"'),
        hostile("[1]", "[0, 1000000]"),
        hostile("[1]", "[4, 0]"),
        hostile("[1]", dtype="F4"),
        hostile("[4]", dtype="F8_E4M3"),
        hostile("[1]", dtype="NAN"),
        hostile("[1]", more=', "embedding.weight": 3'),
        hostile("[" + "1," * 5000 + "1]"),
    ],
)
def test_a_hostile_file_is_refused_without_taking_memory(data: bytes) -> None:
    error, peak = refused_with_peak(data)
    assert peak < len(data) + 20_000_000
    assert all(sentences_of(error))


def read_or_refuse(data: bytes) -> Bundle | None:
    """Return the bundle, or None after a refusal whose sentences can be written."""
    try:
        return from_bytes(data)
    except ModelFileError as error:
        assert all(sentences_of(error))  # noqa: PT017
        return None


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(data: bytes) -> None:
    assert read_or_refuse(data) is None


@given(st.integers(0, len(GOOD) - 1))
def test_a_truncated_file_is_refused(length: int) -> None:
    assert read_or_refuse(GOOD[:length]) is None


@given(st.binary(min_size=1, max_size=50))
def test_a_file_with_something_behind_it_is_refused(tail: bytes) -> None:
    assert read_or_refuse(GOOD + tail) is None


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(GOOD) - 1) | st.integers(0, 3000),
            st.integers(0, 7),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_flipped_bits_give_a_model_that_runs_or_a_refusal(flips: list[tuple[int, int]]) -> None:
    data = bytearray(GOOD)
    for place, bit in flips:
        data[place] ^= 1 << bit
    bundle = read_or_refuse(bytes(data))
    if bundle is not None:
        assert to_bytes(bundle)
        assert bundle.model(some_ids(1, 5)).logits.shape == (1, 5, bundle.tokenizer.vocab_size)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(part=st.sampled_from(["version", "model", "tokenizer", "note"]), value=JSON)
def test_any_part_of_the_header_gives_a_model_or_a_refusal(part: str, value: object) -> None:
    bundle = read_or_refuse(rewritten(header_of(GOOD) | {part: value}))
    assert bundle is None or to_bytes(bundle)


@given(part=st.sampled_from(["model", "tokenizer"]), name=st.integers(0, 20), value=JSON)
def test_any_setting_of_the_header_gives_a_model_or_a_refusal(
    part: str, name: int, value: object
) -> None:
    header = header_of(GOOD)
    names = sorted(header[part])
    header[part][names[name % len(names)]] = value
    bundle = read_or_refuse(rewritten(header))
    assert bundle is None or to_bytes(bundle)


def test_a_file_past_the_limit_is_refused_before_it_is_read() -> None:
    data = bytes(MAX_UPLOAD_BYTES + 1)
    with refused("model_too_large", ModelFileError, bytes=len(data), limit=MAX_UPLOAD_BYTES):
        from_bytes(data)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with refused("model_not_found", ModelFileError, name="nothing"):
        load(tmp_path / "nothing")
    (tmp_path / "model.safetensors").mkdir()
    with refused("model_not_found", ModelFileError, name=tmp_path.name):
        load(tmp_path)


@pytest.mark.parametrize("name", ["", "..", "../swap", "nothing", "/etc", "swap/../swap", "\0"])
def test_a_model_that_did_not_come_with_the_app_is_refused(name: str) -> None:
    with refused("model_unknown", ModelFileError, name=name):
        shipped(name)


@pytest.mark.parametrize("name", shipped_names())
def test_every_shipped_model_loads_and_names_its_command(name: str) -> None:
    bundle = shipped(name)
    assert bundle.note["command"].startswith("python -m owi_core run ")
    assert len(to_bytes(bundle)) < MAX_UPLOAD_BYTES


def test_a_model_is_read_without_what_only_the_meta_device_needs() -> None:
    """Some 800 modules, 70 MB and two seconds at a server's first page."""
    code = "import sys; from owi_core.checkpoints import shipped; shipped('swap')"
    done = subprocess.run(
        [sys.executable, "-c", code + "; sys.exit('sympy' in sys.modules)"], check=False
    )
    assert done.returncode == 0
