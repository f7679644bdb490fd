"""What to train, as chosen on the page: a corpus, the settings that matter, the rest folded."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import streamlit as st

from owi_core.corpora import FAMILIES, read_text_file
from owi_core.errors import TextError
from owi_core.experiments import EXPERIMENTS
from owi_core.experiments._kit.params import Parameter, holds_typed_text, parameters
from owi_core.experiments.pronoun import LOOK_AHEAD
from pages._ui.base import settings
from pages._ui.base.escape import markdown_plain
from pages._ui.base.page import Frame
from pages._ui.session.state import keep, kept_value

OWN = "own"
TEXTS = ("zh", "en")
CORPORA = (*FAMILIES, *TEXTS, OWN)
LONGEST_SENTENCE = 200
NARROW = 165

# What the choice of a corpus decides is not asked a second time; a path is for the command line.
_DECIDED = {"family", "text", "text_file", "own_text"}
_FIRST = {
    "pronoun": ("mask", "steps", "lr", "seed"),
    "language": ("preset", "steps", "epochs", "lr", "seed"),
}
_DEFAULTS = {family: {"mask": "bidirectional"} for family in LOOK_AHEAD}


@dataclass(frozen=True)
class Choice:
    """A training that can be started; `private` when it holds the user's own text."""

    experiment: str
    params: Mapping[str, Any] = field(default_factory=dict)
    private: bool = False


def choose_corpus(page: Frame) -> str:
    """Draw the choice of what to learn, with what that means under it."""
    corpus = st.segmented_control(
        page.t("corpus.label"),
        CORPORA,
        format_func=lambda name: page.t(f"corpus.{name}.name"),
        required=True,
        key=keep("train.corpus", CORPORA[0], among=CORPORA),
    )
    st.markdown(page.t(f"corpus.{corpus}.about"))
    return str(corpus)


def choose_text(page: Frame) -> str:
    """Draw the box for one's own text and the door for a file; return the text, maybe empty.

    Raises TextError for a file that is no text.  The box itself has no limit: it would cut off
    what is pasted, and say nothing.
    """
    pasted = st.text_area(
        page.t("own.label"),
        key=keep("train.own", "", private=True),
        height=140,
        placeholder=page.t("own.placeholder"),
    )
    file = st.file_uploader(page.t("own.file"), type=["txt"], max_upload_size=1, key="train.file")
    return read_text_file(file.getvalue()) if file is not None else pasted


def choose_settings(page: Frame, corpus: str) -> dict[str, Any]:
    """Draw the settings of a corpus's experiment; return them by name.

    What they start from is what the family or the preset says, and each remembers its own.
    """
    experiment = EXPERIMENTS[experiment_of(corpus)]
    known = {p.name: p for p in parameters(experiment.params)}
    names = [name for name in _FIRST[experiment.name] if name in known]
    values: dict[str, Any] = {}
    if "preset" in known:
        preset = known["preset"]
        values["preset"] = _pick_preset(page, corpus, preset.choices, preset.default)
        names.remove("preset")
    start = vars(experiment.params(**_decided(corpus), **_DEFAULTS.get(corpus, {}), **values))
    # A run is as long as its steps or its epochs say, never both.
    idle = {name for name in ("steps", "epochs") if start.get(name) == 0}
    first = [known[name] for name in names if name not in idle]
    hidden = _DECIDED | idle | {p.name for p in first} | set(values)
    rest = [p for p in known.values() if p.name not in hidden]
    prefix = ".".join(["train", corpus, *values.values()])
    values |= _settings(page, prefix, start, first, "stretch")
    with st.expander(page.t("settings.more")):
        values |= _settings(page, prefix, start, rest, NARROW)
    return values


def check_text(text: str) -> None:
    """Raise TextError for a text of one's own that is blank or too long to be pasted."""
    if not text.strip():
        raise TextError("text_empty")
    limit = settings.current().longest_text
    if len(text) > limit:
        raise TextError("text_too_long", limit=limit, length=len(text), excess=len(text) - limit)


def choice_of(corpus: str, settings: Mapping[str, Any], text: str) -> Choice:
    """The training that was chosen."""
    params = {**settings, **_decided(corpus)}
    if corpus == OWN:
        params["own_text"] = text
    experiment = EXPERIMENTS[experiment_of(corpus)]
    private = holds_typed_text(experiment.params, params)
    return Choice(experiment.name, params, private)


def experiment_of(corpus: str) -> str:
    """The experiment that learns a corpus."""
    return "pronoun" if corpus in FAMILIES else "language"


def corpus_of(params: Mapping[str, Any]) -> str:
    """The corpus that a run's parameters name."""
    if params.get("own_text"):
        return OWN
    return str(params.get("family") or params.get("text") or TEXTS[0])


def _decided(corpus: str) -> dict[str, str]:
    if corpus in FAMILIES:
        return {"family": corpus}
    return {"text": corpus} if corpus in TEXTS else {}


def _pick_preset(page: Frame, corpus: str, choices: Sequence[str], default: str) -> str:
    preset = st.segmented_control(
        page.t("setting.preset"),
        choices,
        format_func=lambda name: page.t(f"choice.preset.{name}"),
        help=page.t("setting_help.preset"),
        required=True,
        key=keep(f"train.{corpus}.preset", default, among=choices),
    )
    return str(preset)


def _settings(
    page: Frame,
    prefix: str,
    start: Mapping[str, Any],
    shown: Sequence[Parameter],
    width: int | Literal["stretch"],
) -> dict[str, Any]:
    """Draw widgets beside each other, as many as fit; two on a phone."""
    values = {}
    with st.container(horizontal=True):
        for parameter in shown:
            key = f"{prefix}.{parameter.name}"
            value = start[parameter.name]
            values[parameter.name] = _widget(page, parameter, key, value, width)
    return values


def _widget(
    page: Frame, parameter: Parameter, key: str, usual: Any, width: int | Literal["stretch"]
) -> Any:
    name = parameter.name
    label = page.t(f"setting.{name}")
    about: dict[str, Any] = {"help": page.t(f"setting_help.{name}"), "width": width}
    if parameter.kind is bool:
        return st.toggle(label, key=keep(key, usual), **about)
    if parameter.choices:
        return st.selectbox(
            label,
            parameter.choices,
            format_func=lambda value: _choice_name(page, name, value),
            key=keep(key, usual, among=parameter.choices),
            **about,
        )
    if parameter.kind is str:
        longest = LONGEST_SENTENCE
        return st.text_input(label, max_chars=longest, key=keep(key, usual, high=longest), **about)
    real = parameter.kind is float
    low, high = parameter.low, parameter.high
    return st.number_input(
        label,
        min_value=None if low is None else parameter.kind(low),
        max_value=None if high is None else parameter.kind(high),
        format="%.4g" if real else "%d",
        step=_step(kept_value(key, usual, low=low, high=high)) if real else 1,
        key=keep(key, usual, low=low, high=high),
        **about,
    )


def _step(value: float | None) -> float:
    """A power of ten below the value, so that one click neither leaps nor crawls."""
    return 10.0 ** math.floor(math.log10(0.99 * value)) if value else 0.1


def _choice_name(page: Frame, name: str, value: str) -> str:
    key = f"choice.{name}.{value}"
    return page.t(key) if page.t.has(key) else markdown_plain(value)
