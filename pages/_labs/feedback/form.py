"""What is set on the feedback page: how to draw, what to continue, and where to look."""

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from owi_core.config import SamplingConfig
from owi_core.corpora import CHARACTER_TEXTS, character_text
from owi_core.errors import TextError
from pages._labs.feedback import models
from pages._labs.feedback.models import Writer
from pages._ui.base.page import Frame
from pages._ui.session.state import keep, kept_value

FORCE, TEMPERATURE, TOP_K, TOP_P = (
    "feedback.force", "feedback.temperature", "feedback.top_k", "feedback.top_p"
)  # fmt: skip
SEED, MODEL, STOP = "feedback.seed", "feedback.model", "feedback.stop"
LAYER, HEAD = "feedback.layer", "feedback.head"
LONGEST_PROMPT = 120
HOTTEST, LEAST_TOP_P, LAST_SEED = 3.0, 0.05, 2**31 - 1
N_OPENING = 4


@dataclass(frozen=True)
class Chosen:
    """The settings of the moment; head None is the mean over heads, stop None is no stop."""

    writer: Writer
    prompt: tuple[int, ...]
    sampling: SamplingConfig
    seed: int
    stop: int | None
    layer: int
    head: int | None

    @property
    def origin(self) -> tuple[str, tuple[int, ...]]:
        """What the tree of branches grows from: another origin, another tree."""
        return self.writer.stamp, self.prompt


def choose(page: Frame, knobs: DeltaGenerator, below: DeltaGenerator) -> Chosen:
    """Draw the settings, how to draw into `knobs` and all else into `below`.

    Raises TextError for a prompt that the model cannot read.
    """
    writer = _current_writer()
    with knobs, st.container(horizontal=True, vertical_alignment="bottom"):
        sampling = _sampling(page, writer)
    with below:
        text = st.text_input(
            page.t("prompt.label"),
            max_chars=LONGEST_PROMPT,
            key=keep(*_prompt_of(writer), high=LONGEST_PROMPT),
        )
        with st.expander(page.t("settings.more")), st.container(horizontal=True):
            seed, stop, layer, head = _more(page, writer)
    return Chosen(writer, _encoded(writer, text), sampling, seed, stop, layer, head)


def _current_writer() -> Writer:
    """Return the model chosen below, before its widget is drawn: all else depends on it."""
    names = models.names()
    return models.writer(kept_value(MODEL, names[0], among=names))


def _sampling(page: Frame, writer: Writer) -> SamplingConfig:
    temperature = st.slider(
        page.t("sampling.temperature"),
        0.0,
        HOTTEST,
        step=0.05,
        key=keep(TEMPERATURE, 1.0, low=0.0, high=HOTTEST),
        width=240,
    )
    most = min(20, writer.tokenizer.vocab_size)
    top_k = st.slider(
        page.t("sampling.top_k"),
        0,
        most,
        key=keep(TOP_K, 0, low=0, high=most),
        help=page.t("sampling.top_k_help"),
        width=240,
    )
    top_p = st.slider(
        page.t("sampling.top_p"),
        LEAST_TOP_P,
        1.0,
        step=0.05,
        key=keep(TOP_P, 1.0, low=LEAST_TOP_P, high=1.0),
        help=page.t("sampling.top_p_help"),
        width=240,
    )
    return SamplingConfig(temperature=float(temperature), top_k=int(top_k), top_p=float(top_p))


def _more(page: Frame, writer: Writer) -> tuple[int, int | None, int, int | None]:
    names = models.names()
    st.selectbox(
        page.t("model.label"),
        names,
        format_func=lambda name: page.t(f"model.{name}"),
        key=keep(MODEL, writer.name, among=names),
        width=260,
    )
    seed = st.number_input(
        page.t("look.seed"), 0, LAST_SEED, key=keep(SEED, 0, low=0, high=LAST_SEED), width=130
    )
    labels = writer.tokenizer.characters
    stops, layers = (None, *range(len(labels))), range(writer.bundle.model.config.n_layer)
    stop = st.selectbox(
        page.t("stop.label"),
        stops,
        format_func=lambda i: page.t("stop.none") if i is None else shown(labels[i]),
        help=page.t("stop.help"),
        key=keep(STOP, None, among=stops),
        width=150,
    )
    layer = st.selectbox(
        page.t("look.layer"),
        layers,
        format_func=lambda i: str(i + 1),
        key=keep(LAYER, 0, among=layers),
        width=100,
    )
    heads = (None, *range(writer.bundle.model.config.n_head))
    head = st.selectbox(
        page.t("look.head"),
        heads,
        format_func=lambda i: page.t("look.mean") if i is None else str(i + 1),
        key=keep(HEAD, None, among=heads),
        width=120,
    )
    return int(seed), stop, int(layer), head


def shown(label: str) -> str:
    """Return a character as one can see it: an end of line has a sign."""
    return label.replace("\n", "↵").replace("\t", "⇥").replace(" ", "␣")


def _prompt_of(writer: Writer) -> tuple[str, str]:
    """Return the prompt's key, one for each model, and what stands in it at first."""
    known = set(writer.tokenizer.characters)
    openings = [character_text(name)[:N_OPENING] for name in CHARACTER_TEXTS]
    letters = [c for c in writer.tokenizer.characters if not c.isspace()]
    opening = next((o for o in openings if set(o) <= known), letters[0])
    return f"feedback.prompt.{writer.name}", opening


def _encoded(writer: Writer, text: str) -> tuple[int, ...]:
    if not text:
        raise TextError("text_empty")
    return writer.tokenizer.encode(text).ids
