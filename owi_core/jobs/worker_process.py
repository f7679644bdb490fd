"""A worker as the server sees it: a child process, a thread that reads it, a way to end it."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

Start = Callable[[], "subprocess.Popen[bytes]"]


def start_worker(nice: int) -> "subprocess.Popen[bytes]":
    """Start a worker on this machine; to run workers elsewhere, replace this function."""
    return start_python("-m", "owi_core", "worker", "--nice", str(nice))


def start_python(*args: str) -> "subprocess.Popen[bytes]":
    """A Python child with pipes in UTF-8, at the project's root; its stderr is the server's."""
    return subprocess.Popen(
        [sys.executable, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ
        # backslashreplace: half a surrogate pair becomes its JSON escape.
        | {"PYTHONIOENCODING": "utf-8:backslashreplace", "OMP_NUM_THREADS": "1"},
    )


class Worker:
    """A live worker; `on_line` and `on_exit` are called from its reader thread."""

    def __init__(
        self,
        start: Start,
        on_line: Callable[["Worker", str], None],
        on_exit: Callable[["Worker"], None],
    ) -> None:
        self.ready = False
        self._process = start()
        self._on_line, self._on_exit = on_line, on_exit
        self._thread = threading.Thread(target=self._read, name="owi-worker", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, line: str) -> None:
        """Write one line. A worker that has exited is noticed by its reader thread, not here."""
        stdin = self._process.stdin
        assert stdin is not None
        with suppress(OSError, ValueError):
            stdin.write(line.encode("utf-8", "backslashreplace") + b"\n")
            stdin.flush()

    def ask(self, request: str) -> None:
        """Ask the run to "pause" or to "stop"."""
        self.send(json.dumps({"control": request}))

    def dismiss(self) -> None:
        """Close its stdin: an idle worker ends, a busy one stops first."""
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    def kill(self) -> None:
        """End this one process at once."""
        self._process.kill()

    def join(self, seconds: float) -> bool:
        """Wait until the process has ended and its thread too."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _read(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        with stdout:
            for line in stdout:
                self._on_line(self, line.decode("utf-8", "replace"))
        # Reaps the child, so that no zombie is left.
        self._process.wait()
        self.dismiss()
        self._on_exit(self)
