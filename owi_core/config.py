"""Frozen, validated settings of a model, of its training and of its sampling."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self, get_args

from owi_core.errors import SettingError

Norm = Literal["pre", "post"]
Positions = Literal["sinusoidal", "learned", "none"]
MaskName = Literal["causal", "bidirectional"]
Activation = Literal["gelu", "relu"]
Optimizer = Literal["adamw", "adam", "muon"]
Schedule = Literal["constant", "linear", "cosine", "noam"]
LossOn = Literal["all", "answer"]
PeerKind = Literal["rnn", "lstm", "gru", "cnn"]


class _Settings:
    """Conversion of frozen settings to a dictionary and back."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the settings in `values`; raise SettingError for an unknown name."""
        # Checked here, because **values would raise a TypeError that names no setting to the user.
        known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        unknown = sorted(set(values) - known)
        if unknown:
            raise SettingError("setting_unknown", name=unknown[0], known=", ".join(sorted(known)))
        return cls(**values)


@dataclass(frozen=True)
class ModelConfig(_Settings):
    """The shape of a Transformer; scales are standard deviations of the initial weights.

    The embedding enters the model multiplied by `embedding_scale` (1 … √d_model; Vaswani et al.
    2017, section 3.4, use √d_model), while a tied head uses it as it is.
    """

    vocab_size: int
    n_layer: int = 2
    n_head: int = 4
    d_model: int = 128
    d_mlp: int = 256
    block_size: int = 64
    dropout: float = 0.0
    norm: Norm = "pre"
    positions: Positions = "sinusoidal"
    embedding_scale: float = 1.0
    embedding_std: float = 0.1
    init_std: float = 0.05
    mask: MaskName = "causal"
    tie_weights: bool = True
    activation: Activation = "gelu"
    output_projection: bool = True
    scale_scores: bool = True
    head_bias: bool = False

    def __post_init__(self) -> None:
        # Upper bounds keep a model that a file or a link describes from filling the memory.
        _within("vocab_size", self.vocab_size, 1, 100_000)
        _within("n_layer", self.n_layer, 1, 6)
        _within("n_head", self.n_head, 1, 64)
        _within("d_model", self.d_model, 1, 4096)
        _within("d_mlp", self.d_mlp, 1, 16_384)
        _within("block_size", self.block_size, 1, 4096)
        _within("dropout", self.dropout, 0.0, 0.9)
        _within("embedding_scale", self.embedding_scale, 1.0, max(1.0, self.d_model**0.5))
        _within("embedding_std", self.embedding_std, 1e-4, 10.0)
        _within("init_std", self.init_std, 1e-4, 10.0)
        for name, kind in _MODEL_CHOICES.items():
            _one_of(name, getattr(self, name), get_args(kind))
        for name in ("tie_weights", "output_projection", "scale_scores", "head_bias"):
            _one_of(name, getattr(self, name), (True, False))
        if self.d_model % self.n_head:
            raise SettingError("d_model_not_divisible", d_model=self.d_model, n_head=self.n_head)
        # The table alternates sine and cosine: it needs as many of one as of the other.
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise SettingError("d_model_odd", d_model=self.d_model)

    @property
    def d_head(self) -> int:
        """Dimensions of one head (the article's d_k)."""
        return self.d_model // self.n_head

    @property
    def n_params(self) -> int:
        """How many trained numbers a model of this shape has, without building it."""
        d, wide, V = self.d_model, self.d_mlp, self.vocab_size
        # Each Linear has a weight and a bias; True counts as 1.
        attention = (3 + self.output_projection) * (d * d + d)
        mlp = d * wide + wide + wide * d + d
        block = attention + mlp + 2 * (2 * d)  # two norms, a scale and a shift each
        positions = self.block_size * d if self.positions == "learned" else 0
        head = (0 if self.tie_weights else V * d) + (V if self.head_bias else 0)
        return V * d + positions + self.n_layer * block + 2 * d + head


@dataclass(frozen=True)
class PairConfig(_Settings):
    """The shapes of an encoder and of the decoder that reads what it wrote."""

    encoder: ModelConfig
    decoder: ModelConfig

    def __post_init__(self) -> None:
        _one_of("encoder.mask", self.encoder.mask, ("bidirectional",))
        _one_of("decoder.mask", self.decoder.mask, ("causal",))
        # The decoder's cross-attention has one matrix for both: keys are as wide as queries.
        _one_of("decoder.d_model", self.decoder.d_model, (self.encoder.d_model,))

    @property
    def d_model(self) -> int:
        """Width of both residual streams."""
        return self.decoder.d_model

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the settings in `values`; raise SettingError for an unknown name."""
        return cls(
            ModelConfig.from_dict(values["encoder"]), ModelConfig.from_dict(values["decoder"])
        )


@dataclass(frozen=True)
class PeerConfig(_Settings):
    """The shape of a model that connects its tokens without attention.

    kernel: tokens under one convolution, the newest counted.  linear: a convolution without norm
    and activation.  Both are for `cnn` alone.
    """

    kind: PeerKind
    vocab_size: int
    n_layer: int = 1
    d_model: int = 64
    kernel: int = 5
    linear: bool = False

    def __post_init__(self) -> None:
        _within("vocab_size", self.vocab_size, 1, 100_000)
        _within("n_layer", self.n_layer, 1, 12)
        _within("d_model", self.d_model, 1, 4096)
        _within("kernel", self.kernel, 1, 64)
        _one_of("kind", self.kind, get_args(PeerKind))
        _one_of("linear", self.linear, (True, False))


@dataclass(frozen=True)
class TrainConfig(_Settings):
    """How a model is trained; `clip_norm` 0 leaves the gradient as it is.

    each_once: each pass over the data takes every sample once, in a new order, and its last batch
    may be smaller.  Otherwise each step draws its batch from all samples, with replacement.
    """

    steps: int = 200
    batch_size: int = 64
    lr: float = 3e-3
    optimizer: Optimizer = "adamw"
    schedule: Schedule = "linear"
    warmup_steps: int = 20
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    loss_on: LossOn = "all"
    eval_every: int = 50
    snapshot_every: int = 10
    seed: int = 0
    each_once: bool = False

    def __post_init__(self) -> None:
        _within("steps", self.steps, 0, 100_000)
        _within("batch_size", self.batch_size, 1, 4096)
        _within("lr", self.lr, 1e-7, 100.0)
        _within("warmup_steps", self.warmup_steps, 0, 100_000)
        _within("weight_decay", self.weight_decay, 0.0, 10.0)
        _within("clip_norm", self.clip_norm, 0.0, 1e6)
        _within("eval_every", self.eval_every, 1, 100_000)
        _within("snapshot_every", self.snapshot_every, 1, 100_000)
        _within("seed", self.seed, 0, 2**31 - 1)
        _one_of("each_once", self.each_once, (True, False))
        for name, kind in _TRAIN_CHOICES.items():
            _one_of(name, getattr(self, name), get_args(kind))


@dataclass(frozen=True)
class SamplingConfig(_Settings):
    """How the next token is drawn; temperature 0 is greedy, top_k 0 and top_p 1 keep all.

    Source of top_p: Holtzman et al. 2020, The Curious Case of Neural Text Degeneration.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    max_new_tokens: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        _within("temperature", self.temperature, 0.0, 10.0)
        _within("top_k", self.top_k, 0, 100_000)
        _within("top_p", self.top_p, 1e-6, 1.0)
        _within("max_new_tokens", self.max_new_tokens, 1, 4096)
        _within("seed", self.seed, 0, 2**31 - 1)


_MODEL_CHOICES = {"norm": Norm, "positions": Positions, "mask": MaskName, "activation": Activation}
_TRAIN_CHOICES = {"optimizer": Optimizer, "schedule": Schedule, "loss_on": LossOn}


def _within(name: str, value: object, low: float, high: float) -> None:
    whole = isinstance(low, int)  # a bound written without a point asks for an integer
    number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    # Every comparison with NaN is false, so "not low <= value" refuses it and "value < low" would
    # let it pass.  bool is a subclass of int, and True must not pass as 1.
    if not number or not low <= value <= high:  # type: ignore[operator]
        raise SettingError("setting_out_of_range", name=name, value=value, low=low, high=high)


def _one_of(name: str, value: object, choices: tuple[object, ...]) -> None:
    if not any(value is choice or value == choice for choice in choices):
        listed = ", ".join(str(choice) for choice in choices)
        raise SettingError("setting_not_a_choice", name=name, value=value, choices=listed)
