"""Opens a page by a link: offers to make its runs and its model again, reports what was ignored.

A link starts no training by itself: anyone can send one, and the queue belongs to all.  What is
stored is shown at once; the rest waits for a button.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress

import streamlit as st

from owi_core.errors import RunError
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._ui.base.i18n import Translator, translator
from pages._ui.base.links import TRAINED, Recipe
from pages._ui.session import models, state
from pages._ui.session.jobs import session_jobs
from pages._ui.session.recipes import params_of, unusable
from pages._ui.session.state import Opened

MOST_NAMES, LONGEST_NAME = 8, 40


def start_runs(experiments: Collection[str]) -> None:
    """Share or offer the runs of these experiments that the page's link names.

    Those that exist already are shown; those that the user has agreed to are started.
    """
    opened = state.opened_link(state.current_view().page)
    if opened is None:
        return
    for name, recipe in opened.link.runs.items():
        if recipe.experiment in experiments:
            opened.claimed.add(name)
            _run_of(opened, name, recipe)


def show_runs(runs: Iterable[Run]) -> None:
    """Note which runs the page shows."""
    state.current_view().runs.update({run.id: run for run in runs})


def waits_for_model(opened: Opened | None) -> bool:
    """Return whether the page must wait for the link's model: it is being trained, or offered.

    When its run has ended, its model becomes the one for all pages.
    """
    if opened is None or opened.settled or opened.link.trained is None:
        return False
    recipe = opened.link.trained
    if models.current_recipe() == recipe:
        opened.settled = True
        return False
    run = _run_of(opened, TRAINED, recipe)
    if TRAINED in opened.offered or (run is not None and run.state not in ENDED):
        return True
    opened.settled = True
    if run is None or run.state != "finished" or not run.has_model:
        opened.refused.setdefault(TRAINED, "")
    else:
        models.use_model(run.folder, session_jobs().folder)
    return False


def give_up_model(opened: Opened) -> None:
    """Show the page without the link's model."""
    opened.settled = True
    opened.offered.pop(TRAINED, None)
    opened.refused[TRAINED] = ""


def agree(opened: Opened) -> None:
    """Start what was offered, in the next run of the page; the callback of its button."""
    opened.agreed |= opened.offered.keys()


def offer(t: Translator, opened: Opened) -> None:
    """Say what the link would train, and draw the button that starts it."""
    for name, params in opened.offered.items():
        recipe = opened.link.trained if name == TRAINED else opened.link.runs[name]
        assert recipe is not None
        kind = "model" if name == TRAINED else "run"
        settings = [f"{key} = {params[key]}" for key in recipe.settings]
        about = {"experiment": recipe.experiment, "settings": settings or "–"}
        st.info(t.markdown(f"share.{kind}_offered", **about), icon=":material/share:")
    label = t("share.train", count=len(opened.offered))
    st.button(label, key="owi.link_train", type="primary", on_click=agree, args=(opened,))


def tell(lang: str) -> None:
    """Write under the title what became of the link that opened the page, and what it offers."""
    view = state.current_view()
    opened = state.opened_link(view.page)
    if opened is None or view.line is None:
        return
    t = translator(lang, "common")
    sentences = _sentences(t, opened)
    if not sentences and not opened.offered:
        return
    with view.line.container():
        if sentences:
            st.caption(":material/share: " + " ".join(sentences))
        if opened.offered:
            offer(t, opened)


def _run_of(opened: Opened, name: str, recipe: Recipe) -> Run | None:
    """Return the run of a link's recipe, submitted as soon as there is room; None if it cannot."""
    if name in opened.runs or name in opened.refused:
        return opened.runs.get(name)
    params = params_of(recipe)
    if params is None:
        bad = [f"{name}.{setting}" for setting in unusable(recipe)]
        opened.refused |= dict.fromkeys([name, *bad], "")
        return None
    jobs = session_jobs()
    if name not in opened.agreed and not jobs.has(recipe.experiment, params):
        opened.offered[name] = params
        return None
    opened.offered.pop(name, None)
    with suppress(RunError):  # too many runs at once: the next script run tries again
        opened.runs[name] = jobs.start(recipe.experiment, params)
    return opened.runs.get(name)


def _sentences(t: Translator, opened: Opened) -> list[str]:
    link = opened.link
    sentences = []
    if link.foreign:
        sentences.append(t.markdown("share.other_version", version=_cut(link.version)))
    if link.cut:
        sentences.append(t("share.cut"))
    if link.repeated:
        names = [_cut(name) for name in link.repeated[:MOST_NAMES]]
        sentences.append(t.markdown("share.repeated", names=names))
    for name, run in opened.runs.items():
        if name not in opened.refused:
            sentences.append(t(_about(name, run)))
    ignored = _ignored(opened)
    if ignored:
        names = [_cut(name) for name in ignored[:MOST_NAMES]]
        more = len(ignored) - len(names)
        sentences.append(t.markdown("share.ignored", names=names))
        if more > 0:
            sentences.append(t("share.ignored_more", count=more))
    return list(dict.fromkeys(sentences))


def _about(name: str, run: Run) -> str:
    kind = "model" if name == TRAINED else "run"
    if run.state not in ENDED:
        return f"share.{kind}_under_way"
    return f"share.{kind}_stored" if run.shared else f"share.{kind}_again"


def _ignored(opened: Opened) -> list[str]:
    """Return the names of what was not used, a number with the range that it must be in."""
    names = dict.fromkeys((name for name in opened.link.runs if name not in opened.claimed), "")
    # While a run is under way, of the link or of the page itself, its result may still use them.
    if not (opened.under_way or state.current_view().awaits_run):
        names |= dict.fromkeys(opened.waiting, "")
    found = opened.refused | {k: v for k, v in names.items() if k not in opened.refused}
    return [f"{name} ({bounds})" if bounds else name for name, bounds in found.items()]


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
