"""Records and results as Plotly figures: NumPy and words in, `go.Figure` out, no torch.

Shapes: pattern (L, H, T_q, T_k) or one part of it; mask (T_q, T_k) bool, True = may attend.
Every figure takes `theme` ("light" or "dark") and `text`, the words in the page's language.
Pages draw them with `st.plotly_chart(figure, theme=None)`: Streamlit's own theme would repaint.
"""

from plotly.graph_objects import Figure

from owi_core.figures.cost import (
    Timed,
    accuracy_map,
    cost_bars,
    paired_curves,
    reach_panels,
    time_by_length,
)
from owi_core.figures.feedback import Curve, cost_curves, shares_by_temperature
from owi_core.figures.influence import Line, accuracy_lines, influence_map, influence_text
from owi_core.figures.knockout import CutEdge, knockout_bars
from owi_core.figures.matrix import pattern_matrix
from owi_core.figures.numerals import signed
from owi_core.figures.path import attention_path, path_edges
from owi_core.figures.positions import position_likeness, position_table
from owi_core.figures.rows import NamedRow, row_bars, row_difference
from owi_core.figures.text import FigureText
from owi_core.figures.theme import Palette, Theme, enlarged, palette, palette_dict
from owi_core.figures.thumbnails import thumbnails
from owi_core.figures.training import loss_curve, row_over_training

__all__ = [
    "Curve",
    "CutEdge",
    "Figure",
    "FigureText",
    "Line",
    "NamedRow",
    "Palette",
    "Theme",
    "Timed",
    "accuracy_lines",
    "accuracy_map",
    "attention_path",
    "cost_bars",
    "cost_curves",
    "enlarged",
    "influence_map",
    "influence_text",
    "knockout_bars",
    "loss_curve",
    "paired_curves",
    "palette",
    "palette_dict",
    "path_edges",
    "pattern_matrix",
    "position_likeness",
    "position_table",
    "reach_panels",
    "row_bars",
    "row_difference",
    "row_over_training",
    "shares_by_temperature",
    "signed",
    "thumbnails",
    "time_by_length",
]
