"""The output fed back: generate step by step, fork, and measure what a KV cache saves."""

from pages._ui import feedback_cost, feedback_lab
from pages._ui.frame import footer, frame, guarded
from pages._ui.seat import seat


def main() -> None:
    page = frame("feedback")
    seat()
    feedback_lab.lab(page)
    with guarded(page.lang):
        feedback_cost.mask(page)
    with guarded(page.lang):
        feedback_cost.memory(page)
    with guarded(page.lang):
        feedback_cost.cost(page)
    footer(page.lang)


main()
