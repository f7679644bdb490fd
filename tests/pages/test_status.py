"""The status page: closed without the token, and with it counts and sizes but nobody's words."""

import os

import pytest

from owi_core.jobs.manager import JobManager
from owi_core.jobs.memory import memory_mb
from owi_core.jobs.tasks import HAS_WORKER
from pages._ui.base.entries import page_entries
from pages._ui.base.i18n import catalog
from pages._ui.session.overview import overview
from tests.jobs.conftest import LIMITS, plain_recipe, start_fake_worker
from tests.pages_under_test import calm, opened, told

TOKEN = "sixteen-letters!"
SECRET = "nobody else should read this"


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch, tmp_path):
    """A manager with one run under way and one behind it, both of somebody's own words."""
    manager = JobManager(plain_recipe, LIMITS, start_fake_worker)
    for seed in (0, 1):
        params = {"gate": str(tmp_path / SECRET), "seed": seed}
        manager.submit("fake", params, f"session of {SECRET}", private=True)
    first = manager.tasks()[0]
    assert manager.wait(lambda: bool(first.losses), 20)
    monkeypatch.setattr("pages._labs.status.view.manager", lambda: manager)
    yield manager
    manager.close()


def test_an_overview_counts_what_runs_and_what_waits(busy: JobManager) -> None:
    seen = overview(busy)
    assert (seen.running, seen.waiting, seen.ended, seen.slots) == (1, 1, 0, 1)
    first, second = seen.trainings
    assert first.state in HAS_WORKER
    assert (first.place, second.place) == (0, 1)
    assert (second.step, second.memory_mb) == (0, 0)
    assert first.memory_mb in seen.workers_mb
    assert seen.server_mb > 50


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_page_shows_numbers_and_nobodys_words(
    busy: JobManager, monkeypatch: pytest.MonkeyPatch, lang: str
) -> None:
    monkeypatch.setenv("OWI_STATUS_TOKEN", TOKEN)
    app = calm(opened("status", lang=lang, token=TOKEN))
    words = catalog(lang, "status")
    assert app.title[0].value == words["page.question"]
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown[words["number.running"]] == "1 / 1"
    assert shown[words["number.waiting"]] == "1"
    table = app.dataframe[0].value
    assert list(table[words["column.state"]]) == [
        words["state_of.running"],
        words["state_of.queued"],
    ]
    everything = str(app._tree) + table.to_string()
    assert SECRET not in everything
    assert TOKEN not in told(app)


@pytest.mark.parametrize("token", ["", "wrong"])
def test_without_the_token_it_says_the_same_as_a_hidden_page(
    monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("OWI_STATUS_TOKEN", TOKEN)
    monkeypatch.setenv("OWI_HIDDEN_PAGES", "tying")
    closed, hidden = opened("status", token=token), opened("tying")
    assert calm(closed).title[0].value == catalog("zh", "common")["absent.title"]
    assert told(closed) == told(hidden)
    assert not closed.metric


def test_no_page_leads_to_it() -> None:
    assert "status" not in [entry.name for entry in page_entries("zh")]


def test_the_memory_of_a_process_that_is_gone_is_nothing() -> None:
    assert memory_mb(os.getpid()) == pytest.approx(memory_mb(), rel=0.2)
    assert memory_mb(2**22 + 1) == 0
