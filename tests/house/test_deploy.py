"""The files for a server agree with the app and with each other."""

import json
import re
import tomllib

from tests.house.source import ROOT

CONTAINER = (ROOT / "Containerfile").read_text("utf-8")
PROXY = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
SERVER = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["server"]
# Streamlit Community Cloud looks for these before requirements.txt, and takes the first it finds.
READ_BEFORE = ("uv.lock", "Pipfile", "environment.yml")


def instructions(word: str) -> list[str]:
    lines = CONTAINER.replace("\\\n", " ").splitlines()
    return [line.removeprefix(word).strip() for line in lines if line.startswith(f"{word} ")]


def test_the_cloud_finds_one_list_of_packages_and_the_cpu_build() -> None:
    assert not [name for name in READ_BEFORE if (ROOT / name).exists()]
    assert not (ROOT / "packages.txt").exists()
    assert tomllib.loads((ROOT / "uv.toml").read_text("utf-8"))["pip"]["torch-backend"] == "cpu"


def test_the_image_holds_the_app_and_does_not_run_as_root() -> None:
    assert instructions("FROM") == ["docker.io/library/python:3.11-slim"]
    copied = {word.removesuffix("/") for line in instructions("COPY") for word in line.split()[:-1]}
    needed = {"app.py", "pages", "owi_core", "assets", ".streamlit", "requirements.txt", "uv.toml"}
    assert copied == needed
    assert all((ROOT / name).exists() for name in copied)
    (user,) = instructions("USER")
    assert int(user) > 0
    assert CONTAINER.index("\nUSER ") < CONTAINER.index("\nCMD ")


def test_the_image_starts_the_server_and_checks_its_health() -> None:
    command = json.loads(instructions("CMD")[0])
    assert command[:5] == ["python", "-m", "streamlit", "run", "app.py"]
    port = next(word.partition("=")[2] for word in command if "server.port" in word)
    (health,) = instructions("HEALTHCHECK")
    assert f":{port}/_stcore/health" in health
    assert instructions("EXPOSE") == [port]
    assert f"proxy_pass http://127.0.0.1:{port};" in PROXY


def test_the_proxy_lets_websockets_and_uploads_through() -> None:
    for header in ("Upgrade $http_upgrade", "Connection $connection_upgrade", "Host $host"):
        assert f"proxy_set_header {header};" in PROXY
    body = re.search(r"client_max_body_size (\d+)m;", PROXY)
    assert body
    assert int(body[1]) > SERVER["maxUploadSize"]
    assert re.search(r"proxy_read_timeout \d+h;", PROXY)


def test_no_message_is_sent_as_a_reference_that_the_browser_may_have_dropped() -> None:
    """Streamlit reads this file wherever it is started; see tests/browser/test_quick_clicks.py."""
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert config["global"]["minCachedMessageSize"] >= 10**9
