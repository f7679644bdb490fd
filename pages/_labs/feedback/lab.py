"""The lab: a text that goes on one token at a time, forwards and back, and forks."""

from dataclasses import dataclass

import streamlit as st

from owi_core.generation import Forecast, draw
from pages._labs.feedback import form, models, next, saved
from pages._labs.feedback import tree as feedback_tree
from pages._labs.feedback.form import Chosen, shown
from pages._labs.feedback.tree import Branch, Token, Tree
from pages._ui.base.escape import markdown_plain
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.draw.components import sentence
from pages._ui.draw.counting_button import counting_button, presses
from pages._ui.draw.forms import select

TREE, PLAYING, ASKED, WORDS = (
    "feedback.tree", "feedback.playing", "feedback.asked", "feedback.words"
)  # fmt: skip
STEP, BACK = "feedback.step", "feedback.back"
TICK_SECONDS = 0.9
BRANCHES_IN_A_ROW, PREFIX_SHOWN, LONGEST_SHOWN = 3, 18, 120


@dataclass(frozen=True)
class Moment:
    """A tree as it stands, what the model says of the next token, and the number for drawing it."""

    tree: Tree
    forecast: Forecast
    u: float

    @property
    def drawn(self) -> Token:
        """The token that u falls on."""
        return self.token(draw(self.forecast.after, self.u))

    def token(self, index: int, *, forced: bool = False) -> Token:
        return Token(index, self.u, float(self.forecast.after[index]), forced)


def lab(page: Frame) -> None:
    """Draw the lab; while it plays it goes on by itself."""
    playing = bool(st.session_state.get(PLAYING))
    st.fragment(run_every=TICK_SECONDS if playing else None)(_lab)(page)


def _lab(page: Frame) -> None:
    with guarded(page.lang):
        figure, knobs, forks, below = (st.container() for _ in range(4))
        chosen = form.choose(page, knobs, below)
        moment = _acted(chosen, _moment(chosen, _tree(chosen)))
        st.session_state[TREE] = (chosen.origin, moment.tree)
        saved.note(moment.tree)
        with figure:
            _draw(page, chosen, moment)
        with forks:
            _pick(page, chosen, moment.tree)
            _branches(page, chosen, moment.tree)


def _tree(chosen: Chosen) -> Tree:
    """Return the session's tree, planted anew when model or prompt is another."""
    origin, tree = st.session_state.get(TREE, (None, None))
    if origin == chosen.origin:
        return tree  # type: ignore[no-any-return]
    st.session_state[PLAYING] = False
    return saved.planted(chosen)


def _moment(chosen: Chosen, tree: Tree) -> Moment:
    forecast = models.forecast(chosen.writer, tree.current.ids, chosen.sampling)
    return Moment(tree, forecast, models.u_of(chosen.seed, tree.n_drawn))


def _acted(chosen: Chosen, moment: Moment) -> Moment:
    """Do what was asked for since the last run, or the next step of the play."""
    asked, argument = st.session_state.pop(ASKED, (None, None))
    steps, backs = presses(STEP), presses(BACK)
    for _ in range(min(steps, feedback_tree.MAX_TOKENS)):
        moment = _stepped(chosen, moment)
    if backs:
        tree = feedback_tree.back(moment.tree, moment.tree.current.at - backs)
        moment = _moment(chosen, tree)
    tree, forced = moment.tree, next.forced()
    word = getattr(st.session_state.get(WORDS), "chosen", None)
    if asked == "force" or (forced is not None and asked is None):
        index = int(argument) if asked == "force" else int(forced or 0)
        if not tree.full:
            tree = feedback_tree.force(tree, moment.token(index, forced=True), moment.drawn)
    elif isinstance(word, int | float) and asked is None:
        tree = feedback_tree.back(tree, moment.forecast.dropped + int(word))
    elif asked == "restart":
        tree = feedback_tree.planted(chosen.prompt)
    elif asked == "choose":
        tree = feedback_tree.choose(tree, int(argument))
    elif st.session_state.get(PLAYING):
        return _stepped(chosen, moment)
    return moment if tree == moment.tree else _moment(chosen, tree)


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


def _draw(page: Frame, chosen: Chosen, moment: Moment) -> None:
    end = _end(chosen, moment.tree)
    if end and st.session_state.get(PLAYING):
        st.session_state[PLAYING] = False
        st.rerun()
    _text(page, chosen, moment)
    _buttons(page, moment.tree, end)
    _last(page, chosen, moment, end)
    next.next_token(page, chosen.writer.tokenizer, moment.forecast, moment.u)
    st.caption(page.t("bars.about"))


def _text(page: Frame, chosen: Chosen, moment: Moment) -> None:
    """The window in large words with the last one's row; above it what the window has dropped."""
    tokenizer, forecast = chosen.writer.tokenizer, moment.forecast
    labels = [tokenizer.label(i) for i in moment.tree.current.ids]
    if forecast.dropped:
        gone = shown("".join(labels[: forecast.dropped]))
        block = chosen.writer.bundle.model.config.block_size
        st.markdown(page.t.markdown("window.dropped", count=forecast.dropped, block=block))
        st.markdown(page.t.markdown("window.gone", text=gone))
    rows = forecast.rows[chosen.layer]  # (H, T)
    row = rows.mean(axis=0) if chosen.head is None else rows[chosen.head]
    sentence(page, labels[forecast.dropped :], weights=row, query=len(row) - 1, key=WORDS)


def _buttons(page: Frame, tree: Tree, end: str | None) -> None:
    playing = bool(st.session_state.get(PLAYING))
    with st.container(horizontal=True, width=640):
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
        st.button(
            page.t("lab.restart"),
            key="feedback.restart",
            disabled=len(tree.branches) == 1 and tree.n_drawn == 0,
            on_click=_ask,
            args=("restart",),
            width="stretch",
        )


def _ask(name: str, argument: int | None = None) -> None:
    st.session_state[ASKED] = (name, argument)


def _toggle() -> None:
    st.session_state[PLAYING] = not st.session_state.get(PLAYING)
    _ask("none")  # the next beat takes the first step


def _last(page: Frame, chosen: Chosen, moment: Moment, end: str | None) -> None:
    """Say how the last token came, and whether the text ends here."""
    last = moment.tree.current.tokens[moment.tree.current.at - 1]
    values = {"token": shown(chosen.writer.tokenizer.label(last.id)), "p": last.probability or 0.0}
    kind = "prompt" if last.u is None else "forced" if last.forced else "drawn"
    st.markdown(page.t.markdown(f"last.{kind}", u=last.u or 0.0, **values))
    if end:
        st.info(page.t.markdown(f"end.{end}", most=feedback_tree.MAX_TOKENS, **values))


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
