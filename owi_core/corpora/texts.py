"""Texts for the character model: two short ones of our own, and the user's file."""

import codecs
import unicodedata
from contextlib import suppress
from dataclasses import dataclass

from owi_core.assets import ASSETS
from owi_core.errors import TextError

CHARACTER_TEXTS = ("zh", "en")
MAX_FILE_BYTES = 1_000_000

_BLANK_CONTROLS = frozenset("\t\n\r\f\v")
# Bytes that are not text can decode as GB18030, but many of the characters are unassigned.
_MAX_STRANGE_SHARE = 0.01

# Before GB18030, which takes nearly all bytes; Korean first, whose syllables look like common
# Chinese characters there.
_LEGACY = ("euc_kr", "euc_jp", "shift_jis")
_JAPANESE = ("euc_jp", "shift_jis")
_LEAST_USUAL = 0.6
_SAMPLED = 2_000
_UTF16_ZEROS = 0.25
_KANA, _HANGUL = ("\u3041", "\u30ff"), ("\uac00", "\ud7a3")
_MARKS = (("\u2010", "\u2027"), ("\u3000", "\u3020"), ("\uff01", "\uff5e"))
# The most frequent characters have their own rows in the national standards: codec, last row.
_COMMON_HAN = {
    "gb18030": ("gb2312", 0xD7),
    "euc_jp": ("euc_jp", 0xCF),
    "shift_jis": ("euc_jp", 0xCF),
}


def character_text(name: str) -> str:
    """Return one of CHARACTER_TEXTS, some 300 characters that end with a new line.

    It is short enough to be memorised, so no part of it is held out. Repeated, it reads on.
    Raises TextError for a name that does not exist.
    """
    if name not in CHARACTER_TEXTS:
        raise TextError("text_unknown", name=name, choices=", ".join(CHARACTER_TEXTS))
    return (ASSETS / "texts" / f"{name}.txt").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Decoding:
    """A file read in one encoding; usual: the share of its characters that are common there."""

    encoding: str
    text: str
    usual: float = 1.0

    @property
    def first_line(self) -> str:
        """The first line that is not blank, by which a user recognises the text."""
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")


def read_text_file(data: bytes, encoding: str = "") -> str:
    """Return the text of an uploaded .txt file, in the given encoding or else in the likeliest.

    Raises TextError when it is larger than MAX_FILE_BYTES, blank, or not text.
    """
    found = decodings(data)
    return next((each.text for each in found if each.encoding == encoding), found[0].text)


def decodings(data: bytes) -> tuple[Decoding, ...]:
    """Return every way to read a file as text, the likeliest first.

    Raises TextError when it is larger than MAX_FILE_BYTES, blank, or not text.
    """
    if len(data) > MAX_FILE_BYTES:
        excess = len(data) - MAX_FILE_BYTES
        raise TextError("text_too_large", limit=MAX_FILE_BYTES, size=len(data), excess=excess)
    found = [each for each in _decoded(data) if not any(map(_is_control, each.text))]
    if not found:
        raise TextError("text_not_text")
    if not found[0].text.strip():
        raise TextError("text_empty")
    return tuple(found)


def _decoded(data: bytes) -> list[Decoding]:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _strictly(data, "utf-16")
    if data.count(0) > len(data) * _UTF16_ZEROS:  # English in UTF-16: every second byte is 0
        little = data[1::2].count(0) > data[::2].count(0)
        return _strictly(data, "utf-16-le" if little else "utf-16-be")
    # UTF-8 next: other bytes almost never decode as UTF-8, while nearly all decode as GB18030.
    with suppress(UnicodeDecodeError):
        return [Decoding("utf-8", data.decode("utf-8-sig"))]
    found = [each for name in _LEGACY for each in _strictly(data, name)] + _as_gb18030(data)
    likely = sorted(found, key=lambda each: -each.usual)
    return [each for each in likely if each.usual >= min(_LEAST_USUAL, likely[0].usual)]


def _strictly(data: bytes, encoding: str) -> list[Decoding]:
    """Return the file in one encoding; empty where the bytes are none of it."""
    try:
        # An incremental decoder takes a file that was cut off in the middle of a character.
        text = codecs.getincrementaldecoder(encoding)().decode(data)
    except UnicodeDecodeError:
        return []
    return [Decoding(encoding, text, _share_usual(text, encoding))]


def _as_gb18030(data: bytes) -> list[Decoding]:
    # With a few errors as well: the file may be damaged or cut off.
    text = data.decode("gb18030", errors="replace")
    if _strange_share(text) > _MAX_STRANGE_SHARE:
        return []
    return [Decoding("gb18030", text, _share_usual(text, "gb18030"))]


def _share_usual(text: str, encoding: str) -> float:
    """Return the share of characters that texts in this encoding mostly consist of.

    The same bytes are legal in several encodings, and a wrong one gives rare characters, or the
    letters of another language.
    """
    foreign = [character for character in text if not character.isascii()][:_SAMPLED]
    if not foreign:
        return 1.0
    share = sum(_is_usual(character, encoding) for character in foreign) / len(foreign)
    kana = any(_KANA[0] <= character <= _KANA[1] for character in foreign)
    # No Japanese text does without kana; Chinese and Korean ones can look like kanji alone.
    return share / 2 if encoding in _JAPANESE and not kana else share


def _is_usual(character: str, encoding: str) -> bool:
    if any(low <= character <= high for low, high in _MARKS):
        return True
    if _KANA[0] <= character <= _KANA[1]:
        return encoding in _JAPANESE
    if _HANGUL[0] <= character <= _HANGUL[1]:
        return encoding == "euc_kr"
    if encoding not in _COMMON_HAN:
        return encoding.startswith("utf-16")
    codec, last = _COMMON_HAN[encoding]
    try:
        code = character.encode(codec)
    except UnicodeEncodeError:
        return False
    return len(code) == 2 and 0xB0 <= code[0] <= last


def _strange_share(text: str) -> float:
    """Return the share of characters that could not be decoded or are unassigned."""
    strange = sum(c == "\ufffd" or unicodedata.category(c) in ("Co", "Cn") for c in text)
    return strange / max(1, len(text))


def _is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc" and character not in _BLANK_CONTROLS
