"""A class follows its teacher in real browsers: nothing to press, no slot taken, nobody held up."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.browsing import Look, Server, set_number, settled, take_shot
from tests.browser.test_train import workers

expect.set_options(timeout=120_000)

Open = Callable[..., Page]


STEP = re.compile(r"^第 \d+ / 5000 步 · 还要")


def step_of(page: Page) -> int:
    return int(page.get_by_text(STEP).inner_text().split()[1])


def test_a_class_sees_the_run_go_on_pause_and_end(server: Server, page_at: Open) -> None:
    # Opened first: what a page consists of comes slowly while a run has the processor.
    pupils = [settled(page_at(server.url + "/watch", look)) for look in (Look(), Look(width=390))]
    teacher = page_at(server.url + "/train")
    teacher.set_default_timeout(120_000)
    settled(teacher)
    set_number(teacher, "步数", 5000)
    teacher.get_by_text("▶ 开始训练").click()
    teacher.get_by_role("button", name="让全班看").click()
    teacher.get_by_role("button", name="生成课堂码和链接").click()
    link = teacher.get_by_label("链接")
    expect(link).to_have_value(re.compile(r"/watch\?code=[A-Z0-9]{6}$"))
    expect(teacher.get_by_text("投影出来，用手机扫一扫")).to_be_visible()
    code = pupils[0].get_by_label("老师给的课堂码")
    code.fill(link.input_value()[-6:].lower())
    code.press("Enter")
    pupils[1].set_default_timeout(120_000)
    pupils[1].goto(link.input_value())
    for pupil in pupils:
        expect(pupil.get_by_text(STEP)).to_be_visible()
        expect(pupil.get_by_text("这一行正在长出来")).to_be_visible()
        for name in ("开始训练", "暂停", "停止", "让全班看"):
            expect(pupil.get_by_role("button", name=name)).to_have_count(0)
    pupil = pupils[0]
    pupil.set_default_timeout(120_000)
    seen = step_of(pupil)
    pupil.wait_for_function(
        "seen => [...document.querySelectorAll('p')].some(p =>"
        " Number((p.textContent.match(/^第 (\\d+) . 5000 步 · 还要/) ?? [])[1]) > seen)",
        arg=seen,
    )
    assert len(workers(server)) == 1
    pupils[1].context.close()  # who leaves holds nothing up
    teacher.keyboard.press("Escape")
    teacher.get_by_role("button", name="暂停").click()  # allowed: the class does not count
    expect(pupil.get_by_text(re.compile("^已暂停在第"))).to_be_visible()
    take_shot(pupil, "watch-paused")
    teacher.get_by_role("button", name="停止").click()
    expect(pupil.get_by_text(re.compile("^已停在第"))).to_be_visible()
    pupil.reload()
    expect(pupil.get_by_text(re.compile("^已停在第"))).to_be_visible()
    take_shot(pupil, "watch-stopped")
