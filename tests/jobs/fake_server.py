"""A server with one run under way, which prints its worker's process id and waits to be killed."""

import sys
import time

from owi_core.jobs.manager import JobManager
from tests.jobs.conftest import LIMITS, plain_recipe, start_fake_worker

if __name__ == "__main__":
    manager = JobManager(plain_recipe, LIMITS, start_fake_worker)
    run = manager.submit("fake", {"gate": sys.argv[1]}, "a")
    manager.wait(lambda: bool(run.losses), 10)
    print(*manager.pids(), flush=True)
    time.sleep(60)
