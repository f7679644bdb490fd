"""The ranges in docs/measurements.md are those that `python -m tests.bench claims` found."""

from tests.bench import claims
from tests.house.source import ROOT

BEGIN = "| median 中位数 | range 范围 |\n|---|---|--:|--:|\n"
END = "\n\n<!-- end of the eight seeds -->"


def test_the_table_over_eight_seeds_is_what_was_measured() -> None:
    page = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    shown = page.partition(BEGIN)[2].partition(END)[0]
    assert shown == claims.table(claims.stored())


def test_no_seed_is_left_out_of_a_range() -> None:
    found = claims.stored()
    for command in found:
        if f"run {command.split()[0]}" in claims.table(found):
            assert set(found[command]) <= {str(seed) for seed in claims.SEEDS}
    assert len(claims.SEEDS) >= 8


def test_a_range_and_a_verdict_are_counted_over_all_seeds() -> None:
    command = claims.CLAIMS[0].command
    rows = {
        str(seed): {"verdict": "a" if seed else "b", "values": {"heldout": seed / 8}}
        for seed in claims.SEEDS
    }
    table = claims.table({command: rows})
    assert "`b` 1, `a` 7" in table
    assert "| 0.438 | 0.000 … 0.875 |" in table
    del rows["7"]
    assert claims.table({command: rows}) == ""
