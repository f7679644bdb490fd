"""Watch along: a class follows one run as it happens, under the code that its teacher shows."""

from pages._ui import watch_view
from pages._ui.frame import footer, frame, guarded


def main() -> None:
    page = frame("watch")
    with guarded(page.lang):
        code = watch_view.choose_code(page)
        sight = watch_view.seen_under(page, code)
        if sight is not None:
            watch_view.show(page, code, sight)
    footer(page.lang)


main()
