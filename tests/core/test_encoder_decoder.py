"""The encoder–decoder against torch.nn.Transformer, its masks, and its two caches."""

import pytest
import torch
from torch import Tensor, nn

from owi_core.config import ModelConfig, PairConfig
from owi_core.encoder_decoder import CrossBlock, EncoderDecoder
from owi_core.errors import SettingError
from owi_core.model import Block

# Different primes, so that a swapped axis cannot pass.
B, S, T, V_S, V_T, D_MODEL, D_MLP, H = 2, 7, 5, 23, 29, 12, 17, 3


def small(norm: str = "pre", **more: int) -> EncoderDecoder:
    shared = {
        "d_model": D_MODEL, "n_head": H, "d_mlp": D_MLP, "block_size": 11, "norm": norm,
        "activation": "relu", "init_std": 0.3,
    }  # fmt: skip
    encoder = ModelConfig(V_S, n_layer=2, mask="bidirectional", **shared)  # type: ignore[arg-type]
    decoder = ModelConfig(V_T, n_layer=3, mask="causal", **shared)  # type: ignore[arg-type]
    model = EncoderDecoder(PairConfig(encoder, decoder), torch.Generator().manual_seed(5))
    # Biases and norms begin at 0 and 1, where a swapped one would not be seen.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=rng(7)))
    return model.eval()


def rng(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def texts() -> tuple[Tensor, Tensor]:
    source = torch.randint(3, V_S, (B, S), generator=rng(1))
    source[1, 4:] = 0  # padding
    return source, torch.randint(3, V_T, (B, T), generator=rng(2))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_logits_are_those_of_torch_nn_transformer(norm: str) -> None:
    model = small(norm)
    source, ids = texts()
    theirs = torch_transformer(model, norm)
    hidden = source == 0
    out = theirs(
        embedded(model.encoder, source),
        embedded(model.decoder, ids),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(T),
        src_key_padding_mask=torch.zeros(B, S).masked_fill(hidden, -torch.inf),
        memory_key_padding_mask=torch.zeros(B, S).masked_fill(hidden, -torch.inf),
    )
    wanted = out @ model.decoder.embedding.weight.T
    torch.testing.assert_close(model(ids, source=source).logits, wanted, atol=1e-5, rtol=0)


def test_explicit_path_gives_the_same_logits_and_rows_that_sum_to_one() -> None:
    model = small()
    source, ids = texts()
    out = model(ids, source=source, explicit=True)
    torch.testing.assert_close(out.logits, model(ids, source=source).logits, atol=1e-5, rtol=0)
    assert out.pattern.shape == (3, B, H, T, T)
    assert out.encoder_pattern.shape == (2, B, H, S, S)
    assert out.cross_pattern.shape == (3, B, H, T, S)
    for pattern in (out.pattern, out.encoder_pattern, out.cross_pattern):
        torch.testing.assert_close(pattern.sum(-1), torch.ones(pattern.shape[:-1]))


def test_padding_gets_exactly_zero_weight_in_encoder_and_cross_attention() -> None:
    source, ids = texts()
    out = small()(ids, source=source, explicit=True)
    assert (out.encoder_pattern[:, 1, :, :, 4:] == 0).all()
    assert (out.cross_pattern[:, 1, :, :, 4:] == 0).all()
    assert (out.cross_pattern[:, 0] > 0).all()


def test_a_source_word_that_is_cut_out_changes_nothing_by_being_another_word() -> None:
    model = small()
    source, ids = texts()
    visible = source != 0
    visible[:, 2] = False
    other = source.clone()
    other[:, 2] = 9
    torch.testing.assert_close(
        model(ids, source=source, visible=visible).logits,
        model(ids, source=other, visible=visible).logits,
        atol=0,
        rtol=0,
    )
    # Where it is not cut out, it does.
    assert not torch.equal(model(ids, source=source).logits, model(ids, source=other).logits)


def test_a_later_target_word_changes_no_earlier_logits() -> None:
    model = small()
    source, ids = texts()
    later = ids.clone()
    later[:, 3] = 7
    before, after = (model(x, source=source).logits for x in (ids, later))
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.equal(before[:, 3], after[:, 3])


def test_the_cache_gives_the_same_logits_and_only_the_own_keys_grow() -> None:
    model = small()
    source, ids = texts()
    memory, visible, _ = model.encode(source)
    keys = model.decoder.source_keys(memory, visible)
    cache = model.decoder.new_cache(B)
    steps = []
    for t in range(T):
        steps.append(model.decoder.write(ids[:, t : t + 1], keys, cache=cache).logits)
        assert [kept.length for kept in cache] == [t + 1] * 3
        assert all(each.keys.shape == (B, H, S, D_MODEL // H) for each in keys)
    torch.testing.assert_close(
        torch.cat(steps, 1), model(ids, source=source).logits, atol=1e-5, rtol=0
    )


def test_the_target_embedding_is_the_head_and_counts_once() -> None:
    model = small()
    assert model.decoder.lm_head.weight is model.decoder.embedding.weight
    named = {name for name, _ in model.named_parameters()}
    assert "decoder.lm_head.weight" not in named
    assert "encoder.lm_head.weight" not in named
    assert model.n_params == sum(p.numel() for p in model.parameters())


def test_config_refuses_masks_and_widths_that_do_not_fit() -> None:
    causal, both = ModelConfig(9), ModelConfig(9, mask="bidirectional")
    with pytest.raises(SettingError):
        PairConfig(causal, causal)
    with pytest.raises(SettingError):
        PairConfig(both, both)
    with pytest.raises(SettingError):
        PairConfig(ModelConfig(9, mask="bidirectional", d_model=64), causal)
    config = PairConfig(both, causal)
    assert PairConfig.from_dict(config.to_dict()) == config


def embedded(model: nn.Module, ids: Tensor) -> Tensor:
    rows = model.get_parameter("embedding.weight")[ids]
    return rows + model.get_buffer("positions")[: ids.shape[1]]


def torch_transformer(model: EncoderDecoder, norm: str) -> nn.Transformer:
    """Return PyTorch's encoder–decoder with the weights of ours."""
    look = {"batch_first": True, "norm_first": norm == "pre"}
    layer = nn.TransformerEncoderLayer(D_MODEL, H, D_MLP, 0.0, **look)
    # Nested tensors would need an even number of heads, and PyTorch warns of an odd one.
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(D_MODEL), enable_nested_tensor=False)
    theirs = nn.Transformer(D_MODEL, H, 2, 3, D_MLP, 0.0, custom_encoder=encoder, **look).eval()
    with torch.no_grad():
        for ours, layer in zip(model.encoder.blocks, theirs.encoder.layers, strict=True):
            copy_shared(ours, layer, layer.norm2)
        for ours, layer in zip(model.decoder.blocks, theirs.decoder.layers, strict=True):
            assert isinstance(ours, CrossBlock)
            copy_shared(ours, layer, layer.norm3)
            copy_attention(ours.cross, layer.multihead_attn)
            layer.norm2.load_state_dict(ours.norm_cross.state_dict())
        theirs.encoder.norm.load_state_dict(model.encoder.norm_final.state_dict())
        theirs.decoder.norm.load_state_dict(model.decoder.norm_final.state_dict())
    return theirs


def copy_shared(ours: Block, layer: nn.Module, norm_mlp: nn.LayerNorm) -> None:
    copy_attention(ours.attention, layer.self_attn)
    layer.norm1.load_state_dict(ours.norm_attention.state_dict())
    norm_mlp.load_state_dict(ours.norm_mlp.state_dict())
    layer.linear1.load_state_dict(ours.mlp_in.state_dict())
    layer.linear2.load_state_dict(ours.mlp_out.state_dict())


def copy_attention(ours: nn.Module, theirs: nn.MultiheadAttention) -> None:
    three = (ours.w_q, ours.w_k, ours.w_v)
    theirs.in_proj_weight.copy_(torch.cat([w.weight for w in three]))
    theirs.in_proj_bias.copy_(torch.cat([w.bias for w in three]))
    theirs.out_proj.load_state_dict(ours.w_o.state_dict())
