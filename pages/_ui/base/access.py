"""Which pages this server lets a reader open."""

import hmac
from collections.abc import Mapping

from pages._ui.base import settings
from pages._ui.base.links import TOKEN

STATUS = "status"


def may_open(page: str, asked: Mapping[str, str]) -> bool:
    """Return whether a user with these query parameters may open a page.

    The status page needs the server's token, and is closed where no token is set: a mere switch
    would show it to every student who guesses the address.
    """
    server = settings.current()
    if page == STATUS:
        return bool(server.status_token) and _same(asked.get(TOKEN, ""), server.status_token)
    return page not in server.hidden


def _same(given: str, wanted: str) -> bool:
    """Compare in constant time, so that the time does not reveal how much is right."""
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode(errors="replace"))
