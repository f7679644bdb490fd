"""The share button and its dialog: the link to what is shown, a copy button, a code to scan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from owi_core.checkpoints import FILE_NAME
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import SHAREABLE
from owi_core.untrusted import LONGEST_TEXT
from pages._ui.base import links
from pages._ui.base.links import LANGUAGE, RUNS, TRAINED, Recipe
from pages._ui.base.page import Frame
from pages._ui.draw.scan import scan_code, show_link
from pages._ui.session import recipes, state
from pages._ui.session.models import current_model, current_recipe
from pages._ui.session.state import View, keep

MOST_NAMED = 8


@dataclass(frozen=True)
class Made:
    """A link, and what of the view it cannot hold.

    too_long: names of texts.  private: a typed text is not in the link.  unfinished: a run was
    stopped or is paused.  file: the folder of a model that no link can describe.
    """

    link: str
    too_long: tuple[str, ...] = ()
    private: bool = False
    unfinished: bool = False
    no_recipe: bool = False
    file: Path | None = None


def button(page: Frame, view: View, *, ready: bool) -> None:
    """Draw the button; once pressed, the dialog with the link to the view."""
    label, icon = page.t("share.button"), ":material/share:"
    if st.button(label, key="owi.share", icon=icon, disabled=not ready):
        st.dialog(page.t("share.title"))(_dialog)(page, view)


def link_to(view: View, lang: str, shown: Mapping[str, str] | None = None) -> Made:
    """Return the link that shows a view again, elsewhere.

    shown: parameters for a class or a lesson; None keeps those of the current address.
    """
    shown = _shown_now() if shown is None else shown
    params, dropped = short_params(view, shown)
    params = [(LANGUAGE, lang), *params]
    own = current_model() if view.own_model else None
    recipe = current_recipe() if own else None
    base = st.context.url or ("/" if view.page == "home" else f"/{view.page}")
    link, left_out = links.shortened(base, params)
    unknown = own if recipe is None else None
    typed = [run for run in dropped.runs if run.state in SHAREABLE and run.has_model]
    return Made(
        link,
        (*dropped.texts, *left_out),
        private=any(state.kept_value(key, "") for key in view.private),
        unfinished=any(run.state in ("stopped", "paused") for run in dropped.runs),
        no_recipe=unknown is not None or any(run.state in SHAREABLE for run in dropped.runs),
        file=unknown or next((run.folder for run in reversed(typed)), None),
    )


@dataclass(frozen=True)
class Dropped:
    """What of a view no link can hold: runs without a recipe, names of texts."""

    runs: list[Run]
    texts: list[str]


def short_params(view: View, shown: Mapping[str, str]) -> tuple[list[tuple[str, str]], Dropped]:
    """Return a view as parameters: `shown`, its runs, its model, what differs from the defaults."""
    runs, without = _runs(view)
    recipe = current_recipe() if view.own_model else None
    trained = recipes.parts(TRAINED, recipe) if recipe is not None else []
    values, too_long = _values(view)
    return [*shown.items(), *runs, *trained, *values], Dropped(without, too_long)


def _values(view: View) -> tuple[list[tuple[str, str]], list[str]]:
    """Return what differs from its default as (name, text), and names of what no link can hold."""
    values, too_long = [], []
    for key, default in view.keys.items():
        page, _, name = key.partition(".")
        if page != view.page or key in view.private:
            continue
        text = links.written(state.kept_value(key, default), default)
        if text is None or len(text) > LONGEST_TEXT:
            too_long.append(name)
        elif not state.is_usual(view, key, text):
            values.append((name, text))
    return values, too_long


def _runs(view: View) -> tuple[list[tuple[str, str]], list[Run]]:
    """Return the runs of a view as parameters, and the runs that have none."""
    found: list[Recipe] = []
    without = []
    for _, run in sorted(view.runs.items()):
        sharable = run.state in SHAREABLE and not run.private
        recipe = recipes.recipe_of(run.experiment, run.params) if sharable else None
        if recipe is None:
            without.append(run)
        else:
            found = [*(each for each in found if each != recipe), recipe]
    params = [
        part
        for name, recipe in zip(RUNS, found[-len(RUNS) :], strict=False)
        for part in recipes.parts(name, recipe)
    ]
    return params, without


def _shown_now() -> dict[str, str]:
    """Return the lesson and class of the address, without the answer that the user guessed."""
    now = links.teaching(st.query_params)
    return {name: text for name, text in now.items() if name != links.SAID}


def _choose_shown(page: Frame) -> dict[str, str]:
    """Draw the choices for a class; return how the link will show the page."""
    now = _shown_now()
    for name, text in ((links.TEACH, "1"), (links.HIDE, "controls")):
        label = page.t(f"share.{name}")
        if st.toggle(label, key=keep(f"share.{name}_view", name in now)):
            now[name] = text
        else:
            now.pop(name, None)
    return now


def _left_out(page: Frame, view: View, names: Sequence[str]) -> None:
    """Name what the link does not hold as the page does, and offer the texts among it as a file."""
    keys = {name: f"{view.page}.{name}" for name in names}
    labels = {name: view.labels.get(key, name) for name, key in keys.items()}
    shown = list(labels.values())[:MOST_NAMED]
    st.caption(page.t.markdown("share.too_long", names=shown, longest=links.LONGEST_LINK))
    # What is not a text is held to the kind of its default here, and comes back empty.
    values = {labels[name]: state.kept_value(key, "") for name, key in keys.items()}
    texts = {label: text for label, text in values.items() if text}
    if texts:
        st.download_button(
            page.t("share.texts"),
            "\n\n".join(f"# {label}\n{text}" for label, text in texts.items()).encode(),
            file_name=f"owi-{view.page}.txt",
            mime="text/plain",
            on_click="ignore",
            key="owi.share_texts",
        )


def _dialog(page: Frame, view: View) -> None:
    t = page.t
    st.markdown(t("share.about"))
    made = link_to(view, page.lang, _choose_shown(page))
    show_link(page, made.link, key="owi.share_link")
    for name in ("private", "unfinished", "no_recipe"):
        if getattr(made, name):
            st.caption(t(f"share.{name}"))
    if made.too_long:
        _left_out(page, view, made.too_long)
    if made.file is not None:
        st.download_button(
            t("share.file"),
            (made.file / FILE_NAME).read_bytes,
            file_name="owi-model.safetensors",
            mime="application/octet-stream",
            on_click="ignore",
            key="owi.share_file",
        )
    scan_code(page, made.link)
