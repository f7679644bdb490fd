"""What is set on the feedback page: how to draw, what to continue, and where to look."""

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from owi_core.cleaning import clean
from owi_core.config import SamplingConfig
from owi_core.corpora import CHARACTER_TEXTS, character_text
from owi_core.experiments.feedback import Params
from owi_core.figures.labels import visible
from owi_core.segmentation import check_text
from pages._labs.feedback import models
from pages._labs.feedback.models import Writer
from pages._labs.feedback.tree import Drawing
from pages._ui.base.page import Frame
from pages._ui.draw.forms import declared, select, setting_field, slider
from pages._ui.draw.typed import sentence_field
from pages._ui.session.reading import follow_own_model
from pages._ui.session.state import kept_value

FORCE, TEMPERATURE, TOP_K, TOP_P = (
    "feedback.force", "feedback.temperature", "feedback.top_k", "feedback.top_p"
)  # fmt: skip
SEED, MODEL, STOP = "feedback.seed", "feedback.model", "feedback.stop"
LAYER, HEAD = "feedback.layer", "feedback.head"
LONGEST_PROMPT = 120
HOTTEST, LEAST_TOP_P = 3.0, 0.05
N_OPENING = 4
FIRST_SEED = 1  # the first draw is of a likely token, as most draws are
BUTTONS_WIDTH = 640


@dataclass(frozen=True)
class Chosen:
    """The settings of the moment; head None: the mean over heads; stop None: never stop."""

    writer: Writer
    prompt: tuple[int, ...]
    sampling: SamplingConfig
    seed: int
    stop: int | None
    layer: int
    head: int | None

    @property
    def drawing(self) -> Drawing:
        """What the next token is drawn with."""
        return Drawing(self.sampling, self.seed)

    @property
    def origin(self) -> tuple[str, tuple[int, ...]]:
        """What the tree of branches grows from: another origin, another tree."""
        return self.writer.stamp, self.prompt


def choose(
    page: Frame, beginning: DeltaGenerator, knobs: DeltaGenerator, below: DeltaGenerator
) -> Chosen:
    """Draw the prompt into `beginning`, how to draw tokens into `knobs`, all else into `below`.

    Raises TextError for a prompt that the model cannot read.
    """
    writer = _current_writer()
    with knobs, st.container(horizontal=True, vertical_alignment="bottom"):
        sampling = _sampling(page, writer)
    with beginning, st.container(width=BUTTONS_WIDTH):
        words = page.t("prompt.label")
        text = sentence_field(page, words, *_prompt_of(writer), by_words=False)
    with below, st.expander(page.t("settings.more")), st.container(horizontal=True):
        seed, stop, layer, head = _more(page, writer)
    return Chosen(writer, _encoded(writer, text), sampling, seed, stop, layer, head)


def _current_writer() -> Writer:
    """Return the model chosen below, before its widget is drawn: all else depends on it."""
    names = models.names()
    follow_own_model("feedback", MODEL, names[0])
    return models.writer(kept_value(MODEL, names[0], among=names))


def _sampling(page: Frame, writer: Writer) -> SamplingConfig:
    temperature = slider(
        page.t("sampling.temperature"),
        0.0,
        HOTTEST,
        key=TEMPERATURE,
        usual=1.0,
        step=0.05,
        width=240,
    )
    top_k = slider(
        page.t("sampling.top_k"),
        0,
        min(20, writer.tokenizer.vocab_size),
        key=TOP_K,
        usual=0,
        help=page.t("sampling.top_k_help"),
        width=240,
    )
    top_p = slider(
        page.t("sampling.top_p"),
        LEAST_TOP_P,
        1.0,
        key=TOP_P,
        usual=1.0,
        step=0.05,
        help=page.t("sampling.top_p_help"),
        width=240,
    )
    return SamplingConfig(temperature=temperature, top_k=top_k, top_p=top_p)


def _more(page: Frame, writer: Writer) -> tuple[int, int | None, int, int | None]:
    # The default is not the writer of the moment: a link leaves out what is the default.
    select(
        page.t("model.label"),
        models.names(),
        key=MODEL,
        name=page.t.each("model.{}"),
        width=260,
    )
    seed = setting_field(
        page,
        declared(Params)["seed"],
        SEED,
        label=page.t("look.seed"),
        usual=FIRST_SEED,
        width=130,
    )
    labels, config = writer.tokenizer.characters, writer.bundle.model.config
    stop = select(
        page.t("stop.label"),
        (None, *range(len(labels))),
        key=STOP,
        usual=None,
        name=lambda i: page.t("stop.none") if i is None else shown(labels[i]),
        help=page.t("stop.help"),
        width=150,
    )
    layer = select(
        page.t("look.layer"),
        range(config.n_layer),
        key=LAYER,
        usual=0,
        name=lambda i: str(i + 1),
        width=100,
    )
    head = select(
        page.t("look.head"),
        (None, *range(config.n_head)),
        key=HEAD,
        usual=None,
        name=lambda i: page.t("look.mean") if i is None else str(i + 1),
        width=120,
    )
    return seed, stop, layer, head


def shown(label: str) -> str:
    """Return a text whose every character can be seen: an end of line has a sign."""
    return visible(label)


def _prompt_of(writer: Writer) -> tuple[str, str]:
    """Return the prompt's key, one for each model, and its text at first."""
    known = set(writer.tokenizer.characters)
    openings = [character_text(name)[:N_OPENING] for name in CHARACTER_TEXTS]
    letters = [c for c in writer.tokenizer.characters if not c.isspace()]
    opening = next((o for o in openings if set(o) <= known), letters[0])
    return f"feedback.prompt.{writer.name}", opening


def _encoded(writer: Writer, text: str) -> tuple[int, ...]:
    check_text(clean(text).text, LONGEST_PROMPT)
    return writer.tokenizer.encode(text).ids
