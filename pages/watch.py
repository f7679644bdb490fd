"""Watch along: a class follows one run as it happens, under the code that its teacher shows."""

from pages._labs.watch import view
from pages._ui.base.guard import guarded
from pages._ui.frame.frame import footer, frame


def main() -> None:
    page = frame("watch")
    with guarded(page.lang):
        code = view.choose_code(page)
        sight = view.seen_under(page, code)
        if sight is not None:
            view.show(page, code, sight)
    footer(page.lang)


main()
