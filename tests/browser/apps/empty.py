"""An empty Streamlit app: what it gets wrong itself is not ours to mend."""

import streamlit as st

st.set_page_config(page_title="empty", menu_items={"About": "empty"})
