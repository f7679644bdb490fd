"""axe-core, which finds what keeps a reader out: fetched once, checked, run in a page."""

import base64
import hashlib
import io
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

_HERE = Path(__file__).parent
_CACHE = _HERE / ".npm-cache"  # git does not see it; it outlives a run of the tests
_NAME = "axe-core"
GRAVE = frozenset({"serious", "critical"})
# Streamlit writes counters and hashes into classes and ids: tag, role and part tell the kind.
_RUN = """async (only) => {
  const kind = (node) => [node.tagName.toLowerCase(), node.getAttribute('role') ?? '',
    node.closest('[data-testid]')?.dataset.testid ?? ''].join(' ');
  const found = await axe.run(document, {
    resultTypes: ['violations'], elementRef: true, ...(only && { runOnly: only }) });
  return found.violations.flatMap(({ id, impact, nodes }) => nodes.map((node) => ({
    rule: id, impact: node.impact ?? impact, kind: kind(node.element),
    html: node.html.slice(0, 300), why: node.failureSummary.replace(/\\s+/g, ' '),
  })));
}"""


@dataclass(frozen=True)
class Finding:
    """One element that breaks a rule: kind is its tag, its role and the Streamlit part it is in."""

    rule: str
    kind: str
    impact: str
    html: str
    why: str

    def __str__(self) -> str:
        return f"{self.rule} ({self.impact}) in {self.kind}: {self.html}\n    {self.why}"


def axe_script() -> str:
    """Return axe's own script, fetched with npm the first time and checked every time.

    Raises OSError where it cannot be had, ValueError where it is not the file named.
    """
    asked = json.loads((_HERE / "package.json").read_text("utf-8"))
    version, integrity = asked["devDependencies"][_NAME], asked["integrity"][_NAME]
    packed = _CACHE / f"{_NAME}-{version}.tgz"
    if not packed.exists():
        _fetch(f"{_NAME}@{version}", packed)
    data = packed.read_bytes()
    if _integrity(data) != integrity:
        packed.unlink()
        raise ValueError(f"{packed.name} has {_integrity(data)}, package.json wants {integrity}")
    with tarfile.open(fileobj=io.BytesIO(data)) as files:
        script = files.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode("utf-8")


def grave(page: Page, script: str, only: Sequence[str] | None = None) -> list[Finding]:
    """Return what axe calls serious or critical on the page as it stands.

    only: the rules to run; all that axe runs by itself without it.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(script)
    found: Sequence[dict[str, Any]] = page.evaluate(_RUN, only)
    return [Finding(**finding) for finding in found if finding["impact"] in GRAVE]


def _fetch(package: str, to: Path) -> None:
    to.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        command = ["npm", "pack", package, "--silent", "--pack-destination", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        made = list(Path(folder).glob("*.tgz"))
        if done.returncode or not made:
            raise OSError(f"npm pack {package}: {done.stderr.strip()[-500:]}")
        made[0].replace(to)


def _integrity(data: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
