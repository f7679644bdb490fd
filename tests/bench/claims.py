"""The figures of docs/measurements.md that depend on a seed, over eight seeds.

Each run is a command of the table there.  What it finds is written to results/claims.json as soon
as it is known, so that an interrupted measurement goes on where it stopped; a run is measured again
when its entry is removed from that file.  The page shows `table`, of commands with all eight seeds.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch

from owi_core.checkpoints import load
from owi_core.events import Finished
from owi_core.experiments import find, parse_params
from owi_core.gallery import ready_pair
from owi_core.readings import read

NAME = "claims"
SEEDS = range(8)
# How the table calls the values, in both languages of the page; the others are names of models.
WORDS = {
    "heldout": "held-out sentences right 没训练过的句子答对",
    "heldout_structure": "held-out structures right 没训练过的句式答对",
    "unseen_words": "unseen nouns right 没见过的名词答对",
    "without_direct": "right without the direct look 不许直接看还答对",
    "direct_alone": "right by the direct look alone 只许直接看还答对",
    "weight": "weight on the word meant, best layer 看向所指词的权重",
    "cut A": "sentence A: strongest edge cut, nats 句子 A 剪断最强的边",
    "cut everywhere A": "〃 the same look cut in every layer 每层都剪",
    "cut B": "sentence B: strongest edge cut, nats 句子 B",
    "cut everywhere B": "〃 the same look cut in every layer 每层都剪",
    "one head off": "layer 2: the most important head off, nats 关掉最要紧的一个头",
    "all heads off": "layer 2: all heads off, nats 全关掉",
    "with": "right with W_O 有 W_O 答对",
    "without": "right without W_O 没有 W_O 答对",
    "with weight": "weight on the word meant, with W_O 看向所指词，有 W_O",
    "without weight": "〃 without W_O 没有 W_O",
    "within": "right where one layer reaches 一层够得着处答对",
    "relayed": "right where layers relay 几层接力够得着处答对",
    "beyond": "right beyond reach (a guess: 0.063) 够不着处答对（瞎猜 0.063）",
    "one layer at best": "1 layer, 1 to 8 heads, at best 一层最多",
    "two layers, one head": "2 layers, 1 head 两层一个头",
    "two layers at best": "2 layers, at best 两层最多",
}
STORED = Path(__file__).parent / "results" / "claims.json"

Values = dict[str, float]
Found = dict[str, dict[str, dict[str, Any]]]  # command → seed → verdict and values


@dataclass(frozen=True)
class Claim:
    """A command without its seed, and the numbers taken from what it finishes with.

    pair: the ready pair whose strongest edges are cut in the trained model.
    """

    command: str
    take: Callable[[dict[str, Any]], Values]
    pair: str = ""


def run() -> Found:
    """Measure what is not stored yet; return everything."""
    torch.set_num_threads(1)
    found = stored()
    for claim in CLAIMS:
        seeds = found.setdefault(claim.command, {})
        for seed in SEEDS:
            if str(seed) not in seeds:
                seeds[str(seed)] = _measured(claim, seed)
                _store(found)
    return found


def stored() -> Found:
    """Return what has been measured so far."""
    if not STORED.exists():
        return {}
    found: Found = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def columns(found: Found, command: str) -> dict[str, list[float]]:
    """Return the values of one command by name, in the order of the seeds."""
    rows = [row["values"] for _, row in sorted(found[command].items(), key=lambda x: int(x[0]))]
    return {name: [row[name] for row in rows] for name in rows[0]}


def verdicts(found: Found, command: str) -> dict[str, int]:
    """Return how often each verdict was reached."""
    codes = [row["verdict"] for row in found[command].values()]
    return {code: codes.count(code) for code in dict.fromkeys(codes)}


def table(found: Found) -> str:
    """Return the rows of docs/measurements.md: every command that has all its seeds."""
    lines = []
    for command in (claim.command for claim in CLAIMS):
        if len(found.get(command, {})) < len(SEEDS):
            continue
        name, *pairs = command.split()
        run_it = " ".join(["run", name, *(f"--set {pair}" for pair in pairs)])
        said = ", ".join(f"`{code}` {n}" for code, n in verdicts(found, command).items())
        lines.append(f"| `{run_it}` | verdict, of {len(SEEDS)} 结论 | {said} | |")
        for value, seeds in columns(found, command).items():
            low, high = _written(min(seeds)), _written(max(seeds))
            called = WORDS.get(value, value)
            lines.append(f"| 〃 | {called} | {_written(median(seeds))} | {low} … {high} |")
    return "\n".join(lines)


def _written(value: float) -> str:
    text = f"{value:.3f}".replace("-", "−")
    return "0.000" if text == "−0.000" else text


def _measured(claim: Claim, seed: int) -> dict[str, Any]:
    name, *pairs = claim.command.split()
    values = dict(pair.split("=", 1) for pair in pairs if pair != "--set")
    params = parse_params(find(name), values | {"seed": str(seed)})
    with tempfile.TemporaryDirectory() as folder:
        *_, last = find(name).run(params, Path(folder))
        assert isinstance(last, Finished), last
        cuts = _cuts(Path(folder), claim.pair) if claim.pair else {}
    return {"verdict": last.verdict["code"], "values": claim.take(last.result) | cuts}


def _cuts(folder: Path, name: str) -> Values:
    """Return what cutting each sentence's strongest look costs, in one layer and in all."""
    bundle, pair = load(folder), ready_pair(name)
    assert pair is not None
    found = {}
    for side, text, query in (("A", pair.a, pair.query_a), ("B", pair.b, pair.query_b)):
        reading = read(bundle, text, query)
        cut = reading.cut(reading.strongest())
        assert cut is not None
        found[f"cut {side}"] = round(cut.change_nats, 3)
        found[f"cut everywhere {side}"] = round(cut.everywhere_nats, 3)
    return found


def _store(found: Found) -> None:
    text = json.dumps(found, ensure_ascii=False, indent=1)
    STORED.write_text(text + "\n", encoding="utf-8")


def _best_layer(by_head: list[list[float]]) -> float:
    return max(sum(layer) / len(layer) for layer in by_head)


def _pronoun(result: dict[str, Any]) -> Values:
    names = ("heldout", "heldout_structure", "unseen_words", "without_direct", "direct_alone")
    shares = {name: result[f"accuracy_{name}"] for name in names}
    return shares | {"weight": round(_best_layer(result["attention_on_antecedent"]), 4)}


def _masking(result: dict[str, Any]) -> Values:
    return {
        f"{name} {key}": round(result[name][key], 4)
        for name in result
        for key in ("train_loss_nats", "prefix_only_loss_nats", "next_token_accuracy")
    }


def _outside(result: dict[str, Any]) -> Values:
    window = result["kinds"]["window"]
    names = {"within": "accuracy_one_layer", "relayed": "accuracy_relayed"}
    names["beyond"] = "accuracy_outside"
    return {name: round(window[key], 4) for name, key in names.items()}


def _depth(result: dict[str, Any]) -> Values:
    right = {size: part["accuracy_heldout"] for size, part in result["sizes"].items()}
    one = [value for size, value in right.items() if size.startswith("1x")]
    two = [value for size, value in right.items() if size.startswith("2x")]
    return {"one layer at best": max(one), "two layers, one head": right["2x1"],
            "two layers at best": max(two)}  # fmt: skip


def _projection(result: dict[str, Any]) -> Values:
    ours = result["with_projection"]
    other = result["without_projection"]
    heads = ours["head_effect"][-1]
    return {
        "one head off": min(heads),
        "all heads off": ours["heads_together"][-1],
        "with weight": round(_best_layer(ours["attention_on_antecedent"]), 4),
        "without weight": round(_best_layer(other["attention_on_antecedent"]), 4),
        "with": ours["accuracy_heldout"],
        "without": other["accuracy_heldout"],
    }


def _two(first: str, other: str) -> Callable[[dict[str, Any]], Values]:
    def take(result: dict[str, Any]) -> Values:
        found: Values = {}
        for name in (first, other):
            part = result[name]
            found[f"{name} heldout"] = part["accuracy_heldout"]
            found[f"{name} unseen"] = part["accuracy_unseen_words"]
            found[f"{name} weight"] = max(part["attention_by_layer"])
        return found

    return take


def _recall(result: Mapping[str, Any]) -> Values:
    far = str(result["longest"])
    return {kind: m["accuracy_by_distance"][far] for kind, m in _models(result)}


def _rule(result: Mapping[str, Any]) -> Values:
    return {
        f"{kind} {n}": value
        for kind, model in _models(result)
        for n, value in model["accuracy_by_data"].items()
    }


def _maps(result: Mapping[str, Any]) -> Values:
    return {kind: round(m["fresh"]["input_dependence"], 4) for kind, m in _models(result)}


def _models(result: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from result["models"].items()


CLAIMS = (
    Claim("pronoun family=person", _pronoun, "person"),
    Claim("pronoun family=swap", _pronoun, "nouns"),
    Claim("projection", _projection),
    Claim("cost part=outside", _outside),
    Claim("pronoun family=street mask=bidirectional", _pronoun, "street"),
    Claim("pronoun family=fit mask=bidirectional", _pronoun, "fit_bidirectional"),
    Claim("pronoun family=verb", _pronoun, "verb"),
    Claim("connections part=maps", _maps),
    Claim("cost part=depth", _depth),
    Claim("tying", _two("tied", "untied")),
    Claim("tying question=scale", _two("scaled", "unscaled")),
    Claim("masking", _masking),
    Claim("pronoun family=fit mask=causal", _pronoun),
    Claim("connections part=data", _rule),
    Claim("connections part=recall", _recall),
)
