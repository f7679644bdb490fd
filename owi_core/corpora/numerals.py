"""Chinese numbers and dates with their digits, and which characters each digit comes from.

A digit that stands alone in its place comes from one character.  The zeros of 一万零五 come from
what is not there: the gold alignment of such a digit is empty.
"""

import random
import re
from collections.abc import Sequence

from owi_core.corpora.translation import Pair

NUMERALS = "零一二三四五六七八九"
UNITS = ("千", "百", "十", "")
LARGEST = 99_999_999
_YEAR_DIGITS = "〇一二三四五六七八九"
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
NUMBER_WORDS = (tuple(NUMERALS + "千百十万"), tuple("0123456789"))
DATE_WORDS = (tuple("〇" + NUMERALS[1:] + "十年月日"), tuple("0123456789-"))
_ONE_IN = 5  # of the numbers is held out


def number_pair(n: int) -> Pair:
    """Return a number from 0 to 99,999,999 as it is read, and its digits."""
    if n == 0:
        return Pair(("零",), ("0",), ((0,),), (0,), "number")
    high, low = divmod(n, 10_000)
    source: list[str] = []
    gold: list[tuple[int, ...]] = []
    if high:
        _read_section(source, gold, high, leading=True)
        source.append("万")
    if low or not high:
        _read_section(source, gold, low, leading=not high)
    else:
        gold += [()] * 4
    return Pair(tuple(source), tuple(str(n)), tuple(gold), tuple(range(len(str(n)))), "number")


def date_pair(year: int, month: int, day: int) -> Pair:
    """Return a date as it is read, 二〇二六年十一月三十日, and as 2026-11-30."""
    source = [_YEAR_DIGITS[int(digit)] for digit in str(year)] + ["年"]
    gold: list[tuple[int, ...]] = [(i,) for i in range(4)]
    for value, unit in ((month, "月"), (day, "日")):
        gold.append((len(source) - 1,))  # the hyphen comes from 年 or 月
        gold += _two_digits(source, value)
        source.append(unit)
    target = f"{year:04}-{month:02}-{day:02}"
    digits = tuple(i for i, character in enumerate(target) if character != "-")
    return Pair(tuple(source), tuple(target), tuple(gold), digits, "date")


def reads_back(source: Sequence[str], digits: str) -> bool:
    """Return whether the digits, read aloud, are the source: a number's or a date's."""
    date = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", digits)
    if date:
        year, month, day = map(int, date.groups())
        return date_pair(year, month, day).source == tuple(source)
    whole = digits.isdecimal() and len(digits) <= len(str(LARGEST))
    return whole and digits == str(int(digits)) and number_pair(int(digits)).source == tuple(source)


def number_pairs(seed: int, count: int, part: str) -> tuple[Pair, ...]:
    """Draw numbers of all lengths, with many zeros; those held out never occur in training."""
    rng = random.Random(f"numbers {seed} {part}")
    drawn: list[Pair] = []
    while len(drawn) < count:
        n = _draw_number(rng)
        if _is_heldout(n) == (part != "train"):
            drawn.append(number_pair(n))
    return tuple(drawn)


def date_pairs(seed: int, count: int, part: str) -> tuple[Pair, ...]:
    """Draw dates from 1900 to 2099; those held out never occur in training."""
    rng = random.Random(f"dates {seed} {part}")
    drawn: list[Pair] = []
    while len(drawn) < count:
        year, month = rng.randint(1900, 2099), rng.randint(1, 12)
        day = rng.randint(1, _DAYS[month - 1] - (month == 2 and bool(year % 4 or year == 1900)))
        if _is_heldout((year * 12 + month) * 31 + day) == (part != "train"):
            drawn.append(date_pair(year, month, day))
    return tuple(drawn)


def _read_section(
    source: list[str], gold: list[tuple[int, ...]], section: int, *, leading: bool
) -> None:
    """Append how four digits are read, and of each written digit where it comes from."""
    digits = f"{section:04}"
    begun = not leading  # after 万 a zero at the front is read, at the front of a number it is not
    zeros = 0  # written zeros that wait for the next digit: 零 is read only if one follows
    for digit, unit in zip(digits, UNITS, strict=True):
        if digit == "0":
            zeros += begun
            continue
        if zeros:
            source.append("零")
            # One 零 for one zero translates it; one 零 for several leaves out how many there are.
            gold += [(len(source) - 1,)] if zeros == 1 else [()] * zeros
            zeros = 0
        # 十二, not 一十二, at the front of a number: the digit 1 comes from 十.
        if digit != "1" or unit != "十" or begun:
            source.append(NUMERALS[int(digit)])
            gold.append((len(source) - 1,))
        else:
            gold.append((len(source),))
        if unit:
            source.append(unit)
        begun = True
    gold += [()] * zeros


def _two_digits(source: list[str], value: int) -> list[tuple[int, ...]]:
    """Append how a month or a day is read; return where its two digits come from."""
    tens, ones = divmod(value, 10)
    if tens > 1:
        source.append(NUMERALS[tens])
    first = (len(source) - 1,) if tens > 1 else (len(source),) if tens else ()
    if tens:
        source.append("十")
    if not ones:
        return [first, ()]  # nothing says the zero of 三十 but the missing digit
    source.append(NUMERALS[ones])
    return [first, (len(source) - 1,)]


def _is_heldout(n: int) -> bool:
    # A property of the number, so that the two parts share none, whatever the seed.  The bits of
    # the product with a large odd number look random (Knuth, The Art of Computer Programming 6.4).
    return (n * 2_654_435_761 >> 7) % _ONE_IN == 0


def _draw_number(rng: random.Random) -> int:
    digits = [rng.choice("123456789")]
    for _ in range(rng.randint(0, 7)):
        # Zeros are what is hard; drawn evenly, most numbers would have none.
        digits.append("0" if rng.random() < 0.35 else rng.choice("123456789"))
    return int("".join(digits))
