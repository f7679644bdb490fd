"""One attention step by hand: every number visible, editable, and traced to where it came from."""

from pages._labs.step import chain, form, training, view
from pages._ui.base.guard import guarded
from pages._ui.base.page import Frame
from pages._ui.frame.address import following
from pages._ui.frame.frame import footer, frame
from pages._ui.session.jobs import session_jobs


def main() -> None:
    page = frame("step")
    session_jobs()
    board(page)
    view.model_rows(page)
    training.relations(page)
    view.position_pictures(page)
    training.positions(page)
    footer(page.lang)


@following
def board(page: Frame) -> None:
    """What is drawn again when a number is typed into the chain."""
    with guarded(page.lang):
        shown = form.choose(page)
        chain.draw(
            page,
            shown.record,
            shown.before,
            shown.board.labels,
            shown.head,
            shown.board.selected,
            form.view_of(shown.board, shown.head),
        )
        form.reset(page, shown.board)
        view.summary(page, shown)
        form.table_editor(page, shown.board)
        view.code(page, shown)
        view.sections(page, shown)


main()
