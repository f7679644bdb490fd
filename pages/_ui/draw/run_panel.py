"""A run as every lab shows it: start, pause and stop, how far it is, how it ended.

Its words (button, state, early, shared, ended, remedy) stand in the common catalog; a page's own
catalog may say single ones differently.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import streamlit as st

from owi_core.errors import OwiError
from owi_core.events import Diverged, Evaluated, Finished, Paused, Started, StepDone, Stopped
from owi_core.experiments._kit.results import BaseResult
from owi_core.jobs.film import metric, thinned
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED, SHAREABLE, UNDER_WAY
from pages._ui.base import page_contents
from pages._ui.base.i18n import error_text, field_error_text
from pages._ui.base.page import Frame
from pages._ui.draw import watch_offer
from pages._ui.draw.components import Colour, LossSoFar, WordRow, live_run
from pages._ui.draw.run_settings import say_settings
from pages._ui.draw.watch_offer import Draw
from pages._ui.session import link_replay, state
from pages._ui.session.jobs import session_jobs

POLL_SECONDS = 0.3
ABOVE_NATS = 0.5  # a smaller difference is the luck of the first batch
ACCURACY = "accuracy_heldout"
COLOURS: tuple[Colour, Colour] = ("A", "B")
Matches = Callable[[Run], bool]
Names = Collection[str]
R = TypeVar("R", bound=BaseResult)


def latest_run(
    experiment: str | Names, matches: Matches = lambda run: True, *, remade: bool = False
) -> Run | None:
    """Return this session's newest run of an experiment (or of several), of those that match.

    What the page shows is part of its link; and what the link names that opened the page is
    started here.  remade: the page itself makes this run again, from what it keeps.
    """
    found = _matching(experiment, matches) if remade else runs_of(experiment, matches, most=1)
    return found[-1] if found else None


def runs_of(
    experiment: str | Names, matches: Matches = lambda run: True, *, most: int
) -> list[Run]:
    """Return the newest runs that match, at most so many, oldest first."""
    link_replay.start_runs(_names(experiment))
    found = _matching(experiment, matches)[-most:]
    link_replay.show_runs(found)
    return found


def run_lab(
    page: Frame,
    experiment: str,
    params: Mapping[str, Any],
    *,
    name: str = "",
    matches: Matches = lambda run: True,
    draw: Draw | None = None,
    private: bool = False,
) -> Run | None:
    """Draw the whole life of a lab's run and return it; start one when the button is pressed.

    name distinguishes several panels of a page.  matches: which runs of the experiment belong
    here.  draw: what to show while it is under way; the loss curve where it is left out.
    """
    panel = Panel.of(page, latest_run(experiment, matches=matches), name)
    if panel.buttons():
        session_jobs().start(experiment, params, replaces=panel.run, private=private)
        st.rerun()
    if panel.run is None:
        return None
    panel.let_watch(draw)
    panel.watch(draw)
    if panel.settings_changed(params):
        session_jobs().start(experiment, params, replaces=panel.run, private=private)
        st.rerun()
    panel.outcome()
    panel.offer_again()
    return panel.run


def result_of(run: Run | None, kind: type[R]) -> R | None:
    """Return the result of a run that came to its end, as the experiment declares it."""
    finished = run.latest(Finished) if run else None
    return kind.from_dict(finished.result) if finished else None


def verdict(page: Frame, run: Run, box: Callable[..., Any] | None = None) -> None:
    """Say what the run's own verdict says, in the words of the page's catalog."""
    finished = run.latest(Finished)
    if finished is None:
        return
    code, values = finished.verdict["code"], finished.verdict.get("values", {})
    show = box or (st.success if finished.verdict.get("passed") else st.warning)
    show(page.t.markdown(f"verdict.{code}", **values))


@dataclass(frozen=True)
class Panel:
    """A run in the state it had when the page began to draw it.

    The run goes on meanwhile: buttons and watch must speak of one and the same moment, or a run
    that ends between them is never drawn again.
    """

    page: Frame
    run: Run | None
    state: str
    name: str

    @classmethod
    def of(cls, page: Frame, run: Run | None, name: str = "") -> "Panel":
        """Note the present state of the run.  name distinguishes several panels of a page."""
        key = f"{page.t.name}-{name}" if name else page.t.name
        if run is not None:
            page_contents.made_by(f"{run.experiment} {run.id}", run.params)
        return cls(page, run, run.state if run else "none", key)

    def buttons(self) -> bool:
        """Draw start, pause or resume, and stop; return whether start was pressed.

        The others act before the page is run again: a stop should not wait for it to be drawn.
        """
        run, state = self.run, self.state
        shared = run is not None and run.others > 0
        can_start = state in (*ENDED, "none", "paused")
        with st.container(horizontal=True, width=620):
            started = self._button("start", can_start, main=state != "paused")
            if run is not None and state == "paused":
                self._button("resume", True, run.resume, main=True)
            else:
                can_pause = state in ("queued", "running") and not shared
                self._button("pause", can_pause, run.pause if run else None)
            can_stop = state in ("queued", "running", "paused")
            self._button("stop", can_stop, run.stop if run else None)
        if shared and state in UNDER_WAY:
            st.caption(self.page.t("shared.no_pause"))
        return started

    def let_watch(self, draw: Draw | None = None) -> None:
        """Offer a link under which a class follows this run and those that come after it here.

        draw: what the class sees of it; see `watch`.
        """
        if self.run is not None:
            watch_offer.offer(self.page, self.name, self.run, draw)

    def watch(self, draw: Draw | None = None) -> None:
        """Draw the run as far as it has come; again and again while it is under way.

        draw: draws under the progress while there are steps; by default the loss.
        """
        poll = POLL_SECONDS if self.state in UNDER_WAY else None
        state.current_view().awaits_run |= poll is not None
        st.fragment(run_every=poll)(self._live)(draw)

    def show_now(self, draw: Draw | None = None) -> None:
        """Draw the run so far, once; rerun the page when the state of the run has changed."""
        run = self.run
        assert run is not None
        done = run.latest(StepDone)
        # Drawn before the page is rerun: a poll that ends with nothing leaves the browser an
        # empty place, and what it was still drawing there has nowhere to go.
        st.progress(min(_share_done(run), 1.0), progress_text(self.page, run))
        if run.state != self.state:
            st.rerun()
        for remark in remarks(self.page, run):
            st.caption(remark)
        if draw is not None:
            draw(self.page, run)
        elif done is not None and run.state not in ENDED:
            loss(self.page, run)

    def settings_changed(self, asked: Mapping[str, Any] | None, experiment: str = "") -> bool:
        """Say what the ended run is of; return whether the page's settings are to be run instead.

        asked: the settings on the page, None where they cannot be read.  experiment: what they
        are of, by default the run's own.
        """
        if self.run is None or self.state not in ENDED:
            return False
        return say_settings(self.page, self.run, asked, experiment=experiment, key=self.name)

    def outcome(self) -> None:
        """Say how the run ended, in words chosen by what was measured."""
        run, page = self.run, self.page
        if run is None:
            return
        diverged, stopped = run.latest(Diverged), run.latest(Stopped)
        if run.code:
            error = OwiError(run.code, **run.values)
            st.error(field_error_text(page.t, error), icon=":material/warning:")
        elif diverged is not None:
            st.warning(_divergence(page, diverged), icon=":material/trending_up:")
        elif run.latest(Finished) is not None:
            verdict(page, run)
        elif stopped is not None:
            st.info(page.t.markdown("ended.stopped", step=stopped.step))
        elif run.state == "stopped":
            st.info(_stopped_unheard(page, run))

    def offer_again(self) -> None:
        """Say when this run was not trained for this session alone, and offer to train it again."""
        run = self.run
        if run is None or not run.shared or run.state not in SHAREABLE:
            return
        key = "shared.stored" if run.state in ENDED else "shared.under_way"
        st.info(self.page.t(key), icon=":material/inventory_2:")
        if st.button(self.page.t("shared.again"), key=f"{self.name}.fresh"):
            session_jobs().start(run.experiment, run.params, private=run.private, fresh=True)
            st.rerun()

    def _button(
        self, name: str, enabled: bool, act: Callable[[], Any] | None = None, main: bool = False
    ) -> bool:
        return st.button(
            self.page.t(f"button.{name}"),
            type="primary" if main else "secondary",
            disabled=not enabled,
            on_click=act,
            key=f"{self.name}-{name}",
            width="stretch",
        )

    def _live(self, draw: Draw | None) -> None:
        session_jobs()  # the session is present
        self.show_now(draw)


def remarks(page: Frame, run: Run) -> list[str]:
    """Return what the run reports of settings that do not act as they were set."""
    begun = run.latest(Started)
    found = begun.remarks if begun is not None else []
    return [
        f":material/warning: {error_text(page.lang, OwiError(each.code, **each.values))}"
        for each in found
    ]


def only_progress(_page: Frame, _run: Run) -> None:
    """Draw nothing under a run's progress."""


def _names(experiment: str | Names) -> Names:
    return (experiment,) if isinstance(experiment, str) else experiment


def _matching(experiment: str | Names, matches: Matches) -> list[Run]:
    names = _names(experiment)
    return [run for run in session_jobs().runs if run.experiment in names and matches(run)]


def loss(
    page: Frame,
    run: Run,
    *,
    floor_nats: float | None = None,
    labels: Sequence[str] = (),
    row: WordRow | None = None,
) -> None:
    """Draw the loss of a run under way, and the share of held-out sentences it answers right.

    labels, row: the words of a watched sentence, and the row to draw over them.
    """
    done = run.latest(StepDone)
    curve = LossSoFar(
        thinned(run.losses),
        done.steps if done else 1,
        metric(run.evaluated, ACCURACY),
        floor_nats=floor_nats,
        uniform_nats=uniform_nats(run),
    )
    live_run(page, curve, labels=labels, row=row, key=f"{page.t.name}.live.{run.id}")


def both_losses(
    page: Frame,
    run: Run,
    names: Mapping[str, str],
    evaluated: str = ACCURACY,
    *,
    evaluated_unit: Literal["share", "nats"] = "share",
    floor_nats: float | None = None,
) -> None:
    """Draw the losses of two models that train together, side by side, while they are under way.

    names: what each is called in the run's events, and on the page.  evaluated: the metric shown
    with the loss.
    """
    done = run.latest(StepDone)
    for (name, label), colour, column in zip(names.items(), COLOURS, st.columns(2), strict=True):
        with column:
            st.markdown(f"**{label}**")
            curve = LossSoFar(
                metric(run.evaluated, f"{name}.train_loss_nats"),
                done.steps if done else 1,
                metric(run.evaluated, f"{name}.{evaluated}"),
                evaluated_unit,
                floor_nats,
                uniform_nats(run),
            )
            live_run(page, curve, colour=colour, key=f"{page.t.name}.live.{name}.{run.id}")


def uniform_nats(run: Run) -> float | None:
    """Return ln V: the loss of a model that gives every token the same probability."""
    begun = run.latest(Started)
    return begun.uniform_nats if begun is not None else None


def loss_note(page: Frame, run: Run, first: float | None) -> None:
    """Say what ln V in a loss chart is, and on which side of it this training began.

    first: the loss of the first step, before any update.
    """
    uniform = uniform_nats(run)
    if uniform is None or first is None:
        return
    above = "starts_above_tied" if run.params.get("tie_weights") else "starts_above"
    side = above if first > uniform + ABOVE_NATS else "starts_near"
    about = page.t("loss.uniform", uniform=uniform, tokens=round(math.exp(uniform)))
    st.caption(f"{about} {page.t(f'loss.{side}', first=first)}")


def progress_text(page: Frame, run: Run) -> str:
    """Return the progress of a run, in a line."""
    done = run.latest(StepDone)
    if run.state == "queued":
        ahead = run.queue_position - 1
        return page.t("state.queued", ahead=ahead) if ahead > 0 else page.t("early.queued")
    if done is None:
        return page.t(f"early.{run.state}")
    return page.t(
        f"state.{run.state}",
        step=done.step,
        steps=done.steps,
        left=f"{done.seconds_left:.0f}",
        seconds=f"{done.seconds:.1f}",
        speed=_compact(done.tokens_per_second),
    )


def _share_done(run: Run) -> float:
    """Return how far a run is; one that only measures counts its measurements."""
    done, begun, measured = (run.latest(kind) for kind in (StepDone, Started, Evaluated))
    if isinstance(done, StepDone):
        return done.step / done.steps
    if isinstance(begun, Started) and isinstance(measured, Evaluated) and begun.steps:
        return measured.step / begun.steps
    return 0.0


def _stopped_unheard(page: Frame, run: Run) -> str:
    """Say what is left of a run whose worker had no time, or was not there, to tell of its end."""
    paused, done = run.latest(Paused), run.latest(StepDone)
    if run.others:
        return page.t("ended.left")
    if paused is not None:
        return page.t("ended.stopped", step=paused.step)
    return page.t("ended.not_begun" if done is None else "ended.not_saved")


def _divergence(page: Frame, event: Diverged) -> str:
    sentence = page.t.markdown("ended.diverged", step=event.step)
    settings = "、".join(f"`{name} = {value}`" for name, value in event.settings.items())
    return f"{sentence} {settings}\n\n{page.t(f'remedy.{event.remedy}')}"


def _compact(number: float) -> str:
    return f"{number / 1000:.0f}k" if number >= 10_000 else f"{number:.0f}"
