"""Nobody is kept out: what axe finds on each page in both themes, the keyboard, the focus ring."""

import os
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from owi_core.figures.theme import contrast
from pages._ui.frame.frame import page_entries
from tests.browser.axe import Finding, axe_script, grave
from tests.browser.browsing import APPS, Look, Server, at_rest, serving, settled, slow_but

Open = Callable[..., Page]
Kinds = set[tuple[str, str]]
# The rules whose answer depends on the theme.
OF_COLOURS = ("color-contrast", "link-in-text-block")
PAGES = [entry.name for entry in page_entries("zh")]


@pytest.fixture(scope="session")
def axe() -> str:
    """axe's script; skipped where npm cannot fetch it, except under CI=true."""
    try:
        return axe_script()
    except OSError as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI=true asks for axe-core: {missing}")
        pytest.skip(f"no axe-core: {missing}")


@pytest.fixture(scope="module")
def streamlits_own(chromium: Browser, axe: str, tmp_path_factory: pytest.TempPathFactory) -> Kinds:
    """What axe finds in an empty Streamlit app, as (rule, kind of element), in either theme."""
    with serving(APPS / "empty.py", tmp_path_factory.mktemp("empty")) as empty:
        page = chromium.new_page(color_scheme="light")
        page.goto(empty.url)
        settled(page, heading=False)
        return {(f.rule, f.kind) for f in _in_both_themes(page, axe)}


@pytest.mark.parametrize("name", slow_but(PAGES, ["home", "rows", "train"]))
def test_axe_finds_nothing_grave_in_either_theme(
    server: Server, page_at: Open, axe: str, streamlits_own: Kinds, name: str
) -> None:
    page = settled(page_at(f"{server.url}/{'' if name == 'home' else name}"))
    unfold(page)
    found = _in_both_themes(page, axe)
    ours = [finding for finding in found if (finding.rule, finding.kind) not in streamlits_own]
    assert not ours, "\n".join(map(str, ours))


def unfold(page: Page) -> None:
    """Open every fold, also those inside others."""
    shut = page.locator("details:not([open]) > summary:visible")
    while shut.count():
        shut.first.click()
        at_rest(page)


def _in_both_themes(page: Page, axe: str) -> list[Finding]:
    """Return what axe finds in light, and what its rules about colour find in dark."""
    found = grave(page, axe)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "light => getComputedStyle(document.querySelector('.stApp')).backgroundColor !== light",
        arg="rgb(255, 255, 255)",
    )
    page.wait_for_timeout(200)  # the page is run anew in the other theme
    settled(page, heading=False)
    return found + grave(page, axe, only=OF_COLOURS)


@pytest.fixture(scope="module")
def components(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(APPS / "access.py", tmp_path_factory.mktemp("access")) as running:
        yield running


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_drawing_is_reached_by_keyboard_and_shows_the_focus(
    components: Server, page_at: Open, theme: str
) -> None:
    page = page_at(components.url, Look(theme=theme))
    page.wait_for_selector("canvas.body")
    page.wait_for_selector(".thumbnail canvas")
    settled(page)
    met = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        name, ring = page.evaluate(_FOCUSED)
        met.add(name.split()[0] if name else "")
        if name.split()[:1] in (["word"], ["scroll"], ["thumbnail"]):
            assert contrast(*ring) >= 3, name
    assert {"word", "scroll", "thumbnail"} <= met


def test_each_drawing_says_in_numbers_what_it_shows(components: Server, page_at: Open) -> None:
    page = page_at(components.url)
    page.wait_for_selector(".thumbnail canvas")
    settled(page)
    matrix = page.locator(".scroll")
    expect(matrix).to_have_attribute("aria-label", re.compile("3 × 3；“它”看“苹果”最多：0.750"))
    expect(page.locator(".scroll canvas:not([aria-hidden=true])")).to_have_count(0)
    first = page.locator(".thumbnail").first
    expect(first).to_have_attribute("aria-label", "第 1 层, 平均: 每行最大的权重平均 0.75")
    figure = page.get_by_test_id("stPlotlyChart")
    expect(figure).to_be_visible()
    assert "最大 0.75（苹果" in figure.evaluate("node => node.parentElement.outerHTML")


# The element that has the focus, through shadow roots: its class, its ring's and ground's colours.
_FOCUSED = """() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  const style = getComputedStyle(node);
  const ground = getComputedStyle(document.querySelector('.stApp')).backgroundColor;
  const hex = (colour) => '#' + colour.match(/\\d+/g).slice(0, 3)
    .map((c) => Number(c).toString(16).padStart(2, '0')).join('');
  const ring = style.outlineStyle === 'none' ? ground : style.outlineColor;
  return [String(node.className), [hex(ring), hex(ground)]];
}"""
