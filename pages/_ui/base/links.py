"""A link to a view: query parameters that a person can read, shorten, and write by hand.

`/rows?v=1&lang=zh&pair=typed&text.A=…&layer=1&head=-1&end=1`: one parameter for each kept value,
named by its key without the page; `run`, `run2` … and `trained` name recipes, their settings
behind a dot. A link made by this app ends with `end`: one that has `v` but no `end` was cut.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from msgspec import Meta

from owi_core.untrusted import LONGEST_TEXT, MisfitError, Text, checked, decimal_number, decoded

LINK_VERSION = 1
VERSION, LANGUAGE, END, TRAINED = "v", "lang", "end", "trained"
RUNS = ("run", "run2", "run3", "run4", "run5", "run6")
TOKEN = "token"  # opens the status page; never part of a link of ours
VISIT = "visit"  # finds a tab's own state after a reload; in its address, never in a link of ours
LESSON, AT, SAID, TEACH, HIDE = "lesson", "at", "said", "teach", "hide"
# What a link says of a lesson and of how a page is shown; said: the choices made so far.
TEACHING = {
    LESSON: re.compile(r"[a-z0-9_-]{1,40}"),
    AT: re.compile(r"[1-9][0-9]?"),
    SAID: re.compile(r"[0-9-]{1,40}"),
    TEACH: re.compile("1"),
    HIDE: re.compile("controls"),
}
OWN = frozenset(
    {VERSION, LANGUAGE, END, TOKEN, VISIT, *TEACHING}
)  # names that no page and no run has
RESERVED = OWN | {TRAINED, *RUNS}
LONGEST_LINK = 8_000  # servers and messengers cut longer ones
_MOST_ITEMS = 500
# What stands behind a link in a sentence, and is often sent as a part of it.
_MARKS = " .,;:!?)]}>\"'*_\u3000。，、；：！？）】》〉」』”’…"
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_BOOLS = {"1": True, "true": True, "0": False, "false": False}
_BROKEN = re.compile(r"\ufffd*(%[0-9A-Fa-f]?)?\Z")  # what is left of a character cut in two

# What a link may hold as JSON: numbers, texts and lists of them.  The lists are written out to a
# depth of four, because no type of msgspec can contain itself.  The bounds refuse NaN and
# infinity.
_Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_Real = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
_Scalar = None | bool | _Whole | _Real | Text
_SIZE = Meta(max_length=_MOST_ITEMS)
_List1 = Annotated[list[_Scalar], _SIZE]
_List2 = Annotated[list[_Scalar | _List1], _SIZE]
_List3 = Annotated[list[_Scalar | _List2], _SIZE]
_List = Annotated[list[_Scalar | _List3], _SIZE]
_Plain = _Scalar | _List


@dataclass(frozen=True)
class Limits:
    """What a value may be: one of `among`, or from `low` to `high` (the length of a text or list).

    Of a list, each item is one of `among`.
    """

    among: Sequence[Any] | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Recipe:
    """A run as a link names it: the experiment, and its settings as they were written."""

    experiment: str
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Link:
    """What a link says, nothing of it checked against a page yet.

    runs: by their name in the link.  values: by key without the page.  ignored: the names of what
    makes no sense in any page.  repeated: names that were given more than once; the last counts.
    """

    version: str = ""
    cut: bool = False
    runs: Mapping[str, Recipe] = field(default_factory=dict)
    trained: Recipe | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    @property
    def foreign(self) -> bool:
        """Whether another version of the app made it."""
        return self.version not in ("", str(LINK_VERSION))


def without_marks(text: str) -> str:
    """Return a text without the marks that a messenger takes into a link when they follow it."""
    return text.rstrip(_MARKS)


def teaching(params: Mapping[str, str]) -> dict[str, str]:
    """Return what the parameters say of a lesson and of how the page is shown, if it makes sense.

    Where in a lesson one is says nothing without the lesson.
    """
    plain = {name: without_marks(params[name]) for name in TEACHING if name in params}
    sound = {name: text for name, text in plain.items() if TEACHING[name].fullmatch(text)}
    if LESSON not in sound:
        sound = {name: text for name, text in sound.items() if name not in (AT, SAID)}
    return sound


def read(params: Mapping[str, str], repeated: Iterable[str] = ()) -> Link:
    """Return what query parameters say, in whatever state they are.

    repeated: the names that the address gives more than once.
    """
    version = params.get(VERSION, "")
    cut = VERSION in params and END not in params
    groups, values = _sorted_out(params)
    last = next((name for name in reversed(list(params)) if name != LANGUAGE), "")
    if cut and last in values:
        values[last] = _BROKEN.sub("", values[last], count=1)
    # The cut may have removed settings of the last recipe: it would train a different run.
    recipes = _recipes(groups, unsure=last.partition(".")[0] if cut else None)
    known = {*recipes, *teaching(params)}
    asked = (*groups, *(name for name in TEACHING if name in params))
    ignored = tuple(name for name in asked if name not in known)
    trained = recipes.pop(TRAINED, None)
    return Link(version, cut, recipes, trained, values, ignored, tuple(repeated))


def _sorted_out(params: Mapping[str, str]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return the settings of each recipe, by the recipe's name, and the values of the page."""
    groups: dict[str, dict[str, str]] = {}
    values: dict[str, str] = {}
    for name, text in params.items():
        head, _, setting = name.partition(".")
        if head in RUNS or head == TRAINED:
            groups.setdefault(head, {})[setting] = text
        elif name not in RESERVED:
            values[name] = text
    return groups, values


def _recipes(groups: Mapping[str, dict[str, str]], unsure: str | None) -> dict[str, Recipe]:
    """Return the recipes that name their experiment, all but the one that is unsure."""
    return {
        name: Recipe(settings[""], {k: v for k, v in settings.items() if k})
        for name, settings in groups.items()
        if "" in settings and name != unsure
    }


def parse(text: str, default: Any) -> Any:
    """Return what a text of a link means, where `default` shows the kind; else MisfitError."""
    if len(text) > LONGEST_TEXT or not _is_sound(text):
        raise MisfitError(text[:40])
    try:
        return _parsed(text, default)
    except (ValueError, KeyError, RecursionError):
        raise MisfitError(text[:40]) from None


def written(value: Any, default: Any) -> str | None:
    """Return a value as a link holds it, so that `parse` gives it back; None where it cannot."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(default, str) and isinstance(value, str):
        return value
    if isinstance(value, int | float) and isinstance(default, int | float):
        return repr(value)
    try:
        plain = checked(value, _Plain)
    except MisfitError:
        return None
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def fitted(value: Any, default: Any, limits: Limits) -> Any:
    """Return the value if it is of its default's kind and within its limits; else MisfitError."""
    value = _of_kind(value, default)
    if limits.among is not None:
        if isinstance(value, list | tuple):
            value = type(value)(dict.fromkeys(_option(item, limits.among) for item in value))
        else:
            value = _option(value, limits.among)
    size = len(value) if isinstance(value, str | list | tuple) else value
    if isinstance(size, int | float):
        low = -math.inf if limits.low is None else limits.low
        high = math.inf if limits.high is None else limits.high
        if not low <= size <= high:
            raise MisfitError(str(value)[:40])
    return value


def nearest(value: Any, default: Any, limits: Limits) -> Any:
    """Return the value, or what comes nearest to it within the limits: a bound, the default."""
    try:
        return fitted(value, default, limits)
    except MisfitError:
        pass
    if limits.among is not None:
        try:
            return fitted(default, default, limits)
        except MisfitError:
            return next(iter(limits.among), default)
    if isinstance(value, int | float) and isinstance(default, int | float) and _finite(value):
        low, high = limits.low, limits.high
        held = value if low is None else max(value, low)
        held = held if high is None else min(held, high)
        return type(default)(held)
    return default


def address(base: str, params: Iterable[tuple[str, str]]) -> str:
    """Return the link: `base` with the parameters, `v` before them and `end` behind."""
    asked = query([(VERSION, str(LINK_VERSION)), *params, (END, "1")])
    bare = base.partition("?")[0].partition("#")[0]
    return f"{bare}/?{asked}" if not urlsplit(bare).path else f"{bare}?{asked}"


def query(params: Iterable[tuple[str, str]]) -> str:
    """Return parameters as they stand in an address, behind its question mark."""
    return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in params)


def shortened(
    base: str, params: Sequence[tuple[str, str]], longest: int = LONGEST_LINK
) -> tuple[str, list[str]]:
    """Return a link of at most `longest` characters, and the names of what was left out of it."""
    kept, left_out = fitting(params, lambda some: address(base, some), longest)
    return address(base, kept), left_out


def fitting(
    params: Sequence[tuple[str, str]],
    written_as: Callable[[Iterable[tuple[str, str]]], str],
    longest: int = LONGEST_LINK,
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return what of the parameters fits into a text of that length, and the names of the rest.

    The longest values go first.
    """
    kept, left_out = dict(params), []
    while kept and len(written_as(kept.items())) > longest:
        name = max(kept, key=lambda each: len(quote(kept[each], safe="")))
        del kept[name]
        left_out.append(name)
    return list(kept.items()), left_out


def _parsed(text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return _BOOLS[text.lower()]
    if isinstance(default, int):
        if _WHOLE.fullmatch(text) is None:
            raise MisfitError(text[:40])
        return int(text)
    if isinstance(default, float):
        return _of_kind(decimal_number(text), default)
    if isinstance(default, str):
        return text
    if default is None:
        return _plain_or_text(text)
    if isinstance(default, list | tuple):
        return _of_kind(decoded(text, _List), default)
    raise MisfitError(text[:40])


def _plain_or_text(text: str) -> Any:
    """Return what JSON says; a word that was written by hand, without quotes, is that word."""
    try:
        json.loads(text)
    except ValueError:
        return text
    return decoded(text, _Plain)


def _of_kind(value: Any, default: Any) -> Any:
    if default is None:
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, float):
        if number and _finite(value):
            return float(value)
    elif isinstance(default, list | tuple):
        if isinstance(value, list | tuple):
            return type(default)(value)
    elif isinstance(value, type(default)) and isinstance(value, bool) == isinstance(default, bool):
        return value
    raise MisfitError(str(value)[:40])


def _option(value: Any, among: Sequence[Any]) -> Any:
    """Return the option that the value equals; True does not equal 1 here."""
    for option in among:
        if option == value and isinstance(option, bool) == isinstance(value, bool):
            return option
    raise MisfitError(str(value)[:40])


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


def _is_sound(text: str) -> bool:
    """Whether the text can be sent to a browser: half a character cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
