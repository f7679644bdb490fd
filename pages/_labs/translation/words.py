"""One sentence step by step: each word's row, three maps, a word cut out, and two searches."""

import numpy as np
import streamlit as st

from owi_core.corpora.translation import Pair
from owi_core.figures import Bar, signed_bars
from owi_core.jobs.runs import Run
from owi_core.translating import Seen
from pages._labs.translation.code import words_code
from pages._labs.translation.models import examples, found_by, gold_of, is_right, seen_by
from pages._labs.translation.view import gold_cells
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.code import show_code
from pages._ui.draw.components import WordRow, attention_matrix, sentence
from pages._ui.draw.forms import select, whole
from pages._ui.session.state import held, keep, renew, set_kept

LONGEST = 60
BEAM = 3
HALF = 0.5  # of the words in their order: below it a translation is wrong
WORD, CUT = "translation.word", "translation.cut"
MAPS = ("cross", "encoder", "decoder")
BEGIN = "<BOS>"


def step_by_step(page: Frame, run: Run) -> None:
    """Choose or type a sentence; draw its translation word by word."""
    st.subheader(page.t("words.title"), anchor=False)
    text = _chosen_text(page, run)
    seen = seen_by(run, text)
    gold = gold_of(run.params, seen.source)
    renew("translation.of", (run.id, text), WORD, CUT)
    _say_how_right(page, run, seen, gold)
    layer = _layer(page, seen)
    _rows(page, seen, gold, layer)
    with st.expander(page.t("maps.title")):
        _maps(page, seen, gold, layer)
    _cut(page, run, text, seen)
    _searches(page, run, text)


def _chosen_text(page: Frame, run: Run) -> str:
    pairs = examples(run.params)
    number = select(
        page.t("words.example"),
        tuple(range(len(pairs))),
        key="translation.example",
        usual=0,
        name=lambda i: "".join(pairs[i].source),
    )
    typed = st.text_input(
        page.t("words.own"),
        max_chars=LONGEST,
        placeholder="".join(pairs[number].source),
        key=keep("translation.own", "", high=LONGEST),
    )
    return typed.strip() or "".join(pairs[number].source)


def _say_how_right(page: Frame, run: Run, seen: Seen, gold: Pair | None) -> None:
    right = is_right(run.params, seen, gold)
    if right is None:
        st.info(page.t("right.unknown"))
        return
    code = "right" if right == 1 else "half" if right >= HALF else "wrong"
    box = st.success if right == 1 else st.warning
    wanted = page.t.markdown("right.wanted", words=" ".join(gold.target)) if gold else ""
    box(f"{page.t(f'right.{code}', share=right)} {wanted if right < 1 else ''}".strip())


def _layer(page: Frame, seen: Seen) -> int:
    """Return the decoder layer that is shown, counted from 0."""
    L = len(seen.cross)
    if L == 1:
        return 0
    return whole(page.t("words.layer"), 1, L, key=f"translation.layer_{L}", usual=L, width=120) - 1


def _rows(page: Frame, seen: Seen, gold: Pair | None, layer: int) -> None:
    """Draw the translation; under it the row that chose the word clicked last."""
    if not seen.target:
        st.info(page.t("words.nothing"))
        return
    st.caption(page.t("words.hint"))
    word = held(WORD, 0, low=0, high=len(seen.target) - 1)
    chosen = sentence(page, seen.target, WordRow(query=word), colour="B", key="translation.target")
    if chosen is not None and chosen != word:
        set_kept(WORD, chosen)
        st.rerun()
    row = seen.cross[layer].mean(axis=0)[word]  # (S,)
    sentence(page, seen.source, WordRow(row), key="translation.source")
    top = int(row.argmax())
    before = seen.target[word - 1] if word else BEGIN
    said = {"word": seen.target[word], "before": before, "source": seen.source[top]}
    st.markdown(page.t.markdown("words.looks", weight=float(row[top]), **said))
    if gold is not None and gold.target == seen.target:
        causes = [gold.source[i] for i in gold.gold[word]]
        if not causes:
            st.markdown(page.t("gold.none"))
            return
        code = "hit" if top in gold.gold[word] else "missed"
        st.markdown(page.t.markdown(f"gold.{code}", words=" + ".join(causes)))


def _maps(page: Frame, seen: Seen, gold: Pair | None, layer: int) -> None:
    """Draw one of the three maps, with its mask."""
    name = select(
        page.t("maps.which"),
        MAPS,
        key="translation.map",
        usual=MAPS[0],
        name=lambda each: page.t(f"maps.{each}"),
    )
    st.caption(page.t(f"maps.about_{name}"))
    S, T = len(seen.source), len(seen.target)
    written = (BEGIN, *seen.target)[:T]  # row t read the words up to t − 1 and chose word t
    pattern, rows, keys = {
        "cross": (seen.cross[layer], seen.target, seen.source),
        "encoder": (seen.encoder[-1], seen.source, seen.source),
        "decoder": (seen.decoder[layer], written, written),
    }[name]
    allowed = np.tri(T, dtype=bool) if name == "decoder" else np.ones((len(rows), S), dtype=bool)
    known = name == "cross" and gold is not None and gold.target == seen.target
    cells = gold_cells(gold.gold) if known and gold is not None else []
    attention_matrix(
        page,
        pattern.mean(axis=0),
        rows,
        keys,
        mask=allowed,
        outlined=cells,
        key=f"translation.map.{name}",
    )


def _cut(page: Frame, run: Run, text: str, seen: Seen) -> None:
    """Cut a source word out; draw what log p of each word loses."""
    if len(seen.source) < 2 or not seen.target:
        return
    st.subheader(page.t("cut.title"), anchor=False)
    st.caption(page.t("cut.about"))
    cut = select(
        page.t("cut.which"),
        tuple(range(len(seen.source))),
        key=CUT,
        usual=0,
        name=lambda i: f"{i + 1} · {seen.source[i]}",
        width=240,
    )
    without = seen_by(run, text, cut)
    change = without.log_p - seen.log_p  # (T,) nats
    most = int(change.argmin())
    bars = [
        Bar(f"{t + 1} {word}", float(change[t]), strong=t == most)
        for t, word in enumerate(seen.target)
    ]
    chart(page, signed_bars(bars, page.t("cut.axis"), theme=page.theme), key="translation.cut_bars")
    moved = [word for word, nats in zip(seen.target, change, strict=True) if nats <= -0.5]
    values = {"cut": seen.source[cut], "n": len(moved), "total": len(change)}
    if moved:
        said = page.t.markdown("cut.some", words=" ".join(moved), **values)
    else:
        said = page.t.markdown("cut.no_word", **values)
    st.markdown(said)
    show_code(page, words_code(run.params, text, cut))


def _searches(page: Frame, run: Run, text: str) -> None:
    """List what greedy writing and a beam of three find."""
    st.subheader(page.t("search.title"), anchor=False)
    (greedy,) = found_by(run, text, 1)
    best = found_by(run, text, BEAM)
    for name, found in (("greedy", greedy), *(("beam", each) for each in best)):
        words = " ".join(found.words)
        st.markdown(page.t.markdown(f"search.{name}", words=words, log_p=found.log_p))
    code = "same" if best[0].words == greedy.words else "better"
    st.caption(page.t(f"search.{code}", gain=best[0].log_p - greedy.log_p))
