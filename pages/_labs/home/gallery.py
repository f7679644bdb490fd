"""The gallery of the home page: ready demos, each a link with a picture made of stored numbers."""

from typing import Any

import streamlit as st

from owi_core.demos import DEMOS, Demo, stored
from owi_core.figures import signed
from pages._labs.home.demo_links import link_of
from pages._ui.base import links, teaching
from pages._ui.base.i18n import Translator, translator
from pages._ui.base.links import END, LANGUAGE, LINK_VERSION, VERSION
from pages._ui.base.page import Frame
from pages._ui.draw.events import clicked, mount_clickable, version
from pages._ui.session.state import forget_link

KEY = "home.gallery"
_SIGNED = ("tied", "untied", "single", "together")


def gallery(page: Frame) -> None:
    """Draw a card for every demo; a click opens it in this session."""
    t = translator(page.lang, "gallery")
    st.subheader(t("title"), anchor=False)
    cards = [_card(page.lang, t, demo) for demo in DEMOS]
    data = {"cards": cards, "theme": page.theme, "text": {"label": t("title")}}
    view = version([demo.name for demo in DEMOS])
    chosen = clicked(KEY, view)
    mount_clickable("gallery", lab="home", key=KEY, data=data, view=view)
    demo = next((demo for demo in DEMOS if demo.name == chosen), None)
    if demo is not None:
        _open(demo, page.lang)


def parameters(demo: Demo, lang: str) -> dict[str, str]:
    """Return the parameters of a demo's link."""
    return {VERSION: str(LINK_VERSION), LANGUAGE: lang, **dict(link_of(demo).params), END: "1"}


def _open(demo: Demo, lang: str) -> None:
    page = link_of(demo).page
    forget_link(page)
    address = {**teaching.carried(), **parameters(demo, lang)}
    st.switch_page(f"pages/{page}.py", query_params=address)


def _card(lang: str, t: Translator, demo: Demo) -> dict[str, Any]:
    picture, link = stored()[demo.name], link_of(demo)
    told = {
        name: signed(value) if name in _SIGNED else value for name, value in picture["told"].items()
    }
    return {
        "name": demo.name,
        "href": links.address(link.page, [(LANGUAGE, lang), *link.params]),
        "title": t(f"demo.{demo.name}"),
        "told": t(f"told.{demo.kind}", **told),
        "picture": {name: value for name, value in picture.items() if name != "told"},
    }
