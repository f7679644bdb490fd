"""Texts for the character model: two short ones of our own, and the user's file."""

import unicodedata

from owi_core.assets import ASSETS
from owi_core.errors import TextError

CHARACTER_TEXTS = ("zh", "en")
MAX_FILE_BYTES = 1_000_000

_BLANK_CONTROLS = frozenset("\t\n\r\f\v")
# Bytes that are not text can decode as GB18030, but many of the characters are unassigned.
_MAX_STRANGE_SHARE = 0.01


def character_text(name: str) -> str:
    """Return one of CHARACTER_TEXTS, some 300 characters that end with a new line.

    It is short enough to be memorised, so no part of it is held out. Repeated, it reads on.
    Raises TextError for a name that does not exist.
    """
    if name not in CHARACTER_TEXTS:
        raise TextError("text_unknown", name=name, choices=", ".join(CHARACTER_TEXTS))
    return (ASSETS / "texts" / f"{name}.txt").read_text(encoding="utf-8")


def read_text_file(data: bytes) -> str:
    """Return the text of an uploaded .txt file, in UTF-8 (marked as such or not) or GB18030.

    Raises TextError when it is larger than MAX_FILE_BYTES, blank, or not text.
    """
    if len(data) > MAX_FILE_BYTES:
        excess = len(data) - MAX_FILE_BYTES
        raise TextError("text_too_large", limit=MAX_FILE_BYTES, size=len(data), excess=excess)
    text = _decoded(data)
    if not text.strip():
        raise TextError("text_empty")
    return text


def _decoded(data: bytes) -> str:
    # UTF-8 first: other bytes almost never decode as UTF-8, while nearly all decode as GB18030.
    try:
        text = data.decode("utf-8-sig")
        plausible = True
    except UnicodeDecodeError:
        text = data.decode("gb18030", errors="replace")
        plausible = _strange_share(text) <= _MAX_STRANGE_SHARE
    if not plausible or any(_is_control(character) for character in text):
        raise TextError("text_not_text")
    return text


def _strange_share(text: str) -> float:
    """Return the share of characters that could not be decoded or are unassigned."""
    strange = sum(c == "\ufffd" or unicodedata.category(c) in ("Co", "Cn") for c in text)
    return strange / len(text)


def _is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc" and character not in _BLANK_CONTROLS
