"""Where no mask is right: the shipped fit models side by side, and pads behind a sentence."""

import pandas as pd
import streamlit as st

from owi_core.experiments.faults.masks import Padded, padded, see_padded
from owi_core.gallery import ready_pair
from owi_core.readings import Reading
from owi_core.spare_rows import encoded
from pages._ui.base.page import Frame
from pages._ui.draw.components import WordRow, attention_matrix, sentence
from pages._ui.draw.typed import sentence_field
from pages._ui.session.reading import bundle_of, reading_of

MODELS = ("fit_causal", "fit_bidirectional")
PADS = (0, 8, 32)
PADS_DRAWN = 3


def show_both_masks(page: Frame) -> None:
    """Draw two sentences in both models: what 它 looks at and what it is said to mean."""
    st.subheader(page.t("fit.title"), anchor=False)
    st.markdown(page.t("fit.about"))
    pair = ready_pair("fit_causal")
    assert pair is not None
    for model, column in zip(MODELS, st.columns(2, gap="large"), strict=True):
        with column:
            st.markdown(f"**{page.t('fit.' + model)}**")
            readings = [reading_of(model, text, None) for text in (pair.a, pair.b)]
            for number, reading in enumerate(readings):
                _row(page, reading, f"masking.{model}.{number}")
            same = readings[0].answer.word == readings[1].answer.word
            share = bundle_of(model).note["result"]["accuracy_heldout"]
            st.markdown(page.t("fit.same" if same else "fit.differ", share=share))


def pads(page: Frame) -> None:
    """Draw what pads behind a sentence do to a row and its answer, hidden and attended to."""
    st.subheader(page.t("pads.title"), anchor=False)
    st.markdown(page.t("pads.about"))
    pair = ready_pair("fit_bidirectional")
    assert pair is not None
    text = sentence_field(page, page.t("pads.sentence"), "masking.padded", pair.a, by_words=True)
    reading = reading_of(MODELS[1], text, None)
    looks = "pads.query" if reading.has_pronoun else "pads.no_pronoun"
    st.caption(page.t.markdown(looks, query=reading.labels[reading.query]))
    rows = [_padded(text, reading.query, n, masked) for n in PADS for masked in (True, False)]
    names = ("n", "masked", "word", "probability", "mass")
    table = pd.DataFrame(
        [_told(page, row) for row in rows], columns=[page.t(f"pads.{n}") for n in names]
    )
    st.dataframe(table, hide_index=True)
    worst = min(rows, key=lambda row: row.probability)
    first = rows[0]
    moved = worst.word != first.word or first.probability - worst.probability > 0.05
    before = {"word": first.word, "p": first.probability}
    after = {"other": worst.word, "q": worst.probability, "mass": worst.pad_mass}
    key = "pads.moved" if moved else "pads.still"
    st.markdown(page.t.markdown(key, n=worst.n_pads, **before, **after))
    _padding_mask(page, text)


def _padding_mask(page: Frame, text: str) -> None:
    """Draw the mask that hides the pads, with the weights under it and what they prove."""
    bundle, encoding = encoded(bundle_of(MODELS[1]), text)
    seen = see_padded(bundle, encoding, PADS_DRAWN)
    st.caption(page.t("pads.mask", n=PADS_DRAWN))
    attention_matrix(
        page, seen.pattern, seen.labels, seen.labels, mask=seen.mask, key="masking.pads.matrix"
    )
    shut = float(seen.pattern[~seen.mask].max())
    off = float(abs(seen.pattern.sum(-1) - 1).max())
    mark = "✓" if shut == 0 and off < 1e-4 else "✗"
    st.markdown(f"{mark} " + page.t("pads.proof", off=off, shut=shut))


def _row(page: Frame, reading: Reading, key: str) -> None:
    weights = reading.record.row(reading.query, reading.record.n_layer - 1)
    sentence(page, reading.labels, WordRow.of(reading, weights), key=key)
    answer = reading.answer
    st.caption(page.t.markdown("fit.answer", word=answer.word, p=answer.probability))


def _told(page: Frame, row: Padded) -> tuple[int, str, str, str, str]:
    masked = page.t("pads.hidden" if row.masked else "pads.seen")
    return row.n_pads, masked, row.word, f"{row.probability:.3f}", f"{row.pad_mass:.3f}"


@st.cache_data(show_spinner=False, max_entries=200)
def _padded(text: str, query: int, n_pads: int, masked: bool) -> Padded:
    bundle, encoding = encoded(bundle_of(MODELS[1]), text)
    return padded(bundle, encoding, query, n_pads, masked=masked)
