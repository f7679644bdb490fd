"""Nothing a user sends is executed, unpickled or opened as a path; what comes in is bounded."""

import ast
import tomllib
from collections.abc import Iterator

import pytest

from owi_core.checkpoints import MAX_UPLOAD_BYTES
from tests.house.source import ROOT, Module, app, called_name, modules, where

# What runs or unpacks what it is given. `compile` is re's and the builtin's: only the latter.
FORBIDDEN_CALLS = {
    "eval", "exec", "__import__", "os.system", "os.popen", "os.execv", "os.execvp", "os.spawnv",
    "subprocess.getoutput", "subprocess.getstatusoutput", "asyncio.create_subprocess_shell",
    "yaml.load", "yaml.unsafe_load", "pickle.load", "pickle.loads", "pd.read_pickle",
    "pandas.read_pickle", "torch.jit.load", "torch.hub.load", "shutil.unpack_archive",
    "tempfile.mktemp", "compile",
}  # fmt: skip
FORBIDDEN_MODULES = {
    "pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "runpy",
    "zipfile", "tarfile", "ctypes", "xml", "requests", "httpx", "socket", "http",
}  # fmt: skip
# One starts workers, one measures a new process; neither receives text of a user.
START_PROCESSES = {"owi_core.jobs.worker_process", "owi_core.probes.memory"}
MEGABYTE = 2**20


def keywords(call: ast.Call) -> dict[str | None, ast.expr]:
    return {keyword.arg: keyword.value for keyword in call.keywords}


def faults(module: Module) -> Iterator[str]:
    """Yield each place that would run, unpack or fetch what it is given."""
    for name in {name.split(".")[0] for name in module.imports()} & FORBIDDEN_MODULES:
        yield f"{module.path.name}: import {name}"
    for call in module.calls():
        name, given = ast.unparse(call.func), keywords(call)
        if name in FORBIDDEN_CALLS:
            yield f"{where(module, call)}: {name}"
        if "shell" in given and ast.unparse(given["shell"]) != "False":
            yield f"{where(module, call)}: shell"
        if name == "torch.load" and ast.unparse(given.get("weights_only", call)) != "True":
            yield f"{where(module, call)}: torch.load"
        if name in {"np.load", "numpy.load"} and "allow_pickle" in given:
            yield f"{where(module, call)}: allow_pickle"


def test_nothing_that_a_user_sends_is_run_or_unpickled() -> None:
    assert [fault for module in app() for fault in faults(module)] == []


@pytest.mark.parametrize(
    "line",
    [
        "eval(text)",
        "import pickle",
        "from yaml import load",
        "os.system(line)",
        "subprocess.run(line, shell=True)",
        "torch.load(path)",
        "torch.load(path, weights_only=False)",
        "np.load(path, allow_pickle=True)",
    ],
)
def test_each_forbidden_call_is_found(line: str) -> None:
    module = Module("pages.x", ROOT / "pages" / "x.py", ast.parse(line))
    assert list(faults(module))


def test_only_two_places_start_a_process_and_they_pass_a_list() -> None:
    found = set()
    for module in app():
        if "subprocess" in module.imports():
            found.add(module.name)
        for call in module.calls():
            if ast.unparse(call.func) in {"subprocess.Popen", "subprocess.run"}:
                assert isinstance(call.args[0], ast.List | ast.Name), where(module, call)
                given = call.args[0]
                assert not isinstance(given, ast.List) or "sys.executable" in ast.unparse(given)
    assert found <= START_PROCESSES


def test_the_server_keeps_its_protections_and_its_upload_limit() -> None:
    server = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["server"]
    assert server["enableXsrfProtection"] is True
    assert server["enableCORS"] is True
    assert server["enableStaticServing"] is False
    assert server["enableAgentApi"] is False
    assert server["maxUploadSize"] * MEGABYTE >= MAX_UPLOAD_BYTES > 4 * MEGABYTE
    assert server["maxUploadSize"] <= 5


def test_every_uploader_has_its_own_bound_and_kind() -> None:
    uploaders = [
        (module, call)
        for module in modules("app.py", "pages")
        for call in module.calls()
        if called_name(call) == "file_uploader"
    ]
    assert uploaders
    for module, call in uploaders:
        assert {"type", "max_upload_size"} <= set(keywords(call)), where(module, call)
        assert "accept_multiple_files" not in keywords(call), where(module, call)


def test_nothing_is_opened_by_the_name_of_an_upload() -> None:
    """The `.name` of an uploaded file is untrusted text; only its bytes are read."""
    for module in modules("app.py", "pages"):
        names = {
            target.id
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and called_name(node.value) == "file_uploader"
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(module.tree):
            of_upload = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
            assert not (of_upload and node.value.id in names and node.attr == "name"), where(
                module, node
            )
