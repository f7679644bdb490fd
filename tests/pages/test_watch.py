"""The page a class follows a run on: every state has its words, none has a button."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from owi_core.events import Event, Finished, Snapshot, Started, StepDone, to_json
from owi_core.jobs.runs import Run
from owi_core.jobs.tasks import Task
from owi_core.jobs.watching import LENGTH, Register
from pages._labs.train.view import picture
from pages._ui.base.i18n import catalog
from pages._ui.draw import watch_offer
from tests.pages_under_test import calm, opened, told

WORDS = {lang: catalog(lang, "watch") for lang in ("zh", "en")}
LEARNED = {
    "code": "learned_direct",
    "passed": True,
    "values": {
        "accuracy": 0.998,
        "layer": 2,
        "mass": 0.97,
        "without_direct": 0.1,
        "direct_alone": 0.99,
    },
}


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    one = Register()
    monkeypatch.setattr(watch_offer, "register", lambda: one)
    monkeypatch.setattr("pages._labs.watch.view.register", lambda: one)
    return one


class Teacher:
    """A session with one run, which goes on when it is told to."""

    def __init__(self, register: Register, tmp_path, params=None, private: bool = False) -> None:
        self.runs: list[Run] = []
        self.register, self.folder = register, tmp_path
        self.begin(params or {}, private)
        self.code = self.show()

    def begin(self, params: dict[str, object], private: bool = False) -> None:
        manager = SimpleNamespace(runs=lambda session: self.runs, queue_position=lambda task: 0)
        key = ("recipe", "teacher" if private else "")
        self.task = Task("pronoun", params, key, self.folder, {"teacher"})
        self.run = Run(manager, self.task, "teacher", False)  # type: ignore[arg-type]
        self.runs.append(self.run)

    def show(self) -> str:
        return self.register.show("train", self.run, "train", picture)

    def reports(self, *events: Event) -> None:
        self.task.state = "running"
        for event in events:
            self.task.report(to_json(event), event)

    def trains(self, steps: int) -> None:
        row = [[1.0, 0.0], [0.75, 0.25]]
        self.reports(
            Started("pronoun", {}, "recipe", 90, 10),
            *(StepDone(n + 1, 90, 1.0, 0.003, 1.0, 1.0, 1.0) for n in range(steps)),
            Snapshot(steps, ["苹果", "它"], 1, [[row]]),
        )


def at(code: str, lang: str = "zh") -> AppTest:
    return calm(opened("watch", lang=lang, code=code))


def drawn(app: AppTest) -> dict[str, object]:
    """Return what the live drawing was given."""
    found = [each for each in app.main.get("bidi_component") if "live" in each.key]
    return json.loads(found[0].proto.json) if found else {}


def no_button(app: AppTest) -> None:
    keys = {button.key for button in app.button}
    assert not [key for key in keys if key and key.startswith("watch")], keys


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_without_a_code_the_page_says_where_to_get_one(lang: str, register: Register) -> None:
    app = calm(opened("watch", lang=lang))
    assert [box.value for box in app.info] == [WORDS[lang]["code.none"]]
    assert app.text_input(key="watch.code").value == ""


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_an_old_or_wrong_code_says_calmly_what_to_do(lang: str, register: Register) -> None:
    assert at("K7M2QX", lang).info[0].value == WORDS[lang]["code.unknown"]
    assert at("K7M", lang).info[0].value == WORDS[lang]["code.length"].format(n=LENGTH)


def test_the_class_sees_step_row_and_verdict_and_no_button(register: Register, tmp_path) -> None:
    teacher = Teacher(register, tmp_path)
    app = at(teacher.code)
    teacher.trains(12)
    calm(app.run())
    assert "12 / 90" in app.main.get("progress")[0].proto.text
    assert drawn(app)["labels"] == ["苹果", "它"]
    assert drawn(app)["row"] == [0.75, 0.25]
    no_button(app)
    teacher.reports(Finished("pronoun", {}, {}, LEARNED))
    calm(app.run())
    assert len(app.success) == 1
    assert drawn(app)["row"] == [0.75, 0.25]  # still to be seen
    assert WORDS["zh"]["next"] in told(app)
    no_button(app)
    assert teacher.task.watchers == {"teacher"}


def test_the_class_follows_the_next_run_and_not_a_private_one(register: Register, tmp_path) -> None:
    teacher = Teacher(register, tmp_path)
    teacher.trains(3)
    app = at(teacher.code)
    teacher.begin({"own_text": "秘密"}, private=True)
    assert register.follow("train", teacher.run) is None
    teacher.trains(7)
    assert "3 / 90" in calm(app.run()).main.get("progress")[0].proto.text
    teacher.begin({})
    register.follow("train", teacher.run)
    teacher.trains(9)
    assert "9 / 90" in calm(app.run()).main.get("progress")[0].proto.text


def test_settings_of_a_private_run_stay_with_its_owner(register: Register, tmp_path) -> None:
    private = Teacher(register, tmp_path, {"own_text": "秘密"}, private=True)
    private.trains(3)
    assert "秘密" not in str(at(private.code).session_state["owi.drawn"].facts)
    open_ = Teacher(Register(), tmp_path, {"seed": 3})
    code = register.show("other", open_.run, "train", picture)
    assert "seed = 3" in str(at(code).session_state["owi.drawn"].facts)


def test_a_typed_code_goes_into_the_address_so_that_the_page_can_be_loaded_anew(
    register: Register, tmp_path
) -> None:
    teacher = Teacher(register, tmp_path)
    teacher.trains(3)
    app = calm(opened("watch"))
    calm(app.text_input(key="watch.code").set_value(teacher.code.lower()).run())
    assert app.query_params["code"] == teacher.code.lower()
    assert "3 / 90" in app.main.get("progress")[0].proto.text


def test_when_the_teacher_ends_it_the_page_says_so(register: Register, tmp_path) -> None:
    teacher = Teacher(register, tmp_path)
    teacher.trains(3)
    app = at(teacher.code)
    register.end("train", "teacher")
    assert calm(app.run()).info[0].value == WORDS["zh"]["code.unknown"]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(code=st.text(max_size=300))
def test_no_code_in_a_link_harms_the_page(register: Register, code: str) -> None:
    app = at(code)
    assert len(app.info) == 1
    assert code not in app.info[0].value or len(code) < 7


def test_the_teachers_popover_makes_the_code_and_takes_it_back(
    register: Register, tmp_path
) -> None:
    teacher = Teacher(register, tmp_path, private=True)
    register.end("train", "teacher")
    app = AppTest.from_function(_offering, default_timeout=20)
    app.session_state["test.run"] = teacher.run
    app.session_state["train.class"] = True
    app.run()
    common = catalog("zh", "common")
    assert common["class.private"] in told(app)  # beside the button
    assert len(register) == 0
    app.button(key="train.class_make").click().run()
    code = register.follow("train", teacher.run)
    assert code
    assert common["class.code"].format(code=code) in told(app)
    (link,) = [each for each in app.main.get("bidi_component") if each.key == "train.class_link"]
    assert json.loads(link.proto.json)["link"].endswith(f"/watch?code={code}")
    app.button(key="train.class_end").click().run()
    assert len(register) == 0


def _offering() -> None:
    import streamlit as st

    from pages._ui.base.i18n import translator
    from pages._ui.base.page import Frame
    from pages._ui.draw import watch_offer

    page = Frame("zh", translator("zh", "train"), "light")
    watch_offer.offer(page, "train", st.session_state["test.run"], None)
