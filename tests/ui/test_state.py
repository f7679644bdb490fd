"""What a session keeps, what a link brings, and both held within bounds."""

import pytest
from streamlit.testing.v1 import AppTest


def _two_views() -> None:
    import streamlit as st

    from pages._ui.session import state

    state.remember()
    if st.toggle("away", key="away"):
        st.text(state.kept_value("demo.text", "?"))
    else:
        st.text_area("text", key=state.keep("demo.text", "first"))


def test_typed_text_survives_leaving_its_view() -> None:
    app = AppTest.from_function(_two_views, default_timeout=20).run()
    assert app.text_area[0].value == "first"
    app.text_area[0].set_value("typed").run()
    app.toggle[0].set_value(True).run()
    assert app.text[0].value == "typed"
    app.toggle[0].set_value(False).run()
    assert app.text_area[0].value == "typed"


def _bounded() -> None:
    import streamlit as st

    from pages._ui.session import state

    families = ["swap", "fit"]
    state.remember()
    state.open_link("demo")
    n = st.number_input("n", 1, 9, key=state.keep("demo.n", 3, low=1, high=9))
    family = st.selectbox("f", families, key=state.keep("demo.family", "swap", among=families))
    several = st.pills(
        "s",
        range(4),
        selection_mode="multi",
        key=state.keep("demo.several", [0, 1], among=range(4)),
    )
    text = state.held("demo.text", "usual", high=10)
    opened = state.opened_link("demo")
    st.text(f"{n} {family} {several} {text}")
    st.text(" ".join(opened.refused) if opened else "no link")
    st.text(repr(state.kept_value("demo.n", "a text")))


def at(**query: str) -> AppTest:
    app = AppTest.from_function(_bounded, default_timeout=20)
    app.query_params.update(query)
    return app.run()


@pytest.mark.parametrize(
    ("given", "read", "refused"),
    [
        ({"n": "4"}, "4 swap [0, 1] usual", ""),
        ({"n": "-1"}, "3 swap [0, 1] usual", "n"),
        ({"n": "9" * 5000}, "3 swap [0, 1] usual", "n"),
        ({"n": "4.5"}, "3 swap [0, 1] usual", "n"),
        ({"family": "fit", "n": "x"}, "3 fit [0, 1] usual", "n"),
        ({"family": "<b>"}, "3 swap [0, 1] usual", "family"),
        ({"several": "[3,3,2]"}, "3 swap [3, 2] usual", ""),
        ({"several": "[9]"}, "3 swap [0, 1] usual", "several"),
        ({"several": "[[[["}, "3 swap [0, 1] usual", "several"),
        ({"text": "🍎"}, "3 swap [0, 1] 🍎", ""),
        ({"text": "x" * 11}, "3 swap [0, 1] usual", "text"),
    ],
)
def test_a_link_fills_what_fits_and_nothing_else(
    given: dict[str, str], read: str, refused: str
) -> None:
    app = at(**given)
    assert not app.exception
    assert [text.value for text in app.text] == [read, refused, "'a text'"]


def test_a_link_is_opened_once_and_another_one_replaces_what_was_chosen() -> None:
    app = at(n="4", family="fit")
    app.number_input[0].set_value(7).run()
    assert app.text[0].value.startswith("7 fit")
    app.query_params["lang"] = "en"  # the language is no other link
    assert app.run().text[0].value.startswith("7 fit")
    del app.query_params["family"]
    assert app.run().text[0].value.startswith("4 swap")
    app.query_params.clear()  # back by the navigation
    assert app.run().text[0].value.startswith("4 swap")


def _shrinking() -> None:
    import streamlit as st

    from pages._ui.session import state

    n = st.number_input("n", 1, 5, 5)
    st.text(state.held("demo.place", 0, low=0, high=n - 1))
    st.text(state.held("demo.word", 9, among=range(n)))
    if st.button("last"):
        state.set_kept("demo.place", 4)
        state.set_kept("demo.word", 4)


def test_a_value_that_fits_no_more_is_brought_to_the_nearest_that_does() -> None:
    app = AppTest.from_function(_shrinking, default_timeout=20).run()
    assert [text.value for text in app.text] == ["0", "0"]
    app.button[0].click().run()
    app.run()
    assert [text.value for text in app.text] == ["4", "4"]
    app.number_input[0].set_value(3).run()
    assert [text.value for text in app.text] == ["2", "0"]


def _renewing() -> None:
    import streamlit as st

    from pages._ui.session import state

    owner = st.text_input("owner", "a")
    state.renew("demo.owner", owner, "demo.row")
    st.text(state.held("demo.row", 0))
    st.button("row 3", on_click=state.set_kept, args=("demo.row", 3))


def test_what_was_chosen_for_one_thing_is_not_taken_for_another() -> None:
    app = AppTest.from_function(_renewing, default_timeout=20).run()
    app.button[0].click().run()
    assert app.run().text[0].value == "3"
    assert app.text_input[0].set_value("b").run().text[0].value == "0"


def test_no_key_takes_a_name_that_links_need() -> None:
    def page() -> None:
        from pages._ui.session import state

        state.keep("demo.run.steps", 1)

    assert AppTest.from_function(page, default_timeout=20).run().exception
