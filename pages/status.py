"""The status page: sessions, runs, queue and memory, for the teacher who brings the token."""

from pages._ui import settings_check, status_view
from pages._ui.frame import frame, guarded

page = frame("status")
with guarded(page.lang):
    status_view.board(page)
settings_check.tell(page.lang)
