"""The output fed back: generate step by step, fork, and measure what a KV cache saves."""

from pages._labs.feedback import cost, lab
from pages._ui.base.guard import guarded
from pages._ui.frame.frame import footer, frame
from pages._ui.session.jobs import session_jobs


def main() -> None:
    page = frame("feedback")
    session_jobs()
    lab.lab(page)
    with guarded(page.lang):
        cost.mask(page)
    with guarded(page.lang):
        cost.memory(page)
    with guarded(page.lang):
        cost.cost(page)
    footer(page.lang)


main()
