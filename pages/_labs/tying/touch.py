"""Touch it: one number written into the embedding, read back in the head, tied beside untied.

The edits are this session's alone; a model is only ever copied.
"""

from typing import Any

import streamlit as st

from owi_core.figures import Group, grouped_bars, signed
from owi_core.gallery import READY_PAIRS, ReadyPair
from owi_core.probes.storage import tied_storage
from owi_core.probes.tie_touch import LIMIT, Cell, Edit, Side, Touched
from pages._labs.tying.code import touch_code
from pages._labs.tying.models import SHIPPED, bundle_from, first_edit, touched, words_of
from pages._ui.base.escape import markdown_plain
from pages._ui.base.page import Frame
from pages._ui.draw.charts import chart
from pages._ui.draw.code import show_code
from pages._ui.draw.decimals import decimal, read_typed
from pages._ui.draw.forms import NARROW, select, whole
from pages._ui.draw.typed import sentence_field
from pages._ui.session.models import current_model
from pages._ui.session.state import keep, kept_value, set_kept

JUST_TRAINED, MINE = "own", "mine"  # beside the shipped model: names of choices and of edits
MOST_EDITS = 100
WORD, DIMENSION, VALUE = "tying.word", "tying.dimension", "tying.value"
SENTENCE = "tying.sentence"
NOTHING = 1e-6  # a logit that moves less has not moved
ROUNDING = 1e-4  # relative: a logit is a sum of d_model products in float32


def first_pair(source: str) -> ReadyPair:
    """Return the ready pair whose words a model was trained on; the first where there is none."""
    family = (bundle_from(source).note.get("params") or {}).get("family")
    fitting = (pair for pair in READY_PAIRS if pair.model.partition("_")[0] == family)
    return next(fitting, READY_PAIRS[0])


def first_sentence(source: str) -> str:
    return first_pair(source).a


def first_word(source: str) -> int:
    """Return the id of a word that the first sentence lacks: it is named only, not read."""
    word_id = words_of(source).encode_words([first_pair(source).answer_b or ""]).ids[0]
    known = _words(source)
    return word_id if word_id in known else known.start


def show_cell_edit(page: Frame, source: str) -> None:
    """Draw the picker, what the edits have done to both models, and the way back.

    A model of two matrices has no tied side to be compared with: that is said instead.
    """
    if not tied_storage(bundle_from(source).model).shared:
        st.info(page.t("touch.two"))
        return
    text, cell = _pick(page, source)
    keep(edits_key(source), [], high=MOST_EDITS)
    _buttons(page, source, cell)
    edits = edits_of(source)
    found = touched(source, text, edits, cell)
    word = words_of(source).label(cell.word_id)
    for side, column in zip(("tied", "untied"), st.columns(2, gap="large"), strict=True):
        with column:
            _side(page, source, side, found, cell)
    st.markdown(finding(page, found, word, edits))
    _figure(page, source, found)
    show_code(page, touch_code(text, edits, cell))


def edits_of(source: str) -> tuple[Edit, ...]:
    """Return what this session has written into its own copy of a model, or what its link has."""
    kept: list[Any] = kept_value(edits_key(source), [], high=MOST_EDITS)
    return tuple(edit for each in kept if (edit := _edit_of(source, each)) is not None)


def edits_key(source: str) -> str:
    """Return the key of a model's edits: a link knows no folder."""
    if source == SHIPPED:
        return f"tying.edits.{SHIPPED}"
    return f"tying.edits.{MINE if source == str(current_model()) else JUST_TRAINED}"


def chosen_word(source: str) -> int:
    """Return the id of the word whose row is looked at."""
    return kept_value(WORD, first_word(source), among=_words(source))


def finding(page: Frame, found: Touched, word: str, edits: tuple[Edit, ...]) -> str:
    """Return the sentence that the measured numbers have earned."""
    moved = [abs(side.logit - found.before.logit) > NOTHING for side in (found.tied, found.untied)]
    change, by_cell = found.tied.logit - found.before.logit, found.cell_after - found.cell_before
    product = found.state * by_cell
    values: dict[str, Any] = {
        "word": word,
        "tied": signed(change),
        "untied": signed(found.untied.logit - found.before.logit),
        "state": signed(found.state, 3),
        "cell": signed(by_cell, 3),
        "product": signed(product),
    }
    if not edits:
        return page.t.markdown("touch.nothing_yet", **values)
    if not any(moved):
        return page.t.markdown("touch.still", **values)
    if moved[1]:
        return page.t.markdown("touch.through_input", **values)
    # Other cells of the row may have been written, or this one not at all.
    alone = abs(product - change) <= ROUNDING * max(1.0, abs(change))
    return page.t.markdown("touch.only_tied" if alone else "touch.only_tied_many", **values)


def _pick(page: Frame, source: str) -> tuple[str, Cell]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        word_id = select(
            page.t("touch.word"),
            _words(source),
            key=WORD,
            usual=first_word(source),
            name=words_of(source).label,
            width=170,
        )
        d_model = bundle_from(source).model.config.d_model
        first = first_edit(source, first_sentence(source), first_word(source))
        dimension = whole(
            page.t("touch.dimension", last=d_model - 1),
            0,
            d_model - 1,
            key=DIMENSION,
            usual=first.cell.dimension,
            width=NARROW,
        )
        decimal(
            page,
            page.t("touch.value"),
            -LIMIT,
            LIMIT,
            key=VALUE,
            usual=first.value,
            width=NARROW,
        )
    words = page.t("touch.sentence")
    text = sentence_field(page, words, SENTENCE, first_sentence(source), by_words=True)
    return text, Cell(word_id, dimension)


def _buttons(page: Frame, source: str, cell: Cell) -> None:
    edits = edits_of(source)
    with st.container(horizontal=True, width=520):
        st.button(
            page.t("touch.write"),
            type="primary",
            on_click=_write,
            args=(source, cell),
            key="tying.write",
            width="stretch",
        )
        for name, left in (("undo", edits[:-1]), ("reset", ())):
            st.button(
                page.t(f"touch.{name}"),
                on_click=_keep_edits,
                args=(source, left),
                disabled=not edits,
                key=f"tying.{name}",
                width="stretch",
            )
    if edits:
        label = words_of(source).label
        written = [f"{label(e.cell.word_id)}[{e.cell.dimension}] = {e.value:g}" for e in edits]
        st.caption(page.t.markdown("touch.written", edits=written))


def _write(source: str, cell: Cell) -> None:
    value = read_typed(VALUE, -LIMIT, LIMIT)
    if value is not None:
        # A cell that is written twice has the last value; undoing goes back over both.
        _keep_edits(source, (*edits_of(source), Edit(cell, value)))


def _keep_edits(source: str, edits: tuple[Edit, ...]) -> None:
    written = [[*edit.cell, edit.value] for edit in edits[-MOST_EDITS:]]
    set_kept(edits_key(source), written)


def _words(source: str) -> range:
    """Return the ids of the words that can be looked at: no sign, no row kept for new words."""
    return range(3, words_of(source).spare_ids.start)


def _edit_of(source: str, written: Any) -> Edit | None:
    """Return an edit as it was kept, if this model has such a cell."""
    if not isinstance(written, list) or len(written) != 3:
        return None
    word_id, dimension, value = written
    d_model = bundle_from(source).model.config.d_model
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (word_id, dimension))
    if not whole or not isinstance(value, int | float) or not abs(value) <= LIMIT:
        return None
    inside = word_id in _words(source) and dimension in range(d_model)
    return Edit(Cell(word_id, dimension), float(value)) if inside else None


def _side(page: Frame, source: str, name: str, found: Touched, cell: Cell) -> None:
    side: Side = getattr(found, name)
    word = words_of(source).label(cell.word_id)
    square = {"tied": ":blue[■]", "untied": ":orange[■]"}[name]
    place = f"{word}[{cell.dimension}]"
    st.markdown(f"{square} **{page.t(f'side.{name}')}** · {markdown_plain(place)}")
    shown = (
        ("embedding", found.cell_before, found.cell_after),
        ("lm_head", found.before.head_cell, side.head_cell),
        ("logit", found.before.logit, side.logit),
    )
    with st.container(horizontal=True):
        for label, before, after in shown:
            st.metric(
                label,
                f"{after:.{_digits(after)}f}".replace("-", "−"),
                signed(after - before, _digits(after - before)),
                delta_color="off",
                delta_arrow="off",
                width="content",
            )
        was, now = (words_of(source).label(answer) for answer in (found.before.answer, side.answer))
        change = page.t("touch.was", word=was) if was != now else page.t("touch.same")
        st.metric(
            page.t("touch.says"),
            now,
            change,
            delta_color="off",
            delta_arrow="off",
            width="content",
        )
    same = side.head_cell == found.cell_after
    mark = "✓" if same else "✗"
    st.caption(f"{mark} " + page.t(f"touch.head_{'same' if same else 'other'}"))


def _digits(value: float) -> int:
    """Return how many decimals of a number there is room for."""
    return 3 if abs(value) < 100 else 1


def _figure(page: Frame, source: str, found: Touched) -> None:
    label = words_of(source).label
    groups = [
        Group(page.t("touch.before"), found.before.logits, "muted"),
        Group(page.t("side.tied"), found.tied.logits, "a"),
        Group(page.t("side.untied"), found.untied.logits, "b"),
    ]
    words = [label(word) for word in found.words]
    figure = grouped_bars(words, groups, page.t("touch.logit"), theme=page.theme)
    chart(page, figure, key="tying.logits")
