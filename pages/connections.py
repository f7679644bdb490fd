"""Connections: by which way a word reaches another in RNN, convolution and Transformer."""

from pages._labs.connections import guide, maps, runs, table
from pages._labs.connections.form import choose_settings
from pages._ui.base.guard import guarded
from pages._ui.frame.frame import footer, frame


def main() -> None:
    page = frame("connections")
    with guarded(page.lang):
        maps.show(page)
    with guarded(page.lang):
        settings = choose_settings(page)
        runs.far(page, settings)
    with guarded(page.lang):
        runs.few_data(page, settings)
    with guarded(page.lang):
        runs.clock(page, settings)
    with guarded(page.lang):
        table.show(page)
    with guarded(page.lang):
        guide.show(page)
    footer(page.lang)


main()
