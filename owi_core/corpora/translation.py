"""Chinese sentences with their English translations, and which source words each word comes from.

A frame is a pair of lines.  `{noun_a}` is a slot: a class of `assets/words/zh_en.toml` and which of
several fillers it is; it translates itself.  In the English line `word<源+{slot}` names the source
words that decide a literal word, and no mark at all says that none does (the article "the").
"""

import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from owi_core.assets import ASSETS
from owi_core.corpora.pronoun import frame_is_heldout

VOWELS = "aeiou"


@dataclass(frozen=True)
class Pair:
    """A source text and its translation, both as words.

    gold: of each target word the positions of the source words that decide it; the first is the
    one that it translates.  content: the target words that translate a word of a dictionary, the
    others belong to the frame.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    gold: tuple[tuple[int, ...], ...]
    content: tuple[int, ...]
    frame: str = ""


@dataclass(frozen=True)
class Frame:
    """Two lines that say the same; a `heldout` frame never occurs in training."""

    name: str
    source: str
    target: str
    heldout: bool = False


# {time} is left out half of the time, on both sides.
FRAMES: tuple[Frame, ...] = (
    Frame(
        "put",
        "{time} {name_a} 把 {noun_a} 放在 {noun_b} {place}",
        "{name_a} put<放在 the {noun_a} {place} the {noun_b} {time}",
    ),
    Frame(
        "exist",
        "{noun_b} {place} 有 一个 {noun_a}",
        "there<有 is<有 a<一个+{noun_a} {noun_a} {place} the {noun_b}",
    ),
    Frame(
        "past",
        "{time} {name_a} {verb} 了 {noun_a}",
        "{name_a} {verb.1}<{verb}+了 the {noun_a} {time}",
    ),
    Frame(
        "of",
        "{name_a} 的 {noun_a} 在 {noun_b} {place}",
        "the {noun_a} of<的 {name_a} is<在 {place} the {noun_b}",
    ),
    Frame(
        "than",
        "{noun_a} 比 {noun_b} {quality}",
        "the {noun_a} is<比 {quality}<{quality}+比 than<比 the {noun_b}",
    ),
    Frame(
        "give",
        "{time} {name_a} 给 了 {name_b} 一个 {noun_a}",
        "{name_a} gave<给+了 a<一个+{noun_a} {noun_a} to<给 {name_b} {time}",
    ),
    Frame(
        "ask",
        "{time} {name_a} {verb} 了 {noun_a} 吗",
        "did<吗+了 {name_a} {verb.0} the {noun_a} {time} ?<吗",
    ),
    Frame(
        "passive",
        "{time} {noun_a} 被 {name_a} {verb} 了",
        "the {noun_a} was<被 {verb.2}<{verb}+被 by<被 {name_a} {time}",
    ),
    Frame(
        "want",
        "{name_a} 想 {verb} {noun_a}",
        "{name_a} wants<想 to<想 {verb.0} the {noun_a}",
    ),
    Frame(
        "not",
        "{time} {name_a} 没有 {verb} {noun_a}",
        "{name_a} did<没有 not<没有 {verb.0} the {noun_a} {time}",
    ),
    Frame(
        "relative",
        "{name_a} {verb} 的 {noun_a} 在 {noun_b} {place}",
        "the {noun_a} that<的 {name_a} {verb.1} is<在 {place} the {noun_b}",
    ),
    # 被 and 放在 are both known, but never from one sentence.
    Frame(
        "passive_put",
        "{time} {noun_a} 被 {name_a} 放在 {noun_b} {place}",
        "the {noun_a} was<被 put<放在 {place} the {noun_b} by<被 {name_a} {time}",
        heldout=True,
    ),
)


@cache
def dictionary() -> dict[str, dict[str, tuple[str, ...]]]:
    """Return, by class, each Chinese word with its English forms."""
    text = (ASSETS / "words" / "zh_en.toml").read_text(encoding="utf-8")
    entries = {
        name: [line.split(maxsplit=1) for line in lines.strip().splitlines()]
        for name, lines in tomllib.loads(text).items()
    }
    return {name: {zh: tuple(en.split(",")) for zh, en in found} for name, found in entries.items()}


@cache
def vocabularies() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of either language, in a fixed order."""
    classes = dictionary().values()
    known = [word for words in classes for word in words]
    forms = [
        w for words in classes for each in words.values() for form in each for w in form.split()
    ]
    literal_zh = [w for f in FRAMES for w in f.source.split() if not w.startswith("{")]
    literal_en = [w.split("<")[0] for f in FRAMES for w in f.target.split() if w[0] != "{"]
    return tuple(dict.fromkeys(known + literal_zh)), tuple(
        dict.fromkeys(forms + literal_en + ["an"])
    )


def sentence_pairs(seed: int, count: int, part: str) -> tuple[Pair, ...]:
    """Draw pairs of a part: "train", "heldout" (new pairs of words), "frame" (the held-out frame).

    One pair of words in five is held out: two nouns, or a noun with a verb or a name.
    """
    rng = random.Random(f"translation {seed} {part}")
    frames = [frame for frame in FRAMES if frame.heldout == (part == "frame")]
    return tuple(_draw(rng, frames[i % len(frames)], part == "heldout") for i in range(count))


def fill(frame: Frame, fillers: dict[str, str]) -> Pair:
    """Return the two sentences of a frame; a slot without a filler is left out of both."""
    parts = [part for part in frame.source.split() if part[0] != "{" or part[1:-1] in fillers]
    place = {part.strip("{}"): position for position, part in enumerate(parts)}
    target: list[str] = []
    gold: list[tuple[int, ...]] = []
    content: list[int] = []
    for part in frame.target.split():
        word, _, causes = part.partition("<")
        slot = word.strip("{}").partition(".")[0] if word[0] == "{" else ""
        if slot and slot not in fillers:
            continue
        causes = causes or slot
        sources = tuple(place[name.strip("{}")] for name in causes.split("+") if name)
        for english in _english(word, slot, fillers):
            content += [len(target)] if slot else []
            target.append(english)
            gold.append(sources)
    source = tuple(fillers.get(part.strip("{}"), part) for part in parts)
    return Pair(source, tuple(_with_articles(target)), tuple(gold), tuple(content), frame.name)


def recognise(words: Sequence[str]) -> Pair | None:
    """Return the pair whose source sentence these words are; None when no frame fits."""
    classes = dictionary()
    for frame in FRAMES:
        whole = frame.source.split()
        for parts in (whole, [part for part in whole if part != "{time}"]):
            if len(parts) != len(words):
                continue
            fillers = {p[1:-1]: w for p, w in zip(parts, words, strict=True) if p[0] == "{"}
            fits = all(word in classes[slot.split("_")[0]] for slot, word in fillers.items())
            if fits and fill(frame, fillers).source == tuple(words):
                return fill(frame, fillers)
    return None


def _english(word: str, slot: str, fillers: dict[str, str]) -> list[str]:
    if not slot:
        return [word]
    forms = dictionary()[slot.split("_")[0]][fillers[slot]]
    number = word.strip("{}").partition(".")[2]
    return forms[int(number or 0)].split()  # 今早 gives two words, which share one source


def _with_articles(words: Sequence[str]) -> list[str]:
    """Write "an" before a vowel: the one word that depends on two source words of its own frame."""
    following = [*words[1:], ""]
    return [
        "an" if word == "a" and after[:1] in VOWELS else word
        for word, after in zip(words, following, strict=True)
    ]


def _draw(rng: random.Random, frame: Frame, heldout: bool) -> Pair:
    slots = [part[1:-1] for part in frame.source.split() if part[0] == "{"]
    while True:
        fillers = {slot: rng.choice(list(dictionary()[slot.split("_")[0]])) for slot in slots}
        if rng.random() < 0.5:
            fillers.pop("time", None)
        distinct = len(set(fillers.values())) == len(fillers)
        # A held-out frame takes any pair: it is new in itself.
        if distinct and (frame.heldout or frame_is_heldout(_pair(fillers)) == heldout):
            return fill(frame, fillers)


def _pair(fillers: dict[str, str]) -> tuple[str, str]:
    """Return the two words whose meeting is held out: the noun, and what it meets."""
    other = next(s for s in ("noun_b", "verb", "name_b", "name_a") if s in fillers)
    return fillers["noun_a"], fillers[other]
