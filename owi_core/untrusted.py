"""Checks data that comes from outside: files, links, lessons, and lines from another process.

msgspec holds the rules as types; this module adds what its errors lack, the value that broke one.
Types are strict: True is not the number 1, "1" is not a number, and a field that a type does not
name is refused.
"""

import json
import math
import re
import unicodedata
from collections import Counter
from typing import Annotated, Any, TypeVar, overload

import msgspec
from msgspec import Meta

T = TypeVar("T")
Place = tuple[str | int, ...]

LONGEST_SHOWN = 40
LONGEST_TEXT, LONGEST_LABEL = 5_000, 200
# Half of a surrogate pair can be neither encoded as UTF-8 nor sent to a browser, but Python's
# strings, and JSON's \ud83d escapes, can hold one.
WRITABLE = r"\A[^\ud800-\udfff]*\Z"

Text = Annotated[str, Meta(max_length=LONGEST_TEXT, pattern=WRITABLE)]
Label = Annotated[str, Meta(max_length=LONGEST_LABEL, pattern=WRITABLE)]
Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]  # a NaN is refused too: it compares with nothing

# msgspec gives the place of an error only inside its message, as " - at `$.spans[3][0]`".
_PLACE = re.compile(r" - at `(?:key` in `)?\$([^`]*)`\Z")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|(\[\.\.\.\])")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*?)`", re.DOTALL)

_DECIMAL = re.compile(r"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
# A minus sign and a full stop as word processors and Chinese input methods write them, and the
# marks without a shape that come along when a number is copied from a page.
_SHAPELESS = "\u00ad\u200b\u200e\u200f\u202a\u202c\u202d\u2060\u2066\u2068\u2069\ufeff"
_AS_TYPED_ELSEWHERE = str.maketrans({"\u2212": "-", "\u3002": "."} | dict.fromkeys(_SHAPELESS, ""))


class MisfitError(ValueError):
    """Data that breaks a rule.

    rule: what msgspec demanded.  place: the way to the value from the outside in, with the name
    of a field that is missing or unknown as its last part.  value: what was found there.
    """

    def __init__(self, rule: str, place: Place = (), value: object = "–") -> None:
        self.rule, self.place, self.value = rule, place, value
        super().__init__(f"{rule}: {self.where}")

    @property
    def where(self) -> str:
        """The place and the value, short enough for a sentence: `answer.known = 2`."""
        path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in self.place)
        named = path.removeprefix(".") or "value"
        return f"{short(named)} = {short(self.value)}"


class _Missing:
    def __str__(self) -> str:
        return "–"


MISSING = _Missing()


@overload
def checked(value: object, kind: type[T]) -> T: ...
@overload
def checked(value: object, kind: Any) -> Any: ...  # a union or an annotated type
def checked(value: object, kind: Any) -> Any:
    """Return `value` as a `kind`; raise MisfitError where it does not fit."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _misfit(str(error), value) from error
    except RecursionError as error:
        raise MisfitError("nested too deep", (), MISSING) from error


@overload
def decoded(data: bytes | str, kind: type[T]) -> T: ...
@overload
def decoded(data: bytes | str, kind: Any) -> Any: ...
def decoded(data: bytes | str, kind: Any) -> Any:
    """Return what JSON holds as a `kind`; raise MisfitError for anything else.

    What JSON does not have (NaN, infinities, half characters) is refused as well.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        if "out of range" in str(error):
            place, found = _not_kept(data)
            raise MisfitError(str(error), place, found) from error
        # Only now is the value wanted, so only a refused line is read a second time.
        raise _misfit(str(error), _any_json(data)) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        place, found = _not_kept(data)
        raise MisfitError(f"not JSON: {error}", place, found) from error
    except RecursionError as error:
        raise MisfitError("nested too deep", (), MISSING) from error


def refuse_repeats(data: bytes | str) -> None:
    """Raise MisfitError for an object of well-formed JSON that names a field twice.

    msgspec, like most readers, takes the last one; two readers may differ in that.
    """

    def pairs(found: list[tuple[str, Any]]) -> None:
        for name, times in Counter(name for name, _ in found).items():
            if times > 1:
                raise MisfitError("repeated field", (name,), f"{times} ×")

    try:
        json.loads(data, object_pairs_hook=pairs)
    except MisfitError:
        raise
    except (ValueError, RecursionError) as error:
        raise MisfitError("nested too deep", (), MISSING) from error


def short(value: object) -> str:
    """Return a value that may be anything as text that fits into a sentence."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    text = text.encode(errors="replace").decode()
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def decimal_number(text: str) -> float | None:
    """Return the number that a text means, or None when it is not a finite decimal number.

    One comma is a decimal comma.  A text with several marks (`1,000.5`) has no single meaning.
    """
    plain = unicodedata.normalize("NFKC", text).translate(_AS_TYPED_ELSEWHERE).strip()
    if len(plain) > LONGEST_SHOWN or _DECIMAL.fullmatch(plain) is None:
        return None
    number = float(plain.replace(",", "."))
    return number if math.isfinite(number) else None


class _NoNumber(str):
    """What JSON has in place of a number and cannot be kept: NaN, 1e999, 5,000 digits."""

    __slots__ = ()


def _not_kept(data: bytes | str) -> tuple[Place, object]:
    """Return the place and the text of what msgspec cannot keep: such a number, half a character.

    No place and the whole text where the reason is another one.
    """

    def real(text: str) -> float | _NoNumber:
        return float(text) if math.isfinite(float(text)) else _NoNumber(text)

    def whole(text: str) -> int | _NoNumber:
        return int(text) if len(text) < LONGEST_SHOWN else _NoNumber(text)

    try:
        value = json.loads(data, parse_constant=_NoNumber, parse_float=real, parse_int=whole)
    except (ValueError, RecursionError):
        return (), data
    # Breadth first, so that nesting costs no recursion.
    waiting: list[tuple[Place, Any]] = [((), value)]
    for place, one in waiting:
        if isinstance(one, str) and (isinstance(one, _NoNumber) or not re.match(WRITABLE, one)):
            return place, one
        if isinstance(one, dict):
            waiting += [((*place, name), each) for name, each in one.items()]
        elif isinstance(one, list):
            waiting += [((*place, index), each) for index, each in enumerate(one)]
    return (), data


def _any_json(data: bytes | str) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return MISSING


def _misfit(message: str, value: object) -> MisfitError:
    found = _PLACE.search(message)
    rule = message[: found.start()] if found else message
    place: Place = ()
    for name, index, _ in _STEP.findall(found[1]) if found else ():
        # "[...]" is some entry of a dictionary: msgspec does not report which, so the place ends.
        if not name and not index:
            break
        place = (*place, name or int(index))
    field = _FIELD.match(rule)
    if field is not None:
        place = (*place, field[2])
    return MisfitError(rule, place, _value_at(value, place))


def _value_at(value: Any, place: Place) -> object:
    for step in place:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return value
