"""Report to the operator of a server which of its settings are not used, and why.

    python -m pages._ui.frame.settings_check

prints a line for each and exits with 2, so that it can be run before the server is started.
"""

import logging
import sys
from functools import cache

import streamlit as st

from owi_core.__main__ import sentence
from owi_core.errors import OwiError
from pages._ui.base import settings
from pages._ui.base.i18n import error_text, translator

_log = logging.getLogger(__name__)


def tell(lang: str) -> None:
    """Log each wrong setting once, and show under the page that its default is used."""
    wrong = settings.wrong_now()
    if wrong:
        _log_once(tuple(sentence(error) for error in wrong))
        reasons = " ".join(error_text(lang, error) for error in wrong)
        st.caption(f":material/settings: {translator(lang, 'common')('settings_wrong')} {reasons}")


@cache
def _log_once(lines: tuple[str, ...]) -> None:
    for line in lines:
        _log.warning("setting not used: %s", line)


def main() -> int:
    """Print what is wrong; return 2 if anything is, else 0."""
    wrong: tuple[OwiError, ...] = settings.wrong_now()
    for error in wrong:
        print(sentence(error), file=sys.stderr)
    return 2 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
