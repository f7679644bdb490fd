"""The gallery: every card's link opens the state that it promises, and leaves nothing unused."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from owi_core.demos import DEMOS, Demo
from pages._labs.home.demo_links import link_of
from pages._labs.home.gallery import KEY, parameters
from pages._ui.base import links
from pages._ui.base.i18n import translator
from tests.pages_under_test import SHARE, calm, component_data, kept_by, opened

LANGUAGES = pytest.mark.parametrize("lang", ["zh", "en"])


@pytest.mark.parametrize("demo", DEMOS, ids=[demo.name for demo in DEMOS])
def test_a_demos_link_opens_its_state_and_ignores_nothing(demo: Demo) -> None:
    link = link_of(demo)
    app = calm(opened(link.page, **parameters(demo, "en")))
    told = [caption.value for caption in app.main.caption if caption.value.startswith(SHARE)]
    assert told == []
    kept, view = kept_by(app), app.session_state["owi.view"]
    for name, text in link.params:
        key = f"{link.page}.{name}"
        assert links.written(kept[key], view.keys[key]) == text.replace(", ", ","), name


@LANGUAGES
def test_home_has_a_card_for_every_demo_with_its_link_and_its_numbers(lang: str) -> None:
    cards = component_data(calm(opened("home", lang=lang)), KEY)["cards"]
    t = translator(lang, "gallery")
    assert [card["title"] for card in cards] == [t(f"demo.{demo.name}") for demo in DEMOS]
    for card, demo in zip(cards, DEMOS, strict=True):
        parts = urlsplit(card["href"])
        assert parts.path == link_of(demo).page
        assert dict(parse_qsl(parts.query)) == parameters(demo, lang)
        assert any(character.isdigit() for character in card["told"])
        assert "{" not in card["told"]
