"""What one busy core beside it costs a training run: time on the wall, in turns with quiet."""

import json
import statistics
import subprocess
import sys
from typing import Any

NAME = "neighbour"
ROUNDS = 5
_RUN = ["-m", "owi_core", "run", "language", "--set", "preset=quick", "--set", "steps=100"]
_BUSY = "while True: pass"


def run() -> dict[str, Any]:
    """Return the seconds of training with and without a neighbour, and the median ratio."""
    quiet, busy = [], []
    for _ in range(ROUNDS):
        quiet.append(_train())
        with subprocess.Popen([sys.executable, "-c", _BUSY]) as neighbour:
            busy.append(_train())
            neighbour.kill()
    ratios = [b / q for b, q in zip(busy, quiet, strict=True)]
    return {"quiet": quiet, "busy": busy, "ratio": statistics.median(ratios)}


def _train() -> float:
    """Return the seconds that the steps of one run took, without its start."""
    done = subprocess.run(
        [sys.executable, *_RUN], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return float(json.loads(done.stdout.splitlines()[-1])["result"]["train_seconds"])
