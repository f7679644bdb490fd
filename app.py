"""The home page: the question, the answer alive, a model to train, demos, a door to each lab."""

from pages._ui.base.guard import guarded
from pages._ui.frame.frame import footer, frame


def main() -> None:
    page = frame("home")
    # Torch comes with them, and takes seconds at a server's first request: show the title first.
    from pages._labs.home import gallery, view
    from pages._ui.lessons import doors

    view.style()
    with guarded(page.lang):
        view.pair_alive(page)
        view.train_button(page)
    with guarded(page.lang):
        gallery.gallery(page)
    doors.doors(page)
    view.doors(page)
    view.name_explained(page)
    footer(page.lang)


main()
