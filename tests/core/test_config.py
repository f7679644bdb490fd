"""Settings: what is taken, what is refused and in which words, and that they come back."""

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from owi_core.config import ModelConfig, SamplingConfig, TrainConfig
from owi_core.errors import OwiError, SettingError
from tests.tiny import refused, tiny_config

GROUPS = (tiny_config(), TrainConfig(), SamplingConfig())


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: type(group).__name__)
def test_settings_come_back_from_their_dictionary(group: Any) -> None:
    assert type(group).from_dict(group.to_dict()) == group


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: type(group).__name__)
def test_settings_are_frozen(group: Any) -> None:
    name = dataclasses.fields(group)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(group, name, 1)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("vocab_size", 1, 100_000),
        ("n_layer", 1, 6),
        ("block_size", 1, 4096),
        ("dropout", 0.0, 0.9),
        ("embedding_scale", 1.0, math.sqrt(35)),
        ("init_std", 1e-4, 10.0),
    ],
)
def test_both_ends_of_a_range_are_taken_and_what_lies_beyond_is_refused(
    name: str, low: float, high: float
) -> None:
    for end in (low, high):
        assert getattr(tiny_config(**{name: end}), name) == end
    step = 1 if isinstance(low, int) else 1e-5
    for beyond in (low - step, high + step):
        with refused("setting_out_of_range", SettingError, name=name, value=beyond):
            tiny_config(**{name: beyond})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "0.1", None, True, [], {}])
def test_what_is_no_number_is_refused_as_one(value: Any) -> None:
    with refused("setting_out_of_range", name="dropout"):
        tiny_config(dropout=value)
    with refused("setting_out_of_range", name="lr"):
        TrainConfig(lr=value)
    with refused("setting_out_of_range", name="temperature"):
        SamplingConfig(temperature=value)


def test_whole_numbers_are_not_taken_with_a_point() -> None:
    with refused("setting_out_of_range", name="n_layer"):
        tiny_config(n_layer=2.0)


@pytest.mark.parametrize("name", ["norm", "positions", "mask", "activation", "tie_weights"])
@pytest.mark.parametrize("value", ["", "PRE", 3, None, [], {}])
def test_a_choice_that_is_none_is_refused(name: str, value: Any) -> None:
    with refused("setting_not_a_choice", name=name, value=value):
        tiny_config(**{name: value})


def test_width_must_be_divisible_by_the_heads() -> None:
    with refused("d_model_not_divisible", d_model=12, n_head=5):
        tiny_config(d_model=12)


def test_sinusoidal_positions_need_an_even_width() -> None:
    with refused("d_model_odd", d_model=35):
        tiny_config(positions="sinusoidal")


def test_a_setting_that_does_not_exist_is_named() -> None:
    with refused("setting_unknown", name="n_heads"):
        ModelConfig.from_dict({"vocab_size": 13, "n_heads": 5})


def test_head_width_is_width_by_heads() -> None:
    assert tiny_config().d_head == 7


@given(
    st.dictionaries(
        st.sampled_from([f.name for f in dataclasses.fields(ModelConfig)]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    )
)
def test_any_values_give_settings_or_a_refusal(values: dict[str, Any]) -> None:
    try:
        config = ModelConfig.from_dict({"vocab_size": 3} | values)
    except OwiError:
        return
    assert config.d_model % config.n_head == 0
