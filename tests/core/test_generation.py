"""Sampling by hand on literal distributions, and generation token by token."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from owi_core.config import SamplingConfig
from owi_core.errors import TextError
from owi_core.generation import (
    Stepper,
    draw,
    foresee,
    generate,
    next_distribution,
    shares,
    uniforms,
)
from owi_core.model import Transformer
from owi_core.probes.cache import cached_logits, recomputed_logits, relative_difference
from tests.tiny import (
    VOCABULARY,
    global_generator_untouched,
    refused,
    rng,
    some_ids,
    tiny_model,
)

P = [0.05, 0.4, 0.1, 0.25, 0.2]  # not in order, so that a rank is not an id


def shaped(p: list[float] = P, **settings: float) -> list[float]:
    logits = torch.tensor(p).log() + 3.0  # logits are free up to a constant
    return next_distribution(logits, SamplingConfig(**settings)).tolist()  # type: ignore[arg-type]


def test_all_tokens_stay_with_temperature_1_and_no_limits() -> None:
    assert shaped() == pytest.approx(P)


def test_temperature_0_takes_the_likeliest() -> None:
    assert shaped(temperature=0.0) == [0, 1, 0, 0, 0]


def test_temperature_raises_each_probability_to_its_inverse() -> None:
    squares = [p**2 for p in P]
    assert shaped(temperature=0.5) == pytest.approx([s / sum(squares) for s in squares])
    roots = [math.sqrt(p) for p in P]
    assert shaped(temperature=2.0) == pytest.approx([r / sum(roots) for r in roots])


@pytest.mark.parametrize("temperature", [1e-3, 1e-10, 1e-40, 1e-300])
def test_temperature_near_0_is_as_sure_as_0(temperature: float) -> None:
    assert shaped(temperature=temperature) == pytest.approx([0, 1, 0, 0, 0])


def test_top_k_keeps_the_k_likeliest_in_their_proportion() -> None:
    assert shaped(top_k=1) == pytest.approx([0, 1, 0, 0, 0])
    assert shaped(top_k=3) == pytest.approx([0, 0.4 / 0.85, 0, 0.25 / 0.85, 0.2 / 0.85])
    assert shaped(top_k=5) == shaped(top_k=99) == pytest.approx(P)


def test_top_p_keeps_the_smallest_set_with_that_probability() -> None:
    assert shaped(top_p=0.39) == pytest.approx([0, 1, 0, 0, 0])
    assert shaped(top_p=0.41) == pytest.approx([0, 0.4 / 0.65, 0, 0.25 / 0.65, 0])
    assert shaped(top_p=0.9) == pytest.approx([0, 0.4 / 0.95, 0.1 / 0.95, 0.25 / 0.95, 0.2 / 0.95])
    # Four equal tokens have a quarter each, and two of them are exactly enough.
    assert shaped([0.25] * 4, top_p=0.5) == [0.5, 0.5, 0, 0]


@pytest.mark.parametrize("n", [3, 7, 10, 20, 49, 100, 1000])
def test_top_p_k_nths_of_n_equal_tokens_keeps_exactly_k(n: int) -> None:
    for k in range(1, n, max(1, n // 50)):
        p = next_distribution(torch.zeros(n), SamplingConfig(top_p=k / n))
        assert int((p > 0).sum()) == k, k


def test_a_tie_at_the_last_place_keeps_the_smaller_ids() -> None:
    logits = torch.tensor([1.0, 2.0, 1.0, 1.0])
    for settings in (SamplingConfig(top_k=3), SamplingConfig(top_p=0.7)):
        assert (next_distribution(logits, settings) > 0).tolist() == [True, True, True, False]


def test_top_p_keeps_at_least_one_token() -> None:
    assert shaped(top_p=1e-6) == pytest.approx([0, 1, 0, 0, 0])


def test_top_p_is_measured_on_what_top_k_has_left() -> None:
    # The first of 0.4 and 0.25 has a share of 0.615: enough for 0.6 and not for 0.62.
    assert shaped(top_k=2, top_p=0.6) == pytest.approx([0, 1, 0, 0, 0])
    assert shaped(top_k=2, top_p=0.62) == pytest.approx([0, 0.4 / 0.65, 0, 0.25 / 0.65, 0])


def test_top_p_1_keeps_even_what_rounding_would_lose() -> None:
    p = next_distribution(torch.tensor([0.0, -30.0, -60.0]), SamplingConfig(top_p=1.0))
    assert (p > 0).all()


@given(
    st.lists(st.floats(-80, 80, width=32), min_size=1, max_size=12),
    st.floats(0, 10),
    st.integers(0, 15),
    st.floats(1e-6, 1),
)
def test_any_settings_give_a_distribution(
    logits: list[float], temperature: float, top_k: int, top_p: float
) -> None:
    config = SamplingConfig(temperature=temperature, top_k=top_k, top_p=top_p)
    p = next_distribution(torch.tensor(logits), config)
    assert p.shape == (len(logits),)
    assert p.min() >= 0
    assert float(p.sum()) == pytest.approx(1, abs=1e-5)
    if top_k:
        assert int((p > 0).sum()) <= top_k


def ids(model: Transformer, prompt: list[int], **settings: float) -> list[int]:
    config = SamplingConfig(**({"max_new_tokens": 9} | settings))  # type: ignore[arg-type]
    return [drawn.id for drawn in generate(model, prompt, config)]


PROMPT = some_ids(4).tolist()


def test_same_seed_gives_the_same_tokens_and_another_seed_others() -> None:
    model = tiny_model()
    assert ids(model, PROMPT, seed=3) == ids(model, PROMPT, seed=3)
    assert ids(model, PROMPT, seed=3) != ids(model, PROMPT, seed=4)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(99)
        assert ids(model, PROMPT, seed=3) == ids(tiny_model(), PROMPT, seed=3)


def test_generation_leaves_the_global_generator_as_it_was() -> None:
    with global_generator_untouched():
        ids(tiny_model(), PROMPT)


@torch.no_grad()
def test_each_token_is_drawn_after_all_before_it_with_its_probability() -> None:
    model, text = tiny_model(), list(PROMPT)
    config = SamplingConfig(temperature=0.0, max_new_tokens=5)
    for drawn in generate(model, PROMPT, config):
        assert drawn.id == int(model(torch.tensor([text])).logits[0, -1].argmax())
        assert (drawn.probability, drawn.dropped) == (1.0, 0)
        text.append(drawn.id)
    config = SamplingConfig(temperature=0.7, top_k=6, max_new_tokens=5)
    text = list(PROMPT)
    for drawn in generate(model, PROMPT, config):
        p = next_distribution(model(torch.tensor([text])).logits[0, -1], config)
        assert drawn.probability == pytest.approx(float(p[drawn.id]))
        text.append(drawn.id)


@torch.no_grad()
def test_prompt_longer_than_the_block_drops_its_oldest_tokens_and_counts_them() -> None:
    model = tiny_model()  # block 23
    prompt = some_ids(31).tolist()
    drawn = list(generate(model, prompt, SamplingConfig(temperature=0.0, max_new_tokens=3)))
    assert [d.dropped for d in drawn] == [8, 9, 10]
    assert drawn[0].id == int(model(torch.tensor([prompt[-23:]])).logits[0, -1].argmax())


def test_block_fills_up_while_generating() -> None:
    drawn = list(generate(tiny_model(), some_ids(21).tolist(), SamplingConfig(max_new_tokens=5)))
    assert [d.dropped for d in drawn] == [0, 0, 0, 1, 2]


def test_stop_id_ends_the_text_and_is_its_last_token() -> None:
    model = tiny_model()
    whole = ids(model, PROMPT)
    stop = whole[4]
    config = SamplingConfig(max_new_tokens=9)
    cut = [drawn.id for drawn in generate(model, PROMPT, config, stop_id=stop)]
    assert cut == whole[: whole.index(stop) + 1]


def test_dropout_is_off_while_generating() -> None:
    model = tiny_model(dropout=0.9).train()
    assert ids(model, PROMPT, temperature=0.0) == ids(tiny_model(), PROMPT, temperature=0.0)


def test_as_many_tokens_are_generated_as_were_asked_for() -> None:
    assert len(ids(tiny_model(), PROMPT, max_new_tokens=7)) == 7
    assert set(ids(tiny_model(), PROMPT)) <= set(range(VOCABULARY))


def test_empty_prompt_is_refused() -> None:
    with refused("text_empty", TextError):
        next(generate(tiny_model(), [], SamplingConfig()))


P_OF_4 = np.array([0.1, 0.4, 0.0, 0.5])


@pytest.mark.parametrize(
    ("u", "token"),
    [(0.0, 3), (0.499, 3), (0.5, 1), (0.899, 1), (0.9, 0), (0.9999999, 0)],
)
def test_the_token_drawn_is_the_one_whose_piece_contains_u(u: float, token: int) -> None:
    assert draw(P_OF_4, u) == token


@given(
    st.lists(st.floats(0, 1, width=32), min_size=1, max_size=12).filter(lambda p: sum(p) > 0.01),
    st.floats(0, 1, exclude_max=True),
)
def test_a_token_of_probability_0_is_never_drawn(p: list[float], u: float) -> None:
    weights = np.array(p) / sum(p)
    token = draw(weights, u)
    assert weights[token] > 0
    ids, ends = shares(weights)
    place = ids.tolist().index(token)
    assert (ends[place - 1] if place else 0.0) <= u < ends[place]


def test_pieces_fill_the_line_also_when_rounding_left_the_sum_below_1() -> None:
    ids, ends = shares(np.array([0.1, 0.3], np.float32))
    assert ids.tolist() == [1, 0]
    assert ends.tolist() == pytest.approx([0.75, 1.0])
    assert ends[-1] == 1.0
    assert draw(np.array([0.2, 0.2]), 0.99) == 1


def test_drawing_evenly_spread_numbers_gives_the_distribution() -> None:
    drawn = [draw(P_OF_4, (i + 0.5) / 1000) for i in range(1000)]
    assert np.bincount(drawn, minlength=4).tolist() == [100, 400, 0, 500]


def test_the_random_number_of_a_step_does_not_depend_on_what_was_drawn() -> None:
    model = tiny_model()
    config = SamplingConfig(max_new_tokens=6, seed=5)
    drawn = list(generate(model, PROMPT, config))
    forced = list(generate(model, PROMPT, config, forced={1: (drawn[1].id + 1) % VOCABULARY}))
    assert [d.u for d in drawn] == [d.u for d in forced] == uniforms(5, 6)
    assert len(set(uniforms(5, 6))) == 6
    assert uniforms(5, 3) == uniforms(5, 6)[:3]


def test_a_forced_token_is_part_of_the_text_that_later_tokens_continue() -> None:
    model = tiny_model()
    config = SamplingConfig(max_new_tokens=3, seed=2)
    own = ids(model, PROMPT, seed=2)
    other = (own[1] + 1) % VOCABULARY
    forced = list(generate(model, PROMPT, config, forced={1: other}))
    assert [d.id for d in forced[:2]] == [own[0], other]
    assert [d.forced for d in forced] == [False, True, False]
    forecast = foresee(model, [*PROMPT, own[0], other], config)
    assert forced[2].id == draw(forecast.after, forced[2].u)


@torch.no_grad()
def test_a_forecast_has_the_models_probabilities_and_its_last_row() -> None:
    model, config = tiny_model(), SamplingConfig(temperature=0.5, top_k=4, max_new_tokens=2)
    output = model(torch.tensor([PROMPT]), explicit=True)
    for forecast in (
        foresee(model, PROMPT, config),
        next(generate(model, PROMPT, config, explain=True)).forecast,
        next(generate(model, PROMPT, config, explain=True, cache=True)).forecast,
    ):
        assert forecast is not None
        logits = output.logits[0, -1]
        assert forecast.before == pytest.approx(logits.softmax(-1).numpy(), abs=1e-6)
        assert forecast.after == pytest.approx(next_distribution(logits, config).numpy(), abs=1e-6)
        assert forecast.rows == pytest.approx(output.pattern[:, 0, :, -1].numpy(), abs=1e-6)
        assert forecast.rows.sum(-1) == pytest.approx(1, abs=1e-5)


def test_a_forecast_past_the_block_covers_the_window_and_counts_dropped_tokens() -> None:
    text = some_ids(31).tolist()
    forecast = foresee(tiny_model(), text, SamplingConfig())
    assert forecast.dropped == 8
    assert forecast.rows.shape[-1] == 23


VARIANTS: dict[str, dict[str, object]] = {
    "pre, learned": {},
    "post, relu": {"norm": "post", "activation": "relu"},
    "sinusoidal, scaled": {"positions": "sinusoidal", "n_head": 2, "d_model": 16,
                           "embedding_scale": 4.0},
    "no positions, head bias": {"positions": "none", "head_bias": True, "tie_weights": False},
    "no W_O, no 1/√d": {"output_projection": False, "scale_scores": False},
}  # fmt: skip
EVERY_MODEL = pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)


@EVERY_MODEL
def test_cached_logits_are_the_recomputed_ones_within_the_block(changes: dict[str, Any]) -> None:
    model = tiny_model(**changes)
    generator = rng(3)  # one for all, or two norms would get the same numbers
    with torch.no_grad():  # biases are 0 and gains 1 at first, and would hide what was forgotten
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "norm" in name:
                parameter.add_(torch.randn(parameter.shape, generator=generator))
    text = some_ids(23).tolist()
    apart = relative_difference(cached_logits(model, text), recomputed_logits(model, text))
    assert float(apart.max()) <= 1e-5


@EVERY_MODEL
@pytest.mark.parametrize("temperature", [0.0, 0.7, 2.0])
def test_the_same_seed_writes_the_same_text_with_and_without_the_cache(
    changes: dict[str, Any], temperature: float
) -> None:
    model = tiny_model(**changes)
    config = SamplingConfig(temperature=temperature, max_new_tokens=28, seed=7)  # past the block
    texts = [[d.id for d in generate(model, PROMPT, config, cache=c)] for c in (True, False)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("cuts", [(5, 6), (2, 4, 6, 8, 10), (1, 3)], ids=str)
@pytest.mark.parametrize("explicit", [True, False])
def test_several_tokens_may_follow_the_cache_at_once(cuts: tuple[int, ...], explicit: bool) -> None:
    model, text = tiny_model(), some_ids(12).tolist()
    stepper = Stepper(model)
    with torch.no_grad():
        bounds = itertools.pairwise((0, *cuts, 12))
        parts = [stepper.read(text[start:end], explicit=explicit) for start, end in bounds]
        whole = model(torch.tensor([text]), explicit=True)
    logits = torch.cat([part.logits[0] for part in parts])
    assert torch.allclose(logits, whole.logits[0], atol=1e-5)
    assert stepper.length == 12


def test_a_cache_needs_the_models_own_causal_mask() -> None:
    text = some_ids(1, 4)
    bidirectional = tiny_model(mask="bidirectional")
    with pytest.raises(ValueError, match="causal"):
        bidirectional(text, cache=bidirectional.new_cache())
    model = tiny_model()
    with pytest.raises(ValueError, match="causal"):
        model(text, cache=model.new_cache(), mask=model.default_mask(4))


def test_a_cache_may_not_grow_past_the_block() -> None:
    stepper = Stepper(tiny_model())
    with torch.no_grad(), refused("text_over_block", TextError, tokens=24, over=1):
        stepper.read(some_ids(20).tolist())
        stepper.read(some_ids(4).tolist())


def test_a_model_that_looks_ahead_is_run_without_a_cache() -> None:
    model = tiny_model(mask="bidirectional")
    config = SamplingConfig(max_new_tokens=6)
    texts = [[d.id for d in generate(model, PROMPT, config, cache=c)] for c in (True, False)]
    assert texts[0] == texts[1]


def test_two_texts_at_once_have_caches_of_their_own() -> None:
    model, config = tiny_model(), SamplingConfig(max_new_tokens=8, seed=1)
    alone = [ids(model, p, max_new_tokens=8, seed=1) for p in (PROMPT, PROMPT[::-1])]
    pair = zip(
        generate(model, PROMPT, config, cache=True),
        generate(model, PROMPT[::-1], config, cache=True),
        strict=True,
    )
    assert [list(text) for text in zip(*((a.id, b.id) for a, b in pair), strict=True)] == alone
