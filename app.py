"""The home page: the question, the answer alive, a model to train, demos, a door to each lab."""

from pages._ui.frame import footer, frame, guarded


def main() -> None:
    page = frame("home")
    # Torch comes with them, and takes seconds at a server's first request: the title stands.
    from pages._ui import gallery_view, home_view, lesson_doors

    home_view.style()
    with guarded(page.lang):
        home_view.pair_alive(page)
        home_view.train_button(page)
    with guarded(page.lang):
        gallery_view.gallery(page)
    lesson_doors.doors(page)
    home_view.doors(page)
    home_view.name_explained(page)
    footer(page.lang)


main()
