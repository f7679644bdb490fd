"""The lab: a text that goes on one token at a time, forwards and back, and forks."""

from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from owi_core.generation import Forecast, draw
from pages._labs.feedback import form, models, next_bars, saved
from pages._labs.feedback import tree as feedback_tree
from pages._labs.feedback.form import Chosen, shown
from pages._labs.feedback.tree import Branch, Drawing, Token, Tree
from pages._ui.base.escape import markdown_plain
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw.components import WordRow, sentence
from pages._ui.draw.counting_button import counting_button, pressed
from pages._ui.draw.events import clicked, version
from pages._ui.draw.forms import select
from pages._ui.frame.address import following

TREE, PLAYING, ASKED, WORDS = (
    "feedback.tree", "feedback.playing", "feedback.asked", "feedback.words"
)  # fmt: skip
STEP, BACK = "feedback.step", "feedback.back"
TICK_SECONDS = 0.9
REQUESTS_KEPT = 50  # more than can be pressed before a run has handled them
BRANCHES_IN_A_ROW, PREFIX_SHOWN, LONGEST_SHOWN = 3, 18, 120


@dataclass(frozen=True)
class Moment:
    """The tree now, what the model says of the next token, and the number for drawing it."""

    tree: Tree
    forecast: Forecast
    u: float
    drawing: Drawing

    @property
    def drawn(self) -> Token:
        """The token that u falls on."""
        return self.token(draw(self.forecast.after, self.u))

    def token(self, index: int, *, forced: bool = False) -> Token:
        probability = float(self.forecast.after[index])
        return Token(index, self.u, probability, forced, self.drawing)


@dataclass(frozen=True)
class Asked:
    """What the session has asked for in all: presses of each button, and numbered requests."""

    steps: int = 0
    backs: int = 0
    requests: tuple[tuple[int, str, int | None], ...] = ()


@dataclass(frozen=True)
class Held:
    """The session's tree, what it grows from, and what was asked for up to it."""

    origin: tuple[str, tuple[int, ...]]
    tree: Tree
    asked: Asked


def lab(page: Frame) -> None:
    """Draw the lab; while it plays it goes on by itself."""
    playing = bool(st.session_state.get(PLAYING))
    following(_lab, TICK_SECONDS if playing else None)(page)


def _lab(page: Frame) -> None:
    with guarded(page.lang):
        # The prompt is beside the buttons: on a phone the bars alone fill more than a screen.
        text, beginning, bars, knobs, forks, below = (st.container() for _ in range(6))
        chosen = form.choose(page, beginning, knobs, below)
        held = _held(chosen)
        asked = _asked()
        moment = _acted(chosen, _moment(chosen, held.tree), held, asked)
        # One assignment: a click that interrupts this run finds all of its effect or none.
        st.session_state[TREE] = Held(chosen.origin, moment.tree, asked)
        saved.note(moment.tree)
        _draw(page, chosen, moment, text, bars)
        with forks:
            _pick(page, chosen, moment.tree)
            _branches(page, chosen, moment.tree)


def _held(chosen: Chosen) -> Held:
    """Return the session's tree, planted again when model or prompt is another."""
    held: Held | None = st.session_state.get(TREE)
    if held is not None and held.origin == chosen.origin:
        return held
    st.session_state[PLAYING] = False
    asked = _asked()
    if held is not None:
        # A tap on the button closes the field (and an open input method), so the browser sends
        # the new prompt and the press together: the step is one of the new text.
        asked = replace(asked, steps=held.asked.steps)
    return Held(chosen.origin, saved.planted(chosen), asked)


def _moment(chosen: Chosen, tree: Tree) -> Moment:
    forecast = models.forecast(chosen.writer, tree.current.ids, chosen.sampling)
    u = models.u_of(chosen.seed, tree.n_drawn)
    return Moment(tree, forecast, u, chosen.drawing)


def _asked() -> Asked:
    requests = tuple(st.session_state.get(ASKED, ()))
    return Asked(pressed(STEP), pressed(BACK), requests)


def _acted(chosen: Chosen, moment: Moment, held: Held, asked: Asked) -> Moment:
    """Do what was asked for since the tree was held, or the next step of the play."""
    done = held.asked
    clicks = _clicked(chosen, moment)
    for _ in range(min(asked.steps - done.steps, feedback_tree.MAX_TOKENS)):
        moment = _stepped(chosen, moment)
    backs = asked.backs - done.backs
    if backs > 0:
        tree = feedback_tree.back(moment.tree, moment.tree.current.at - backs)
        moment = _moment(chosen, tree)
    requests = [each for each in asked.requests if each not in done.requests]
    if requests or clicks:
        for name, argument in [*clicks, *(each[1:] for each in requests)]:
            moment = _moment(chosen, _done(chosen, moment, name, argument))
    elif st.session_state.get(PLAYING) and asked == done:
        moment = _stepped(chosen, moment)
    return moment


def _clicked(chosen: Chosen, moment: Moment) -> list[tuple[str, int | None]]:
    """Return what was clicked in the bars or the text, if it was this text that was on screen."""
    token = next_bars.forced(chosen.writer.tokenizer, moment.tree.current.ids)
    if token is not None:
        return [("force", token)]
    word = clicked(WORDS, version(_window(chosen, moment)))
    if not isinstance(word, int | float):
        return []
    return [("back", moment.forecast.dropped + int(word))]


def _done(chosen: Chosen, moment: Moment, name: str, argument: int | None) -> Tree:
    """Return the tree after one request."""
    tree, number = moment.tree, argument or 0
    if name == "force" and not tree.full:
        return feedback_tree.force(tree, moment.token(number, forced=True), moment.drawn)
    if name == "back":
        return feedback_tree.back(tree, number)
    if name == "restore":
        return feedback_tree.restore(tree)
    if name == "restart":
        return feedback_tree.planted(chosen.prompt)
    if name == "choose":
        return feedback_tree.choose(tree, number)
    return tree


def _stepped(chosen: Chosen, moment: Moment) -> Moment:
    """Go on by the token that is drawn here, unless the text ends here."""
    if _end(chosen, moment.tree) is not None:
        return moment
    return _moment(chosen, feedback_tree.step(moment.tree, moment.drawn))


def _end(chosen: Chosen, tree: Tree) -> str | None:
    """Return why the text does not go on: the stop character was drawn, or it is long enough."""
    last = tree.current.tokens[tree.current.at - 1]
    if last.u is not None and last.id == chosen.stop:
        return "stop"
    return "full" if tree.full else None


def _draw(
    page: Frame, chosen: Chosen, moment: Moment, text: DeltaGenerator, bars: DeltaGenerator
) -> None:
    end = _end(chosen, moment.tree)
    if end and st.session_state.get(PLAYING):
        st.session_state[PLAYING] = False
        st.rerun()
    with text:
        _text(page, chosen, moment)
        _buttons(page, moment.tree, end)
    with bars:
        _last(page, chosen, moment, end)
        view = next_bars.view_of(moment.tree.current.ids)
        u = None if is_greedy(moment.drawing) else moment.u
        next_bars.next_token(page, chosen.writer.tokenizer, moment.forecast, u, view)
        st.caption(page.t("bars.about"))
        tied = next_bars.n_equals_cut(moment.forecast)
        if tied:
            st.caption(page.t("bars.tied", count=tied))


def _text(page: Frame, chosen: Chosen, moment: Moment) -> None:
    """The window in large words with the last one's row; above it what the window has dropped."""
    tokenizer, forecast = chosen.writer.tokenizer, moment.forecast
    if forecast.dropped:
        ids = moment.tree.current.ids[: forecast.dropped]
        gone = shown("".join(tokenizer.label(i) for i in ids))
        block = chosen.writer.bundle.model.config.block_size
        st.markdown(page.t.markdown("window.dropped", count=forecast.dropped, block=block))
        st.markdown(page.t.markdown("window.gone", text=gone))
    rows = forecast.rows[chosen.layer]  # (H, T)
    weights = rows.mean(axis=0) if chosen.head is None else rows[chosen.head]
    row = WordRow(weights, query=len(weights) - 1)
    sentence(page, _window(chosen, moment), row, key=WORDS)


def _window(chosen: Chosen, moment: Moment) -> list[str]:
    """Return the labels of the tokens that the model still sees."""
    ids = moment.tree.current.ids[moment.forecast.dropped :]
    return [chosen.writer.tokenizer.label(i) for i in ids]


def _buttons(page: Frame, tree: Tree, end: str | None) -> None:
    playing = bool(st.session_state.get(PLAYING))
    with st.container(horizontal=True, width=form.BUTTONS_WIDTH):
        can_step, can_go_back = end is None and not playing, tree.n_drawn > 0 and not playing
        counting_button(page, page.t("lab.step"), enabled=can_step, main=True, key=STEP)
        if st.button(
            page.t("lab.pause" if playing else "lab.play"),
            key="feedback.play",
            disabled=end is not None and not playing,
            on_click=_toggle,
            width="stretch",
        ):
            st.rerun()  # the fragment has to beat, or to rest
        counting_button(page, page.t("lab.back"), enabled=can_go_back, key=BACK)
        # A click on a word cuts off all behind it; the row keeps its place when it does.
        st.button(
            page.t("lab.restore"),
            key="feedback.restore",
            help=page.t("lab.restore_help"),
            disabled=tree.n_ahead == 0 or playing,
            on_click=_ask,
            args=("restore",),
            width="stretch",
        )
        st.button(
            page.t("lab.restart"),
            key="feedback.restart",
            disabled=len(tree.branches) == 1 and tree.n_drawn == 0,
            on_click=_ask,
            args=("restart",),
            width="stretch",
        )


def _ask(name: str, argument: int | None = None) -> None:
    before = tuple(st.session_state.get(ASKED, ()))
    number = before[-1][0] + 1 if before else 1
    st.session_state[ASKED] = (*before, (number, name, argument))[-REQUESTS_KEPT:]


def _toggle() -> None:
    st.session_state[PLAYING] = not st.session_state.get(PLAYING)
    _ask("none")  # the next beat takes the first step


def _last(page: Frame, chosen: Chosen, moment: Moment, end: str | None) -> None:
    """Say how the last token came, and whether the text ends here."""
    last = moment.tree.current.tokens[moment.tree.current.at - 1]
    values = {"token": shown(chosen.writer.tokenizer.label(last.id)), "p": last.probability or 0.0}
    kind = _kind(last, moment.drawing)
    st.markdown(page.t.markdown(f"last.{kind}", u=last.u or 0.0, **values))
    if end:
        st.info(page.t.markdown(f"end.{end}", most=feedback_tree.MAX_TOKENS, **values))


def _kind(last: Token, drawing: Drawing) -> str:
    """Return how a token came; at temperature 0 no random number decides."""
    if last.u is None:
        return "prompt_greedy" if is_greedy(drawing) else "prompt"
    if last.forced:
        return "forced"
    return "greedy" if is_greedy(last.drawing) else "drawn"


def is_greedy(drawing: Drawing | None) -> bool:
    """Whether the likeliest token is taken, whatever the random number is."""
    return drawing is not None and drawing.sampling.temperature == 0


def _pick(page: Frame, chosen: Chosen, tree: Tree) -> None:
    """Any character of the vocabulary, to be put in by force."""
    labels = chosen.writer.tokenizer.characters
    with st.container(horizontal=True, vertical_alignment="bottom"):
        index = select(
            page.t("force.label"),
            range(len(labels)),
            key=form.FORCE,
            usual=0,
            name=lambda i: shown(labels[i]),
            width=150,
        )
        st.button(
            page.t("force.button"),
            key="feedback.force_it",
            disabled=tree.full,
            on_click=_ask,
            args=("force", index),
        )


def _branches(page: Frame, chosen: Chosen, tree: Tree) -> None:
    """All branches side by side; a button goes on with another one."""
    if len(tree.branches) < 2:
        st.caption(page.t("branch.none"))
        return
    st.markdown(f"**{page.t('branch.title')}**")
    for start in range(0, len(tree.branches), BRANCHES_IN_A_ROW):
        some = tree.branches[start : start + BRANCHES_IN_A_ROW]
        for branch, column in zip(some, st.columns(BRANCHES_IN_A_ROW), strict=False):
            with column.container(border=True, height="stretch"):
                _branch(page, chosen, tree, branch)


def _branch(page: Frame, chosen: Chosen, tree: Tree, branch: Branch) -> None:
    key = "branch.first" if branch.parent is None else "branch.forked"
    place = branch.fork + 1
    st.caption(page.t(key, number=branch.number, parent=branch.parent, place=place))
    st.markdown(_told(chosen, branch, feedback_tree.shared_length(branch, tree.branches)))
    st.button(
        page.t("branch.here" if branch.number == tree.active else "branch.switch"),
        key=f"feedback.branch.{branch.number}",
        disabled=branch.number == tree.active,
        on_click=_ask,
        args=("choose", branch.number),
    )


def _told(chosen: Chosen, branch: Branch, common: int) -> str:
    """Return a branch as Markdown: what it shares in grey, what was forced marked."""
    label = chosen.writer.tokenizer.label
    before = shown("".join(label(token.id) for token in branch.tokens[:common]))
    cut = "…" if len(before) > PREFIX_SHOWN else ""
    pieces = [f":gray[{cut}{markdown_plain(before[-PREFIX_SHOWN:])}]"] if before else []
    for token in branch.tokens[common : min(branch.at, common + LONGEST_SHOWN)]:
        text = markdown_plain(shown(label(token.id)))
        pieces.append(f":orange-background[{text}]" if token.forced else text)
    return "".join(pieces)
