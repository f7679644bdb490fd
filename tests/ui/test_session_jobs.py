"""The job engine as the pages use it: its limits are the settings of the server."""

from pages._ui.base import settings
from pages._ui.session.jobs import limits_of


def test_limits_come_from_the_settings_of_the_server() -> None:
    values = {"SLOTS": "3", "GRACE_SECONDS": "3.5", "SHARED_MB": "50", "PRIVATE_MB": "12"}
    values |= {"RUN_SECONDS": "70", "RUN_MB": "900", "NICE": "4"}
    server, wrong = settings.read({f"OWI_{name}": value for name, value in values.items()})
    limits = limits_of(server)
    assert wrong == ()
    assert (limits.slots, limits.nice, limits.grace_seconds) == (3, 4, 3.5)
    assert (limits.shared_mb, limits.private_mb) == (50, 12)
    assert (limits.caps.seconds, limits.caps.memory_mb) == (70, 900)
