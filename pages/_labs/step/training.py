"""What the step page trains live: heads that divide relations, and three ways to tell positions."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from owi_core.errors import OwiError
from owi_core.events import Diverged, Finished, StepDone
from owi_core.experiments import pronoun
from owi_core.experiments import relations as relations_lab
from owi_core.jobs.film import metric, thinned
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._ui.base.guard import guarded
from pages._ui.base.i18n import error_text
from pages._ui.base.page import Frame
from pages._ui.draw.components import LossSoFar, live_run
from pages._ui.draw.forms import segments
from pages._ui.draw.run_panel import R, progress_text, result_of, runs_of, uniform_nats
from pages._ui.draw.run_settings import say_settings
from pages._ui.session.jobs import session_jobs
from pages._ui.session.state import kept_value

POLL_SECONDS = 0.4
MOST_RUNS = 8  # as many as a session keeps
RELATIONS = ("thing", "person", "doer")
HEADS = (1, 2, 4)
POSITIONS = ("none", "learned", "sinusoidal")
N_HEAD = "step.relation_heads"
# `swap` offers two nouns: who guesses is right half the time.
GOOD, CHANCE, ALIKE = 0.98, 0.6, 0.05
# Small enough for three of them in a lesson; without a causal mask nothing else gives the order.
SWAP: Mapping[str, Any] = {
    "family": "swap", "d_model": 64, "d_mlp": 64, "mask": "bidirectional", "n_train": 6000,
}  # fmt: skip

Wanted = Callable[[Run], bool]


def relations(page: Frame) -> None:
    """Train a model on three relations and tell which head carries which."""
    st.subheader(page.t("relations.title"), anchor=False)
    st.markdown(page.t("relations.about"))
    with guarded(page.lang):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            n_head = segments(page.t("step.heads"), HEADS, key=N_HEAD, usual=4)
            if st.button(page.t("relations.train"), key="step.relations.train", type="primary"):
                session_jobs().start("relations", {"n_head": n_head})
        _watched(page, "relations", _relation_results)


def positions(page: Frame) -> None:
    """Train `swap` with no, learned and sinusoidal positions, one after the other."""
    st.subheader(page.t("positions.trained"), anchor=False)
    st.markdown(page.t("positions.trained_about"))
    with guarded(page.lang):
        if st.button(page.t("positions.train"), key="step.positions.train", type="primary"):
            for name in POSITIONS:
                session_jobs().start("pronoun", {**SWAP, "positions": name})
        _watched(page, "pronoun", _position_results)


def _watched(page: Frame, experiment: str, results: Callable[[Frame, list[Run]], None]) -> None:
    """Draw this page's runs of an experiment, again and again while one is under way."""
    runs = _own_runs(experiment)
    busy = any(run.state not in ENDED for run in runs)
    poll = POLL_SECONDS if busy else None
    st.fragment(run_every=poll)(_live)(page, experiment, results, busy)


def _live(
    page: Frame, experiment: str, results: Callable[[Frame, list[Run]], None], busy: bool
) -> None:
    runs = _own_runs(experiment)
    under_way = [run for run in runs if run.state not in ENDED]
    if busy and not under_way:
        st.rerun()
    for run in runs[-3:]:
        _failure(page, run)
    if under_way:
        _progress(page, under_way[0], len(under_way))
    results(page, [run for run in runs if run.latest(Finished)])


def _own_runs(experiment: str) -> list[Run]:
    """Return this session's runs of an experiment that this page asks for."""
    if experiment != "pronoun":
        return runs_of(experiment, most=MOST_RUNS)
    return runs_of(experiment, lambda run: SWAP.items() <= dict(run.params).items(), most=MOST_RUNS)


def _progress(page: Frame, run: Run, waiting: int) -> None:
    done = run.latest(StepDone)
    more = page.t("training.more", count=waiting - 1) if waiting > 1 else ""
    st.progress(done.step / done.steps if done else 0.0, progress_text(page, run) + more)
    _controls(page, run)
    if done is None:
        return
    evaluated = metric(run.evaluated, "accuracy_heldout")
    uniform = uniform_nats(run)
    curve = LossSoFar(thinned(run.losses), done.steps, evaluated, uniform_nats=uniform)
    live_run(page, curve, key=f"step.live.{run.id}")


def _controls(page: Frame, run: Run) -> None:
    """Offer to pause a run or to go on with it, and to stop it."""
    paused = run.state == "paused"
    name = "resume" if paused else "pause"
    act: Callable[..., Any] = run.resume if paused else run.pause
    # Who shares a run with others may leave it, but not hold it up for them.
    may_act = paused or (run.state in ("queued", "running") and run.others == 0)
    with st.container(horizontal=True, width=320):
        st.button(
            page.t(f"button.{name}"),
            key=f"step.{name}.{run.id}",
            disabled=not may_act,
            on_click=act,
            width="stretch",
        )
        st.button(
            page.t("button.stop"), key=f"step.stop.{run.id}", on_click=run.stop, width="stretch"
        )


def _failure(page: Frame, run: Run) -> None:
    if run.code:
        st.error(error_text(page.lang, OwiError(run.code, **run.values)), icon=":material/warning:")
    elif run.latest(Diverged):
        st.warning(page.t("training.diverged"))


def _relation_results(page: Frame, runs: list[Run]) -> None:
    if not runs:
        return
    asked = {"n_head": kept_value(N_HEAD, 4, among=HEADS)}
    if say_settings(page, runs[-1], asked, key="step.relations"):
        session_jobs().start("relations", asked)
        st.rerun()
    result = _result(runs[-1], relations_lab.Result)
    st.markdown(_knock_out_table(page, result))
    st.markdown("\n".join(f"- {line}" for line in _told(page, result)))
    latest = {
        len(found.knock_out_nats[0]): found
        for found in (_result(run, relations_lab.Result) for run in runs)
    }
    st.markdown(_heads_table(page, latest))
    st.markdown(page.t(f"relations.{_few_heads(latest)}"))


def _knock_out_table(page: Frame, result: relations_lab.Result) -> str:
    """Return relation × head: change of log p without the head, and in brackets its look."""
    heads = range(len(result.knock_out_nats[0]))
    titles = [page.t("relations.head", head=h + 1) for h in heads]
    rows = [
        [page.t(f"relations.{name}"), *(_cell(result, r, h) for h in heads)]
        for r, name in enumerate(RELATIONS)
    ]
    return page.t("relations.table") + "\n\n" + _table(["", *titles], rows)


def _cell(result: relations_lab.Result, relation: int, head: int) -> str:
    change = result.knock_out_nats[relation][head]
    look = result.weight_on_meant[relation][head]
    written = f"{change:+.2f}".replace("-", "−")
    return f"**{written}** ({look:.2f})" if change <= -0.5 else f"{written} ({look:.2f})"


def _told(page: Frame, result: relations_lab.Result) -> list[str]:
    """Return what the table says of each relation, chosen by the numbers."""
    lines = []
    for name, changes, how in zip(RELATIONS, result.knock_out_nats, result.carried, strict=True):
        learned = result.accuracy[name] >= GOOD
        head = changes.index(min(changes)) + 1
        values = {
            "relation": page.t(f"relations.{name}"),
            "head": head,
            "nats": f"{-min(changes):.2f}",
            "accuracy": f"{100 * result.accuracy[name]:.0f}",
        }
        lines.append(page.t(f"relations.{how if learned else 'unlearned'}", **values))
    return lines


def _heads_table(page: Frame, latest: Mapping[int, relations_lab.Result]) -> str:
    titles = [page.t("step.heads"), *(page.t(f"relations.{name}") for name in RELATIONS)]
    rows = [
        [str(n), *(f"{100 * result.accuracy[name]:.0f} %" for name in RELATIONS)]
        for n, result in sorted(latest.items())
    ]
    return page.t("relations.by_heads") + "\n\n" + _table(titles, rows)


def _few_heads(latest: Mapping[int, relations_lab.Result]) -> str:
    """Return the code of what fewer heads than relations were seen to do."""
    few = [result for n, result in latest.items() if n < len(RELATIONS)]
    if not few:
        return "few_untried"
    suffered = any(min(result.accuracy.values()) < GOOD for result in few)
    return "few_suffer" if suffered else "few_suffice"


def _position_results(page: Frame, runs: list[Run]) -> None:
    found = {str(run.params["positions"]): _result(run, pronoun.Result) for run in runs}
    if not found:
        return
    rows = [
        [page.t(f"positions.{name}"), f"{100 * found[name].accuracy_heldout:.1f} %"]
        for name in POSITIONS
        if name in found
    ]
    st.markdown(_table([page.t("positions.way"), page.t("positions.accuracy")], rows))
    if len(found) == len(POSITIONS):
        accuracy = {name: found[name].accuracy_heldout for name in POSITIONS}
        for code in _about_positions(accuracy):
            st.markdown(page.t(f"positions.{code}"))


def _about_positions(accuracy: Mapping[str, float]) -> tuple[str, str]:
    """Return the codes of what was seen without positions, and of the two kinds of them."""
    bag = accuracy["none"]
    without = "bag_guesses" if bag < CHANCE else ("bag_learns" if bag >= GOOD else "bag_between")
    gap = accuracy["sinusoidal"] - accuracy["learned"]
    if abs(gap) <= ALIKE:
        return without, "kinds_alike"
    return without, "sinusoidal_sooner" if gap > 0 else "learned_sooner"


def _result(run: Run, kind: type[R]) -> R:
    result = result_of(run, kind)
    assert result is not None  # only finished runs are asked
    return result


def _table(titles: list[str], rows: list[list[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
