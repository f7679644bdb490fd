"""One of each drawing with little data: what the tests of keyboard and labels go through."""

import numpy as np
import streamlit as st

from owi_core.figures import NamedRow, row_bars
from pages._ui.base.i18n import translator
from pages._ui.base.mounting import page_style
from pages._ui.base.page import Frame
from pages._ui.base.theme import current_theme
from pages._ui.draw.charts import chart
from pages._ui.draw.components import WordRow, attention_matrix, sentence
from pages._ui.draw.head_grid import head_grid
from pages._ui.frame.frame import language

LABELS = ["苹果", "在", "它"]
PATTERN = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.75, 0.15, 0.1]])
MASK = np.tri(3, dtype=bool)

lang = language()
st.set_page_config(page_title="access")
st.html(f"<style>{page_style()}</style>")
page = Frame(lang, translator(lang, "rows"), current_theme())
st.title("access")
sentence(page, LABELS, WordRow(PATTERN[2], query=2), key="sentence")
attention_matrix(page, PATTERN, LABELS, LABELS, mask=MASK, selected=2, key="matrix")
grid = np.broadcast_to(PATTERN.astype(np.float32), (2, 2, 3, 3))
head_grid(page, grid, MASK, LABELS, selected=(0, None), key="grid")
chart(page, row_bars([NamedRow("它", LABELS, PATTERN[2])], theme=page.theme), key="chart")
