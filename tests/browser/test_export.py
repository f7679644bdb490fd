"""What a reader takes home: pictures with Chinese in them, numbers, pages that open offline."""

import base64
import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, expect

from owi_core.checkpoints import shipped
from owi_core.readings import read
from tests.browser.browsing import Look, Server, settled

Open = Callable[..., Page]
SVG_IN_PAGE = ".js-plotly-plot .main-svg"
A, B = "小明把苹果放在桌子上，小红拿走了它", "小明把杯子放在桌子上，小红拿走了它"
# How many pixels of a picture have another colour than its corner, and its size.
INK = """async (base64) => {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const sheet = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
  sheet.drawImage(picture, 0, 0);
  const { data } = sheet.getImageData(0, 0, picture.width, picture.height);
  const words = new Uint32Array(data.buffer);
  return [words.filter((word) => word !== words[0]).length, picture.width, [...data.slice(0, 4)]];
}"""


def open_exports(page: Page, key: str) -> None:
    page.locator(f".st-key-export-{key} button").first.click()
    expect(page.locator(".pictures .take").first).to_be_visible()
    settled(page)


def taken(page: Page, folder: Path, name: str) -> Path:
    """Press the button whose label holds `name`; return the file that comes."""
    with page.expect_download() as download:
        page.get_by_role("button", name=name).last.click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def offline(browser: Browser, file: Path, selector: str) -> Page:
    """Open a file with the network off and wait until it shows what is asked for."""
    context = browser.new_context(offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    expect(page.locator(selector).first).to_be_visible()
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
    return page


def test_figure_goes_home_as_picture_numbers_and_page(
    server: Server, page_at: Open, chromium: Browser, tmp_path: Path
) -> None:
    page = settled(page_at(f"{server.url}/rows?pair=nouns", Look(theme="dark")))
    page.wait_for_selector(SVG_IN_PAGE)
    open_exports(page, "rows-difference")

    png = taken(page, tmp_path, "PNG").read_bytes()
    ink, width, corner = page.evaluate(INK, base64.b64encode(png).decode())
    assert ink > 1000
    assert width >= 1500  # large enough for a slide
    assert corner == [0x10, 0x17, 0x1F, 255]  # the dark surface, no hole

    svg = taken(page, tmp_path, "SVG").read_text("utf-8")
    assert re.search(r"<text[^>]*>.*杯子", svg)
    assert "Noto Sans CJK SC" in svg

    table = taken(page, tmp_path, "CSV").read_bytes()
    assert table.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(table.decode("utf-8-sig"), newline="")))
    told = [float(row[next(iter(row))]) for row in rows]
    bundle = shipped("swap")
    a, b = (read(bundle, text, 10).record.row(10, layer=1) for text in (A, B))
    expected = [*(b - a)[:2], -a[2], b[2], *(b - a)[3:]]
    np.testing.assert_allclose(told, expected, atol=1e-6)

    file = taken(page, tmp_path, "HTML")
    alone = offline(chromium, file, SVG_IN_PAGE)
    assert "杯子" in "".join(alone.locator(".ytick text").all_text_contents())
    assert alone.locator("html").get_attribute("lang") == "zh-CN"
    assert "row_difference" in alone.locator("pre").inner_text()
    alone.context.close()


def test_live_drawing_goes_home_as_its_settled_figure(
    server: Server, page_at: Open, tmp_path: Path
) -> None:
    page = settled(page_at(f"{server.url}/rows", Look(width=390)))
    open_exports(page, "rows-matrix")
    expect(page.get_by_role("dialog").locator(SVG_IN_PAGE).first).to_be_visible()
    svg = taken(page, tmp_path, "SVG").read_text("utf-8")
    assert all(word in svg for word in ("小明", "苹果", "放在", "它"))
    assert 'width="760"' in svg  # not as narrow as the box it is shown in
    widths = page.locator(".stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert widths[0] <= widths[1]


def test_report_has_what_the_page_shows_and_opens_offline(
    server: Server, page_at: Open, chromium: Browser, tmp_path: Path
) -> None:
    page = settled(page_at(f"{server.url}/rows"))
    page.wait_for_selector("canvas.body")
    page.locator(".st-key-rows_side_b input").fill("小明把<b>梨</b>放在桌子上，小红拿走了它")
    page.locator(".st-key-rows_side_b input").press("Enter")
    expect(page.locator(".st-key-rows_side_b button.word").nth(2)).not_to_have_text("杯子")
    settled(page)
    shown = page.locator(".js-plotly-plot").count()
    page.locator(".st-key-owi-report button").first.click()
    settled(page)
    file = taken(page, tmp_path, "下载报告")

    report = offline(chromium, file, "figure img")
    drawings = report.locator("figure img[src^='data:image/svg+xml']")
    assert drawings.count() == shown
    sizes = report.locator("figure img").evaluate_all("all => all.map((one) => one.naturalWidth)")
    assert len(sizes) == shown + 2  # the matrix and the grid of heads, which are canvases
    assert min(sizes) > 100
    text = report.locator("body").inner_text()
    assert page.locator("h1").inner_text() in text
    assert "<b>" in text  # as typed, never as markup
    assert report.locator("b").count() == 0
    for part in ("seed = 0", "row_difference", "每行和为 1", "层: 2"):
        assert part in text, part
    assert "<script" not in file.read_text("utf-8")
    assert not re.search(r"(src|href)=.https?:", file.read_text("utf-8"))
    pages = report.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", pages)) >= 2
    report.context.close()
