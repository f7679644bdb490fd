"""The address bar of a page: the token of the visit, and the page's state in its shortest form."""

from collections.abc import Callable
from functools import wraps
from urllib.parse import parse_qsl

import streamlit as st
from streamlit.delta_generator import DeltaGenerator as Box

from pages._ui.base import links
from pages._ui.base.entries import HOME
from pages._ui.base.mounting import mount
from pages._ui.base.page import Frame
from pages._ui.frame import share
from pages._ui.session import state, visit
from pages._ui.session.state import View


def write(place: Box, view: View, lang: str, key: str = "owi.address") -> None:
    """Let the address say what the page shows, by a component that is not seen."""
    query = query_of(view, lang)
    state.note_address(view.page, dict(parse_qsl(query, keep_blank_values=True)))
    page = "" if view.page == HOME else view.page
    with place:
        mount("address")(key=key, data={"page": page, "query": query})


def following(
    body: Callable[[Frame], None], run_every: float | None = None
) -> Callable[[Frame], None]:
    """Make a part of a page a fragment whose own runs keep the address in step as well."""

    @st.fragment(run_every=run_every)
    @wraps(body)
    def drawn(page: Frame) -> None:
        body(page)
        follow(page)

    return drawn


def follow(page: Frame) -> None:
    """Write the address at the end of a fragment; a run of the whole page does it in its footer."""
    view = state.current_view()
    if view.ended:
        visit.save()
        # A fragment cannot draw a component into the sidebar, which belongs to the whole page.
        write(st.container(), view, page.lang, key="owi.address_followed")


def query_of(view: View, lang: str) -> str:
    """Return the query of the page's address.

    In a lesson it is the lesson's: it names the step and its view.  While a link's training waits
    for the reader's word, the address is still that link.
    """
    now = st.query_params.to_dict()
    ours = [(links.LANGUAGE, lang), (links.VISIT, visit.token())]
    opened = state.opened_link(view.page)
    if links.LESSON in now or (opened is not None and opened.offered):
        rest = [(name, now[name]) for name in now if name not in (links.LANGUAGE, links.VISIT)]
        return links.query([ours[0], *rest, ours[1]])
    shown = {name: now[name] for name in (links.TOKEN,) if name in now} | links.teaching(now)
    params, _ = share.short_params(view, shown)
    kept, _ = links.fitting([ours[0], *params, ours[1]], links.query)
    return links.query(kept)
