"""Shows what a user typed in every place that reads Markdown or HTML."""

import streamlit as st

from pages._ui.base.escape import html_plain, markdown_plain
from tests.browser.apps.nasty_texts import NASTY

for number, text in enumerate(NASTY):
    st.markdown(f"{number}▸{markdown_plain(text)}◂")
    st.caption(f"{number}▸{markdown_plain(text)}◂")
    st.checkbox(f"{number}▸{markdown_plain(text)}◂", key=f"box{number}")
    st.html(f"<p class='typed'>{number}▸{html_plain(text)}◂</p>")
    st.markdown(markdown_plain(text))
    st.error(markdown_plain(text))
st.text("end of page")
