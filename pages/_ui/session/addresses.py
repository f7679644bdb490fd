"""The addresses that this session has written into the address bar, with what they stood for.

A page writes its state into its own address.  The browser sends that address back with the next
run, which must not be taken for a link that somebody opened; and when the reader goes back in the
history to an older one, the page shows what it showed then, private texts included.
"""

from collections.abc import Mapping
from typing import Any

Address = tuple[tuple[str, str], ...]
MOST_ADDRESSES = 40  # of one page


class Addresses:
    """The addresses of each page, the newest last."""

    def __init__(self) -> None:
        self._written: dict[str, dict[Address, Mapping[str, Any]]] = {}

    def note(self, page: str, address: Address, kept: Mapping[str, Any]) -> None:
        """Note that a page has this address now, and the values that it keeps."""
        written = self._written.setdefault(page, {})
        written.pop(address, None)
        written[address] = dict(kept)
        while len(written) > MOST_ADDRESSES:
            del written[next(iter(written))]

    def knows(self, page: str, address: Address) -> bool:
        """Return whether the page itself has written the address."""
        return address in self._written.get(page, {})

    def earlier(self, page: str, address: Address) -> Mapping[str, Any] | None:
        """Return what the page kept under an address; None if it is the newest, or not known."""
        written = self._written.get(page, {})
        newest = next(reversed(written), None)
        return None if address == newest else written.get(address)

    def copied(self) -> "Addresses":
        """Return the same for a session of its own."""
        other = Addresses()
        other._written = {page: dict(written) for page, written in self._written.items()}
        return other
