"""What holds for every test: one thread a process, and examples that are the same each time."""

import os
from collections.abc import Iterator

# Before torch is imported anywhere: the machine is shared, and one thread gives equal numbers.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A sentence that is missing fails the test instead of showing its key.
os.environ.setdefault("OWI_STRICT_TEXT", "1")

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None, max_examples=60, database=None)
settings.register_profile("ci", settings.get_profile("same"), max_examples=25)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "same")


@pytest.fixture(scope="module")
def own_workers() -> Iterator[None]:
    """Give a module's tests a job manager of their own, and end its workers after them."""
    from pages._ui.session import jobs  # here: most tests need neither Streamlit nor workers

    jobs.manager.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OWI_NICE", "0")  # other tests may be running
        yield
    jobs.manager.clear()
