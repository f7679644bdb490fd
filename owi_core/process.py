"""What is changed for a whole process: only here, once, each with its reason.

A process is a server (`prepare_server`), a worker that trains (`prepare_worker`) or a command
(`prepare_command`). A change that would affect other code in the same process is easy to overlook
where it is used; a test therefore allows it in this module alone. The module imports nothing that
takes long: pages load it before their title is drawn.
"""

import gc
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

# Each part of a page that is sent releases the interpreter's lock. While others draw their pages,
# the thread gets the lock back only after this time, a hundred times for each page. Python's own
# 5 ms would add half a second to a page.
SWITCH_SECONDS = 0.0005
# The torch whose internals `skip_compiler_hooks` knows.
KNOWN_TORCH = "2.13."
# A server has some twenty pages; a name from a link must not let the cache grow.
MOST_PAGES = 64


@cache
def prepare_server() -> None:
    """Prepare a process that draws pages for many users; the first call counts."""
    sys.setswitchinterval(SWITCH_SECONDS)
    _use_one_thread_when_imported()


def prepare_worker(nice: int) -> None:
    """Prepare a process that trains: low priority, one thread; imports torch.

    nice: how far the priority is lowered, so that pages stay quick while a run goes on. With ten
    open sessions on two cores, a run at the same priority makes each page 4 to 9 times slower.
    """
    if hasattr(os, "nice"):  # not on Windows
        with suppress(OSError):
            os.nice(nice)
    use_one_thread()


def prepare_command() -> None:
    """Prepare a command that trains; imports torch."""
    use_one_thread()


def use_one_thread() -> None:
    """Let torch compute on one thread, in this thread and in those that have not used it yet.

    Two threads are 20 % faster on a quiet machine and 5 times slower on a busy one, where each
    waits for the other at every operation. Short sentences gain nothing at all.
    """
    import torch

    torch.set_num_threads(1)


def _use_one_thread_when_imported() -> None:
    """Do the same in a server, where torch is imported only when the title has been drawn."""
    os.environ["OMP_NUM_THREADS"] = "1"  # torch reads it while it is imported
    if "torch" in sys.modules:
        use_one_thread()


@lru_cache(maxsize=MOST_PAGES)
def freeze_loaded(_page: str) -> None:
    """Leave out of later garbage collections what is loaded now, once for each page of a server.

    Streamlit collects after every run of a script, and all threads wait meanwhile. With torch and
    the charts loaded there are some 250,000 objects that live as long as the process; to look at
    them takes 0.2 s, longer than most scripts take. Each page loads something more, hence once a
    page. Collected first, because what is garbage at this moment would stay for ever.
    """
    gc.collect()
    gc.freeze()


@cache
def skip_compiler_hooks() -> None:
    """Let torch make and step optimizers without loading its compiler.

    In torch 2.13 four methods of `Optimizer` are wrapped by `torch._disable_dynamo`: their first
    call imports `torch._dynamo` (800 modules, 70 MB, most of a second), to tell a compiler that no
    run here uses to leave the method alone. The wrapper keeps the imported result in an attribute
    of the inner method; with the method itself in that attribute, nothing is imported.

    In another version of torch nothing is changed: a run is then right, and only starts later.
    """
    import torch

    if not torch.__version__.startswith(KNOWN_TORCH):
        return
    for name in ("add_param_group", "load_state_dict", "state_dict", "zero_grad"):
        inner = unwrapped(getattr(torch.optim.Optimizer, name))
        setattr(inner, "__dynamo_disable", inner)


def unwrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of torch without what is done around it for the compiler.

    In another version of torch the method comes back as it is: what is around it is not known.
    """
    import torch

    known = torch.__version__.startswith(KNOWN_TORCH)
    inner: Callable[..., Any] = getattr(method, "__wrapped__", method) if known else method
    return inner


@cache
def quiet_profiler() -> None:
    """Keep torch's profiler from announcing its start and its end on standard error."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
