"""Ten thousand odd inputs: each is taken or refused with an OwiError, in bounded memory.

Valid inputs are cut, doubled, flipped and patched with what parsers stumble over. The seeds are
fixed, so that a failure comes again. A hundred of each kind are tried with every run of the tests,
two and a half thousand of each when slow ones are asked for.
"""

import random
import tracemalloc
from collections.abc import Callable
from urllib.parse import parse_qsl, quote

import pytest

from owi_core.assets import ASSETS
from owi_core.checkpoints import from_bytes, to_bytes
from owi_core.errors import OwiError
from owi_core.jobs.memory import memory_mb
from owi_core.untrusted import MisfitError
from pages._ui.base import links
from pages._ui.lessons.file import parse
from pages._ui.session.recipes import params_of
from tests.tiny import character_bundle, word_bundle

FEW, MANY = 100, 2_500
# What a single input may take beyond itself, as Python counts it, and what all may leave behind.
PEAK_BYTES = 20_000_000
LEFT_MB = 100.0
ODD = [
    "\0", "\ufeff", "\ud800", "\u202e", "\u200d", "👩‍👩‍👧", "e\u0301" * 40, "𠀀", "\r\n", "'" * 3,
    '"""', "[" * 300, "{" * 300, "..", "../../etc/passwd", "%00", "%ff", "1e999", "-0", "9" * 400,
    "nan", "true", "[[step]]", "= ", "\\u", "<script>", "它" * 700, "a.b.c.d.e.f", "&", "?", "#",
]  # fmt: skip
LESSON = (ASSETS / "lessons" / "zh").glob("*.toml")
LESSONS = [path.read_bytes() for path in LESSON]
MODELS = [to_bytes(character_bundle()), to_bytes(word_bundle())]
SENTENCES = ["小明把苹果放在桌子上，小红拿走了它", "The cat sat on 垫子 3 times, T恤!"]
LINKS = [
    "v=1&lang=zh&pair=typed&text.A=小明把苹果放在桌子上&layer=1&head=-1&end=1",
    "v=1&run=pronoun&run.family=swap&run.steps=220&trained=language&trained.seed=3&end=1",
    "lesson=rows&at=2&said=1-0&teach=1&hide=controls&v=1&grid=[[1,2],[3,4]]&end=1",
]
TOKENIZERS = [character_bundle().tokenizer, word_bundle().tokenizer]
DEFAULTS = [True, 3, 0.5, "text", None, [1], (1, 2)]


def mangled(rng: random.Random, data: bytes) -> bytes:
    """Return a valid input after one to four accidents."""
    for _ in range(rng.randint(1, 4)):
        a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        odd = rng.choice(ODD).encode("utf-8", "surrogatepass")
        b = min(b, a + 200)
        accident = rng.randrange(5)
        if accident == 0:
            data = data[:a] + odd + data[a:]
        elif accident == 1:
            data = data[:a] + data[b:]
        elif accident == 2:
            data = data[:a] + data[a:b] * 3 + data[b:]
        elif accident == 3:
            data = data[:a] + bytes(c ^ (1 << rng.randrange(8)) for c in data[a : a + 3]) + data[b:]
        else:
            data = data[:a]
    return data


def tokenize(rng: random.Random) -> None:
    text = mangled(rng, rng.choice(SENTENCES).encode()).decode("utf-8", "replace")
    if rng.random() < 0.2:  # what only a program can send
        text += "\udfff"
    for tokenizer in TOKENIZERS:
        encoding = tokenizer.encode(text)
        assert all(0 <= index < tokenizer.vocab_size for index in encoding.ids)


def read_link(rng: random.Random) -> None:
    asked = mangled(rng, quote(rng.choice(LINKS), safe="=&").encode()).decode("utf-8", "replace")
    params = dict(parse_qsl(asked, keep_blank_values=True))
    link = links.read(params)
    links.teaching(params)
    for recipe in [*link.runs.values(), *filter(None, [link.trained])]:
        params_of(recipe)
    for text in link.values.values():
        default = rng.choice(DEFAULTS)
        try:
            links.fitted(links.parse(text, default), default, links.Limits())
        except MisfitError:
            continue


def read_lesson(rng: random.Random) -> None:
    parse(mangled(rng, rng.choice(LESSONS)), "x.toml", ("rows", "masking"))


def read_model(rng: random.Random) -> None:
    data = rng.choice(MODELS)
    if rng.random() < 0.7:  # the header is where the decisions are
        head = 8 + int.from_bytes(data[:8], "little")
        text = mangled(rng, data[8:head])
        data = len(text).to_bytes(8, "little") + text + data[head:]
    else:
        data = mangled(rng, data)
    from_bytes(data)


READERS = [tokenize, read_link, read_lesson, read_model]


def fuzz(read: Callable[[random.Random], None], seeds: range) -> int:
    """Give a reader one input for each seed; return how many it refused."""
    refused = 0
    for seed in seeds:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        try:
            read(random.Random(seed))
        except OwiError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{read.__name__}, seed {seed}: {error!r}") from error
        _, peak = tracemalloc.get_traced_memory()
        assert peak - before < PEAK_BYTES, (read.__name__, seed, peak - before)
    return refused


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "seeds",
    [range(FEW), pytest.param(range(FEW, FEW + MANY), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
def test_odd_input_is_taken_or_refused_in_bounded_memory(
    read: Callable[[random.Random], None], seeds: range
) -> None:
    from_bytes(MODELS[0])  # torch loads 70 MB of modules with the first
    fuzz(read, range(3))
    resident = memory_mb()
    tracemalloc.start()
    try:
        refused = fuzz(read, seeds)
    finally:
        tracemalloc.stop()
    assert read is read_link or refused > 0
    assert memory_mb() - resident < LEFT_MB


def test_a_reader_that_fails_in_another_way_is_noticed() -> None:
    def careless(rng: random.Random) -> None:
        raise KeyError

    tracemalloc.start()
    try:
        with pytest.raises(AssertionError, match="careless, seed 0"):
            fuzz(careless, range(1))
    finally:
        tracemalloc.stop()
