"""Pages opened as a reader opens them, from app.py on, and read back as text."""

import json
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from streamlit.testing.v1 import AppTest

from owi_core.assets import ASSETS
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import ENDED
from pages._ui.draw.decimals import typed_key
from pages._ui.session import jobs

APP = str(ASSETS.parent / "app.py")
SHARE = ":material/share:"  # begins the line on what a link has brought


def opened(name: str, **query: str) -> AppTest:
    """Start from app.py, as a page link needs, and go to the page."""
    app = AppTest.from_file(APP, default_timeout=60)
    app.query_params.update({"lang": "zh"} | query)
    if name != "home":
        app.switch_page(f"pages/{name}.py")
    return app.run()


def told(app: AppTest) -> str:
    """Return all prose of the page's body as one text."""
    return "\n".join(element.value for element in [*app.main.markdown, *app.main.caption])


def runs_of(app: AppTest) -> list[Run]:
    """Return the runs of the page's session."""
    return jobs.manager().runs(app.session_state["owi.session_id"])


def rest(app: AppTest) -> AppTest:
    """Wait for the session's runs; return the page as it is then."""
    for run in runs_of(app):
        run.wait(*ENDED, seconds=180)
    return calm(app.run())


def reopened(name: str, link: str) -> AppTest:
    """Open a page by a link in a session of its own."""
    return opened(name, **dict(parse_qsl(urlsplit(link).query, keep_blank_values=True)))


def shared_link(app: AppTest) -> str:
    """Press the share button; return the link that the dialog shows."""
    app.button(key="owi.share").click().run()
    assert not app.exception
    return str(component_data(app, "owi.share_link")["link"])


def component_data(app: AppTest, key: str) -> Any:
    """Return what a component of ours was given to draw."""
    shown = _find(app._tree, key)
    assert shown is not None
    return json.loads(shown.proto.json)


def kept_by(app: AppTest) -> dict[str, Any]:
    """Return what the page holds, by key."""
    view = app.session_state["owi.view"]
    keys = [key for key in view.keys if key.startswith(f"{view.page}.")]
    return {key: app.session_state[key] for key in keys}


def type_number(app: AppTest, key: str, value: float) -> None:
    """Type a number into the field of a kept value, whole or decimal; the page does not run yet."""
    fields = [field for field in app.text_input if field.key == typed_key(key)]
    if fields:
        fields[0].set_value(str(value))
    else:
        app.number_input(key=key).set_value(value)


def calm(app: AppTest) -> AppTest:
    """Demand that nothing unexpected happened."""
    assert not app.exception
    assert not [error.value for error in app.error if re.search("log|日志", error.value)]
    return app


def _find(block: Any, key: str) -> Any:
    for child in getattr(block, "children", {}).values():
        found = child if getattr(child, "key", None) == key else _find(child, key)
        if found is not None:
            return found
    return None
