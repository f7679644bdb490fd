"""Every sentence that states a finding shows the measured value that chose it, or names it here.

A finding is a sentence in a section of that kind, or any sentence with a formatted number.  The
list of all of them is printed by `pytest -s tests/house/test_findings.py -k listed`.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from pages._ui.base.i18n import LANGUAGES, catalog, catalog_names
from tests.house.source import ROOT

# Of these sections every sentence says what was found; the others are labels and explanations.
SECTIONS = {
    "answer", "cell", "change", "finding", "gaze", "measured", "moved", "route", "shape",
    "textbook", "verdict", "way",
}  # fmt: skip
# What is formatted by the code before it reaches the sentence.
NUMBERS = (
    "change",
    "everywhere",
    "gap",
    "error",
    "drift",
    "fast_ms",
    "slow_ms",
    "number",
    "single",
    "tied",
)
# Findings that show no number, each with the measured value that decides it.
DECIDED_BY = {
    "connections.moved.not_at_all": "the relative change of the two maps is exactly 0",
    "connections.moved.unequal": "the numbers of words of the two sentences",
    "connections.verdict.maps_unequal": "the numbers of words of the two sentences",
    "connections.verdict.time_none": "the lengths that every model reached within the caps",
    "connections.way.stops": "the first word is outside the receptive field, its influence is 0",
    "connections.way.vanished": "the first word's influence on the last is computed as 0",
    "cost.verdict.leaks": "the largest change of an output by a word that no mask links",
    "cost.verdict.nothing_outside": "the number of distances that no layer links",
    "cost.verdict.nothing_timed": "the number of lengths timed within the caps",
    "home.finding.other_word": "whether both answers are known and differ",
    "home.finding.two_maps": "whether both answers are known and differ",
    "rows.answer.clue_hidden": "the words that the pronoun may still mean after what it sees",
    "rows.answer.no_pronoun": "whether the word that looks is a pronoun",
    "rows.answer.not_in_sentence": "whether the likeliest word is in the sentence",
    "rows.answer.structure_unknown": "whether the sentence matches a structure of the model",
    "rows.finding.moved": "the routes of both answers, by closing each route",
    "rows.finding.moved_by_detour": "the routes of both answers, by closing each route",
    "rows.finding.moved_otherwise": "the routes of both answers, by closing each route",
    "rows.finding.next": "the likeliest next character of both texts",
    "rows.finding.no_pronoun": "whether a pronoun is among the tokens",
    "rows.finding.same_answer": "the likeliest words of both sentences",
    "rows.shape.alone": "the number of keys that the query may see",
    "rows.shape.between": "the row's entropy as a share of the greatest possible",
    "rows.shape.flat": "the row's entropy as a share of the greatest possible",
    "rows.shape.sharp": "the row's entropy as a share of the greatest possible",
}
# Labels in sections of findings: a button, a name, a heading.
LABELS = {
    "rows.finding.offer_bidirectional", "tying.moved.title", "tying.way.tied",
    "tying.way.copied_in_forward", "tying.way.data_copied_once", "tying.way.head_bias",
}  # fmt: skip
_FORMATTED = re.compile(r"\{\w+:[^}]*[fgde%]\}")


def sentences(lang: str) -> Iterator[tuple[str, str]]:
    """Every sentence of a language with its full name, `catalog.section.key`."""
    for name in catalog_names(lang):
        yield from ((f"{name}.{key}", text) for key, text in catalog(lang, name).items())


def shows_a_number(text: str) -> bool:
    """Whether a measured number is part of the sentence."""
    return bool(_FORMATTED.search(text)) or any(f"{{{name}}}" in text for name in NUMBERS)


def is_finding(name: str, text: str) -> bool:
    sections = name.split(".")[1:-1]
    in_section = (bool(sections) and sections[-1] in SECTIONS) or "route" in sections
    return name not in LABELS and (in_section or bool(_FORMATTED.search(text)))


@cache
def codes_in_the_source() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The strings of pages and core that may name a sentence, as patterns, with their file."""
    found = []
    for folder in ("pages", "owi_core"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    if re.fullmatch(r"[a-z_.]+", node.value):
                        found.append((place, re.compile(re.escape(node.value))))
                elif isinstance(node, ast.JoinedStr):
                    parts = [
                        re.escape(part.value) if isinstance(part, ast.Constant) else r"[\w.]+"
                        for part in node.values
                        if not isinstance(part, ast.Constant) or isinstance(part.value, str)
                    ]
                    pattern = "".join(parts)
                    if re.search(r"[a-z]{2}", pattern.replace(r"[\w.]+", "")):
                        found.append((place, re.compile(pattern)))
    return tuple(found)


def chosen_in(name: str) -> list[str]:
    """The files whose strings name this sentence: whole, without its catalog, or by its code."""
    _, _, key = name.partition(".")
    names = {key, key.rsplit(".", 1)[-1]}
    return sorted(
        {place for place, code in codes_in_the_source() if any(code.fullmatch(n) for n in names)}
    )


FINDINGS = [name for name, text in sentences("en") if is_finding(name, text)]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_finding_shows_the_number_that_decides_it_or_is_listed_with_it(lang: str) -> None:
    texts = dict(sentences(lang))
    lacking = [n for n in FINDINGS if not shows_a_number(texts[n]) and n not in DECIDED_BY]
    assert not lacking, f"show the measured value, or name it in DECIDED_BY: {lacking}"


def test_the_list_of_findings_without_a_number_is_not_longer_than_it_must_be() -> None:
    texts = dict(sentences("en"))
    assert set(DECIDED_BY) <= set(FINDINGS)
    assert not [name for name in DECIDED_BY if shows_a_number(texts[name])]
    assert set(texts) >= LABELS


def test_every_finding_is_listed_with_its_value_and_the_place_that_chooses_it() -> None:
    texts = dict(sentences("en"))
    for name in FINDINGS:
        numbers = ", ".join(re.findall(r"\{(\w+)", texts[name]))
        print(f"{name} | {DECIDED_BY.get(name, numbers)} | {', '.join(chosen_in(name))}")
    never = [name for name in FINDINGS if not chosen_in(name)]
    assert not never, f"no code chooses these sentences: {never}"
