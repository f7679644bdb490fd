"""Checks data that comes from outside: files, links, lessons, and lines from another process.

msgspec holds the rules as types; this module adds what its errors lack, the value that broke one.
Types are strict: True is not the number 1, "1" is not a number, and a field that a type does not
name is refused.
"""

import math
import re
import unicodedata
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
# A minus sign and a full stop as word processors and Chinese input methods write them.
_AS_TYPED_ELSEWHERE = str.maketrans({"\u2212": "-", "\u3002": "."})


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
        # Only now is the value wanted, so only a refused line is read a second time.
        raise _misfit(str(error), _any_json(data)) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise MisfitError(f"not JSON: {error}", (), data) from error
    except RecursionError as error:
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
