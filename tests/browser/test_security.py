"""What the real server refuses: strange origins, files without a token, other files."""

import http.client
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from tests.browser.browsing import ROOT, serving

pytestmark = pytest.mark.slow
UPLOAD = "/_stcore/upload_file/nobody/nothing"
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory):
    with serving(ROOT / "app.py", tmp_path_factory.mktemp("server")) as server:
        yield urlsplit(server.url).netloc


def answer(
    address: str, method: str, path: str, body: bytes = b"", **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Return status, headers and, unless it is a websocket now, body."""
    with closing(http.client.HTTPConnection(address, timeout=60)) as connection:
        connection.request(method, path, body or None, headers)
        told = connection.getresponse()
        with closing(told):
            return told.status, told.headers, told.read() if told.status != 101 else b""


def test_a_websocket_from_a_strange_origin_is_refused(address: str) -> None:
    own = answer(address, "GET", "/_stcore/stream", **HANDSHAKE, Origin=f"http://{address}")
    assert own[0] == 101
    strange = answer(address, "GET", "/_stcore/stream", **HANDSHAKE, Origin="http://evil.example")
    assert strange[0] == 403


def test_a_file_without_the_token_of_the_page_is_refused(address: str) -> None:
    assert answer(address, "PUT", UPLOAD, b"x")[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/app/static/../../README.md",
        "/media/../owi_core/jobs/worker.py",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/component/../pyproject.toml",
    ],
)
def test_no_address_leads_to_a_file_of_the_server(address: str, path: str) -> None:
    _, _, found = answer(address, "GET", path)
    for file in ("app.py", "README.md", "owi_core/jobs/worker.py", "pyproject.toml"):
        assert (ROOT / file).read_bytes()[:60] not in found
    assert b"root:" not in found


def test_other_sites_are_not_told_that_they_may_read(address: str) -> None:
    _, told, _ = answer(address, "GET", "/_stcore/health", Origin="http://evil.example")
    assert told.get("Access-Control-Allow-Origin") in (None, f"http://{address}")
