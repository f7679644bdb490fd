"""Records and results as Plotly figures: NumPy and words in, `go.Figure` out, no torch.

Shapes: pattern (L, H, T_q, T_k) or one part of it; mask (T_q, T_k) bool, True = may attend.
Every figure takes `theme` ("light" or "dark") and `text`, the words in the page's language.
Pages draw them with `st.plotly_chart(figure, theme=None)`: Streamlit's own theme would repaint.
"""

from plotly.graph_objects import Figure

from owi_core.figures.bars import (
    Bar,
    CutEdge,
    Group,
    amount_bars,
    grouped_bars,
    knockout_bars,
    signed_bars,
)
from owi_core.figures.lines import (
    Level,
    Line,
    Scale,
    Timed,
    line_chart,
    loss_curve,
    time_by_length,
)
from owi_core.figures.maps import (
    accuracy_map,
    gradient_map,
    influence_map,
    influence_text,
    position_likeness,
    position_table,
    row_over_training,
)
from owi_core.figures.matrix import outline_cells, pattern_matrix
from owi_core.figures.numerals import signed
from owi_core.figures.panels import reach_panels, thumbnails
from owi_core.figures.path import attention_path, path_edges
from owi_core.figures.rows import NamedRow, is_same_everywhere, row_bars, row_difference
from owi_core.figures.text import FigureText
from owi_core.figures.theme import Palette, Theme, enlarged, palette, palette_dict

__all__ = [
    "Bar",
    "CutEdge",
    "Figure",
    "FigureText",
    "Group",
    "Level",
    "Line",
    "NamedRow",
    "Palette",
    "Scale",
    "Theme",
    "Timed",
    "accuracy_map",
    "amount_bars",
    "attention_path",
    "enlarged",
    "gradient_map",
    "grouped_bars",
    "influence_map",
    "influence_text",
    "is_same_everywhere",
    "knockout_bars",
    "line_chart",
    "loss_curve",
    "outline_cells",
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
    "signed",
    "signed_bars",
    "thumbnails",
    "time_by_length",
]
