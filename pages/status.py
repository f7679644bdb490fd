"""The status page: sessions, runs, queue and memory, for the teacher who brings the token."""

from pages._labs.status import view
from pages._ui.base.guard import guarded
from pages._ui.frame import settings_check
from pages._ui.frame.frame import frame

page = frame("status")
with guarded(page.lang):
    view.board(page)
settings_check.tell(page.lang)
