"""What the page of shared weights shows at first sight: the proof, the sizes, the nearest words."""

from collections.abc import Iterable, Sequence

import pandas as pd
import streamlit as st
import torch

from owi_core.probes.storage import TiedStorage
from owi_core.probes.tie_proof import TieCase
from owi_core.probes.tie_size import READY, matrix_size
from owi_core.probes.tie_touch import Neighbours
from pages._labs.tying.models import bundle_from, counts_of, near, near_answer, proof_of, words_of
from pages._labs.tying.touch import JUST_TRAINED, MINE, SENTENCE, chosen_word, first_sentence
from pages._ui.base.page import Frame
from pages._ui.draw.forms import whole
from pages._ui.session.state import kept_value

MEGA = 1e6
LARGEST_VOCABULARY, LARGEST_WIDTH = 1_000_000, 16_384
EXACT = 1e-4  # logits of ten, in float32


def proof(page: Frame, source: str) -> None:
    """Draw what was tried on the live model, and what embedding and head share after it."""
    cases = proof_of(source)
    st.markdown(page.t(f"proof.{_verdict(source, cases[0].storage)}"))
    held = sum(case.expected for case in cases)
    st.caption(page.t("proof.counted", held=held, cases=len(cases)))
    heads = [page.t(f"proof.{n}") for n in ("case", "object", "pointer", "storage", "outcome")]
    _table(
        heads,
        ["---", *[":-:"] * 3, "---"],
        [_told(page, case, tied=cases[0].storage.shared) for case in cases],
    )


def _verdict(source: str, live: TiedStorage) -> str:
    """Return what a live model has: one matrix, two, or two that hold the same numbers."""
    if live.shared and live.same_object:
        return "one"
    model = bundle_from(source).model
    return "equal" if torch.equal(model.embedding.weight, model.lm_head.weight) else "two"


def outcome(case: TieCase, *, tied: bool = True) -> str:
    """Return what became of the tie: the name of what was measured.  tied: it was there before."""
    if case.refused:
        return "refused"
    if not tied and not case.storage.shared:
        return "apart"
    if case.storage == TiedStorage(True, True, True):
        return "kept"
    return "memory_only" if case.storage.shared else "parted"


def sizes(page: Frame, source: str) -> None:
    """Draw the calculator: what a second matrix would take, for ready models and one's own."""
    with st.container(horizontal=True):
        n_rows, n_columns = READY["chinese_50k"]
        label, most = page.t("size.vocabulary"), LARGEST_VOCABULARY
        rows = whole(label, 1, most, key="tying.vocabulary", usual=n_rows, step=1000, width=190)
        label, most = page.t("size.d_model"), LARGEST_WIDTH
        width = whole(label, 1, most, key="tying.width", usual=n_columns, step=64, width=190)
    size = matrix_size(rows, width)
    st.markdown(
        page.t(
            "size.sum",
            vocabulary=rows,
            d_model=width,
            numbers=size.numbers,
            float32=size.bytes_float32 / MEGA,
            bfloat16=size.bytes_bfloat16 / MEGA,
        )
    )
    heads = [page.t(f"size.{name}") for name in ("model", "numbers", "float32", "bfloat16")]
    lines = [_size_row(page, name, *shape) for name, shape in READY.items()]
    _table(heads, ["---", *["--:"] * 3], lines)
    tied, untied = counts_of(source)
    st.markdown(page.t("size.live", tied=tied, untied=untied, share=1 - tied / untied))


def nearest(page: Frame, source: str) -> None:
    """Draw the rows nearest the final state, whose products are the logits, and nearest a word."""
    text = str(kept_value(SENTENCE, first_sentence(source)))
    found = near_answer(source, text)
    tokenizer = words_of(source)
    chosen = chosen_word(source)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(page.t.markdown("near.state", text=text))
        _neighbours(page, source, found)
        error = found.logit_error or 0.0
        code = "near.logits_same" if error <= EXACT else "near.logits_differ"
        st.caption(f"{'✓' if error <= EXACT else '✗'} " + page.t(code, error=f"{error:.1g}"))
    with right:
        st.markdown(page.t.markdown("near.word", word=tokenizer.label(chosen)))
        _neighbours(page, source, near(source, chosen))
        st.caption(page.t("near.word_about"))


def _told(page: Frame, case: TieCase, *, tied: bool) -> tuple[str, ...]:
    storage = case.storage
    shared = (storage.same_object, storage.same_pointer, storage.same_storage)
    marks = ("=" if same else "**≠**" for same in shared)
    said = page.t.markdown(f"outcome.{outcome(case, tied=tied)}", error=case.refused)
    return page.t(f"case.{case.code}"), *marks, f"{'✓' if case.expected else '✗'} {said}"


def _table(heads: Sequence[str], rule: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Draw a table as Markdown: its lines break, so that on a phone nothing is cut."""
    st.markdown("\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows)))


def _size_row(page: Frame, name: str, vocabulary: int, d_model: int) -> tuple[str, ...]:
    size = matrix_size(vocabulary, d_model)
    megabytes = (f"{n / MEGA:.1f}\u00a0MB" for n in (size.bytes_float32, size.bytes_bfloat16))
    shape = f"{vocabulary:,} × {d_model:,}"
    return f"{page.t(f'size.{name}')} {shape}", f"{size.numbers:,}", *megabytes


def _neighbours(page: Frame, source: str, found: Neighbours) -> None:
    label = words_of(source).label
    rows = [
        (label(row.word_id), f"{row.dot:.2f}", f"{row.cosine:.3f}", f"{row.length:.2f}")
        for row in found.rows
    ]
    names = ("which", "dot", "cosine", "length")
    table = pd.DataFrame(rows, columns=[page.t(f"near.{name}") for name in names])
    st.dataframe(table, hide_index=True)


def source_name(page: Frame, name: str, source: str) -> str:
    """Return how a source is called: the app's, the one just trained, or the one in use."""
    d_model = bundle_from(source).model.config.d_model
    code = name if name in (JUST_TRAINED, MINE) else "shipped"
    return page.t(f"source.{code}", d_model=d_model)
