"""What the step page computes with: drawn numbers, typed ones, or a trained model's layer."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from owi_core.checkpoints import shipped_names
from owi_core.errors import OwiError
from owi_core.experiments.step import Params
from owi_core.gallery import simplest_pair
from owi_core.probes.derivation import GIVEN, Cell
from owi_core.probes.step import (
    MASKS,
    StepInputs,
    StepRecord,
    from_model,
    random_inputs,
    run_step,
    with_cells,
)
from owi_core.readings import clearest_head, clearest_layer
from pages._labs.step import chain
from pages._labs.step import edits as step_edits
from pages._ui.base.i18n import error_text
from pages._ui.base.page import Frame
from pages._ui.draw.events import version
from pages._ui.draw.forms import declared, named_segments, scale, segments, select, setting_field
from pages._ui.draw.typed import sentence_field
from pages._ui.session.reading import (
    OWN,
    bundle_of,
    follow_own_model,
    model_stamp,
    own_model_pages,
    reading_of,
)
from pages._ui.session.state import follow, keep

SOURCES = ("numbers", "sentence")
SEED, SOURCE, TOKENS, WIDTH, HEADS = (
    "step.seed", "step.source", "step.tokens", "step.width", "step.heads"
)  # fmt: skip
MASK, HEAD, TEMPERATURE = "step.mask", "step.head", "step.temperature"
TEXT, MODEL, LAYER = "step.text", "step.model", "step.layer"
WORD_MODELS = ("swap", "verb", "fit_bidirectional", "fit_causal", "person", "street", "untrained")
TEMPERATURES = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
_BOARD = "step.board"


@dataclass
class Board:
    """The numbers on the board: their origin, as given, as they are, and as they were before.

    labels: the names of the vectors.  clearest: the head with most to see.
    """

    origin: tuple[Any, ...]
    given: StepInputs
    inputs: StepInputs
    before: StepInputs
    labels: tuple[str, ...]
    selected: Cell | None = None
    edits: int = 0
    clearest: int = 0

    @property
    def words(self) -> bool:
        """Whether the vectors are the words of a sentence."""
        return bool(self.origin[0] == "sentence")

    def take(self, inputs: StepInputs) -> None:
        """Put other numbers on the board; what was there is kept for the marks."""
        self.before, self.inputs = self.inputs, inputs
        self.edits += 1


@dataclass(frozen=True)
class Shown:
    """The board computed, and the head that is looked at."""

    board: Board
    record: StepRecord
    before: StepRecord
    head: int


def choose(page: Frame) -> Shown:
    """Draw the controls; return the step that they, and what was typed in the chain, make."""
    source = named_segments(page, "source", SOURCES, SOURCE)
    board = _sentence(page) if source == "sentence" else _numbers(page)
    head, temperature = _look(page, board)
    st.caption(_about(page, board, head))
    board.inputs = replace(board.inputs, temperature=temperature)
    board.before = replace(board.before, temperature=temperature)
    _take_typed(page, board, head)
    step_edits.note(board.given, board.inputs, board.selected)
    return Shown(board, run_step(board.inputs), run_step(board.before), head)


def reset(page: Frame, board: Board) -> None:
    """Offer the drawn numbers again once some were changed."""
    if board.edits:
        st.button(page.t("reset"), key="step.reset", on_click=_forget)


def table_editor(page: Frame, board: Board) -> None:
    """Offer x as a table into which numbers can be pasted."""
    folded = st.expander(
        page.t("table.title"), type="compact", key=keep("step.table_open", False), on_change="rerun"
    )
    with folded:
        if not folded.open:
            return
        st.caption(page.t("table.about"))
        x = board.inputs.x
        names = [str(column + 1) for column in range(x.shape[1])]
        frame = pd.DataFrame(x, columns=names, index=list(range(1, len(x) + 1)))
        typed = st.data_editor(frame, key=f"step.table.{board.origin}.{board.edits}")
        fresh = typed.to_numpy(dtype=float)
        if np.isfinite(fresh).all() and not np.array_equal(fresh, x):
            board.take(replace(board.inputs, x=fresh.clip(-1000, 1000)))
            st.rerun(scope="fragment")


def _forget() -> None:
    st.session_state.pop(_BOARD, None)
    step_edits.forget_all()


def _numbers(page: Frame) -> Board:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed = setting_field(page, declared(Params)["seed"], SEED, label=page.t("seed"), width=130)
        tokens = _pick(page, TOKENS, (2, 3, 4, 5, 6), 4)
        width = _pick(page, WIDTH, (4, 8), 8)
        heads = _pick(page, HEADS, (1, 2, 4), 1)
        mask = select(page.t("mask.label"), MASKS, key=MASK, name=page.t.each("mask.{}"), width=170)
    origin = ("numbers", seed, tokens, width, heads, mask)
    return _board(origin, lambda: (random_inputs(*origin[1:]), chain.unnamed(tokens)))


def _sentence(page: Frame) -> Board:
    left, right = st.columns([3, 2])
    first = simplest_pair(page.lang)
    follow(TEXT, first.a)
    with left:
        text = sentence_field(page, page.t("text"), TEXT, first.a, by_words=True)
    own = (OWN,) if "step" in own_model_pages() else ()
    models = [*(name for name in WORD_MODELS if name in shipped_names()), *own]
    follow_own_model("step", MODEL, first.model)
    follow(MODEL, first.model)
    with right:
        model = select(
            page.t("model.label"),
            models,
            key=MODEL,
            usual=first.model,
            name=page.t.each("model.{}"),
        )
    bundle = bundle_of(model)
    # Where the pronoun looks hardest: in another layer or head there may be nothing to see.
    reading = reading_of(model, text, None)
    clearest = clearest_layer([reading]) + 1
    follow(LAYER, clearest)
    layer = _pick(page, LAYER, tuple(range(1, bundle.model.config.n_layer + 1)), clearest)
    origin = ("sentence", model_stamp(model), text, layer)
    board = _board(origin, lambda: from_model(bundle, text, layer - 1))
    board.clearest = clearest_head(reading, layer - 1)
    return board


def _board(origin: tuple[Any, ...], make: Any) -> Board:
    """Return the session's board, made again when its origin changes."""
    board = st.session_state.get(_BOARD)
    if board is None or board.origin != origin:
        given, labels = make()
        inputs, selected, edits = step_edits.edited(origin, given)
        board = Board(origin, given, inputs, given, labels, selected, edits)
        st.session_state[_BOARD] = board
    found: Board = board
    return found


def _look(page: Frame, board: Board) -> tuple[int, float]:
    """Draw head and temperature."""
    n_head, clearest = board.inputs.n_head, board.clearest + 1
    follow(HEAD, clearest)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        head = _pick(page, HEAD, tuple(range(1, n_head + 1)), clearest) if n_head > 1 else 1
        temperature = scale(
            page.t("temperature"), TEMPERATURES, key=TEMPERATURE, usual=1.0, width=320
        )
    return head - 1, temperature


def _about(page: Frame, board: Board, head: int) -> str:
    """Say which vectors go in: of the chosen source, and how many they are."""
    T, d = board.inputs.x.shape
    if board.words:
        return page.t("goes_in.sentence", n=T, d=d, layer=board.origin[-1], head=head + 1)
    return page.t("goes_in.numbers", n=T, d=d)


def view_of(board: Board, head: int) -> str:
    """Return the name of the view in which a place in a table means the same number."""
    return version(board.origin, head)


def _take_typed(page: Frame, board: Board, head: int) -> None:
    """Take the cells that were clicked and the numbers that were typed in the chain.

    Several that were clicked together are put on the board together and then checked: a row of the
    mask may be empty between two of them.
    """
    found = chain.taken(run_step(board.inputs), head, view_of(board, head))
    if found:
        last = found[-1]
        board.selected = last.cell if isinstance(last, chain.Edit) else last
    edits = [each for each in found if isinstance(each, chain.Edit)]
    changes = {(*each.cell,): each.value for each in edits}
    try:
        inputs = with_cells(board.inputs, changes)
    except OwiError as error:
        st.error(error_text(page.lang, error), icon=":material/block:")
        return
    if any(not np.array_equal(getattr(inputs, t), getattr(board.inputs, t)) for t in GIVEN):
        board.take(inputs)


def _pick(page: Frame, key: str, options: tuple[int, ...], first: int) -> int:
    return segments(page.t(key), options, key=key, usual=first)
