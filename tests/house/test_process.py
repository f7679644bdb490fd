"""What affects a whole process is changed in one module, and does what its reasons say."""

import ast
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from owi_core import process
from tests.house.source import ROOT, Module, app, where

# Functions that change what all code of a process sees. `reconfigure` of the command line's own
# output and `manual_seed` inside `fork_rng` are local in effect and are not among them.
PROCESS_WIDE = {
    ("gc", "freeze"), ("gc", "unfreeze"), ("gc", "disable"), ("gc", "enable"), ("gc", "collect"),
    ("gc", "set_threshold"), ("os", "nice"), ("os", "chdir"), ("os", "umask"), ("os", "putenv"),
    ("sys", "setswitchinterval"), ("sys", "setrecursionlimit"), ("locale", "setlocale"),
    ("torch", "set_num_threads"), ("torch", "set_num_interop_threads"),
    ("torch", "set_default_dtype"), ("torch", "set_default_device"),
    ("torch", "use_deterministic_algorithms"), ("torch", "set_float32_matmul_precision"),
    ("np", "seterr"), ("random", "seed"), ("warnings", "filterwarnings"),
    ("warnings", "simplefilter"), ("logging", "basicConfig"), ("signal", "signal"),
}  # fmt: skip
THE_ONE = "owi_core.process"


def changes_of(module: Module) -> list[str]:
    """Return where a module calls such a function, writes the environment or patches torch."""
    nodes = list(ast.walk(module.tree))
    found: list[ast.AST] = [
        node
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in PROCESS_WIDE
    ]
    found += [
        target
        for node in nodes
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if ast.unparse(target).startswith(("os.environ", "torch.", "sys."))
    ]
    found += [
        node
        for node in nodes
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).startswith("os.environ.")
        and not ast.unparse(node.func).endswith((".get", ".items", ".copy"))
    ]
    return [where(module, node) for node in found]


def test_only_one_module_changes_what_a_whole_process_sees() -> None:
    found = {module.name: changes_of(module) for module in app() if module.name != THE_ONE}
    assert {name: places for name, places in found.items() if places} == {}, (
        "put it into owi_core/process.py, with its reason"
    )


@pytest.mark.parametrize(
    "line",
    [
        "gc.freeze()",
        "torch.set_num_threads(1)",
        'os.environ["A"] = "b"',
        'os.environ.setdefault("A", "b")',
        "torch.optim.Adam.step = f",
    ],
)
def test_the_rule_sees_such_a_change(line: str) -> None:
    assert changes_of(Module("pages.x", ROOT / "pages" / "x.py", ast.parse(line)))


@pytest.mark.parametrize("first", ["", "import torch"])
def test_a_server_computes_on_one_thread_in_each_of_its_threads(first: str) -> None:
    code = f"""{first}
import threading
from owi_core import process
process.prepare_server()
import torch
def compute():
    torch.randn(300, 300) @ torch.randn(300, 300)
    print(torch.get_num_threads())
for _ in range(2):
    thread = threading.Thread(target=compute)
    thread.start()
    thread.join()
"""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["1", "1"]


def test_a_torch_that_is_not_known_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Optimizer:
        def outer(self) -> None: ...

    method: Any = Optimizer.outer
    method.__wrapped__ = lambda self: None
    for name in ("add_param_group", "load_state_dict", "state_dict", "zero_grad"):
        setattr(Optimizer, name, method)
    process.skip_compiler_hooks.cache_clear()
    other = SimpleNamespace(__version__="9.0.0", optim=SimpleNamespace(Optimizer=Optimizer))
    monkeypatch.setitem(sys.modules, "torch", other)  # type: ignore[arg-type]
    process.skip_compiler_hooks()
    assert not hasattr(method.__wrapped__, "__dynamo_disable")
    assert process.unwrapped(method) is method
    process.skip_compiler_hooks.cache_clear()  # the next test needs it for the real torch


def test_the_torch_that_is_installed_is_known() -> None:
    assert torch.__version__.startswith(process.KNOWN_TORCH)
