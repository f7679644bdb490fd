"""What to train, as chosen on the page: a corpus, the settings that matter, the rest folded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import streamlit as st

from owi_core.corpora import FAMILIES, Decoding, decodings
from owi_core.experiments import EXPERIMENTS
from owi_core.experiments._kit.params import Parameter, holds_typed_text
from owi_core.experiments.pronoun import LOOK_AHEAD
from owi_core.figures.labels import visible
from pages._ui.base import settings
from pages._ui.base.page import Frame
from pages._ui.draw.forms import declared, segments, select, setting_field
from pages._ui.draw.typed import check_text_to_learn, show_cleaning
from pages._ui.session.state import follow, keep, renew

OWN = "own"
MOST_SHOWN = 24  # characters of a first line, as a phone has room for
TEXTS = ("zh", "en")
CORPORA = (*FAMILIES, *TEXTS, OWN)
NARROW = 165
SCALE = "embedding_scale"  # at most √d_model, so its default depends on the width

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
    corpus = segments(
        page.t("corpus.label"), CORPORA, key="train.corpus", name=page.t.each("corpus.{}.name")
    )
    st.markdown(page.t(f"corpus.{corpus}.about"))
    return corpus


def choose_text(page: Frame) -> str:
    """Draw the box for one's own text and the door for a file; return the text, maybe empty.

    Raises TextError for a file that is not text.  The box itself has no limit: it would cut off
    what is pasted, and say nothing.
    """
    pasted = st.text_area(
        page.t("own.label"),
        key=keep("train.own", "", private=True),
        height=140,
        placeholder=page.t("own.placeholder"),
    )
    show_cleaning(page, pasted, by_words=False)
    file = st.file_uploader(page.t("own.file"), type=["txt"], max_upload_size=1, key="train.file")
    return pasted if file is None else _text_of(page, file.getvalue())


def _text_of(page: Frame, data: bytes) -> str:
    """Return the text of a file; ask for its encoding where it is not UTF-8."""
    found = {each.encoding: each for each in decodings(data)}
    chosen = next(iter(found))
    if chosen != "utf-8":
        renew("train.encoding_of", hash(data), "train.encoding")  # another file, another guess
        chosen = select(
            page.t("own.encoding"),
            list(found),
            key="train.encoding",
            usual=chosen,
            name=lambda name: _encoding_name(page, found[name]),
            private=True,  # it belongs to the file, which no link carries
        )
    text = found[chosen].text
    show_cleaning(page, text, by_words=False)
    return text


def _encoding_name(page: Frame, decoding: Decoding) -> str:
    """Return an encoding with the first line that it gives, by which one recognises the text."""
    line = visible(decoding.first_line[:MOST_SHOWN])
    name = decoding.encoding.upper().replace("_", "-")
    return page.t.markdown("own.reads", encoding=name, line=line)


def choose_settings(page: Frame, corpus: str) -> dict[str, Any]:
    """Draw the settings of a corpus's experiment; return them by name.

    What they start from is what the family or the preset says, and each remembers its own.
    """
    experiment = EXPERIMENTS[experiment_of(corpus)]
    known = declared(experiment.params)
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
    check_text_to_learn(text, settings.current().longest_text)


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
    return segments(
        page.t("setting.preset"),
        choices,
        key=f"train.{corpus}.preset",
        usual=default,
        name=page.t.each("choice.preset.{}"),
        help=page.t("setting_help.preset"),
    )


def _settings(
    page: Frame,
    prefix: str,
    start: Mapping[str, Any],
    shown: Sequence[Parameter],
    width: int | Literal["stretch"],
) -> dict[str, Any]:
    """Draw widgets beside each other, as many as fit; two on a phone."""
    values: dict[str, Any] = {}
    by_words = prefix.split(".")[1] in FAMILIES
    with st.container(horizontal=True):
        for parameter in shown:
            name = parameter.name
            key, usual, high = f"{prefix}.{name}", start[name], None
            if name == SCALE:  # the fields come in the order of Params, so the width is known
                high = max(1.0, values["d_model"] ** 0.5)
                usual = min(usual, high)
                follow(key, usual)
            values[name] = setting_field(
                page, parameter, key, usual=usual, high=high, by_words=by_words, width=width
            )
    return values
