"""Connections: by which way a word reaches another in RNN, convolution and Transformer."""

from pages._ui import connections_guide, connections_maps, connections_runs, connections_table
from pages._ui.connections_form import choose_settings
from pages._ui.frame import footer, frame, guarded


def main() -> None:
    page = frame("connections")
    with guarded(page.lang):
        connections_maps.show(page)
    with guarded(page.lang):
        settings = choose_settings(page)
        connections_runs.far(page, settings)
    with guarded(page.lang):
        connections_runs.few_data(page, settings)
    with guarded(page.lang):
        connections_runs.clock(page, settings)
    with guarded(page.lang):
        connections_table.show(page)
    with guarded(page.lang):
        connections_guide.show(page)
    footer(page.lang)


main()
