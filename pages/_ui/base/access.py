"""Which pages this server lets a reader open."""

import hmac
from collections.abc import Mapping

from pages._ui.base import settings
from pages._ui.base.links import TOKEN

STATUS = "status"


def may_open(page: str, asked: Mapping[str, str]) -> bool:
    """Say whether a page is there for whoever asks with these query parameters.

    The status page is there for those who bring the server's token, and for nobody where none is
    set: a mere switch would show it to every student who guesses the address.
    """
    told = settings.current()
    if page == STATUS:
        return bool(told.status_token) and _same(asked.get(TOKEN, ""), told.status_token)
    return page not in told.hidden


def _same(given: str, wanted: str) -> bool:
    """Compare in a time that does not tell how much of it is right."""
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode(errors="replace"))
