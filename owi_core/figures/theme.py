"""The one palette, type sizes and base layout of every figure, in light and in dark.

Pages and components read the same colours through `palette(theme)` or, for JavaScript,
`palette_dict(theme)`, so that a colour means one thing everywhere.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

import plotly.graph_objects as go

from owi_core.figures.labels import as_typed

Theme = Literal["light", "dark"]
Ramp = tuple[tuple[float, str], ...]

FONT_FAMILY = (
    'system-ui, -apple-system, "Segoe UI", Roboto, "PingFang SC", "Hiragino Sans GB", '
    '"Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", sans-serif'
)
# Three sizes in px: words of the sentence, axis titles and values, notes.
WORD_SIZE, TEXT_SIZE, NOTE_SIZE = 16, 13, 12
# Fixed for all attention figures: rescaled to its own maximum, a flat row would look sharp.
ATTENTION_RANGE = (0.0, 1.0)


@dataclass(frozen=True)
class Palette:
    """Colours of one theme; `ramp` runs over attention 0 to 1, `diverging` over −1 to 1."""

    a: str
    b: str
    surface: str
    ink: str
    muted: str
    grid: str
    forbidden: str
    hatch: str
    leak: str
    ramp: Ramp
    diverging: Ramp


_PALETTES: dict[Theme, Palette] = {
    "light": Palette(
        a="#0072B2",
        b="#D55E00",
        surface="#FFFFFF",
        ink="#1B2733",
        muted="#566573",
        grid="#E3E8ED",
        forbidden="#ECECEC",
        hatch="#A3A8AD",
        leak="#B0004E",
        ramp=(
            (0.0, "#F7FAFC"),
            (0.25, "#C6DBEF"),
            (0.5, "#74AED6"),
            (0.75, "#2372B5"),
            (1.0, "#08306B"),
        ),
        diverging=((0.0, "#0072B2"), (0.5, "#F4F4F2"), (1.0, "#D55E00")),
    ),
    "dark": Palette(
        a="#0072B2",
        b="#D55E00",
        surface="#10171F",
        ink="#E4EAF0",
        muted="#A7B4C1",
        grid="#2B333D",
        forbidden="#262626",
        hatch="#6E7379",
        leak="#FF6FA8",
        ramp=(
            (0.0, "#16202B"),
            (0.25, "#17406B"),
            (0.5, "#2675B4"),
            (0.75, "#7FB8E0"),
            (1.0, "#F0F7FD"),
        ),
        diverging=((0.0, "#2F9BDB"), (0.5, "#1E242B"), (1.0, "#F27F2A")),
    ),
}


def palette(theme: Theme) -> Palette:
    """Return the colours of a theme; ValueError for a name that is no theme."""
    if theme not in _PALETTES:
        raise ValueError(f"theme is {theme!r}: choose one of {', '.join(_PALETTES)}")
    return _PALETTES[theme]


def palette_dict(theme: Theme) -> dict[str, Any]:
    """Return the palette, the font stack and the sizes as plain values that JSON can carry."""
    colours = {
        name: [list(stop) for stop in value] if isinstance(value, tuple) else value
        for name, value in asdict(palette(theme)).items()
    }
    return colours | {
        "font_family": FONT_FAMILY,
        "word_size": WORD_SIZE,
        "text_size": TEXT_SIZE,
        "note_size": NOTE_SIZE,
    }


def colour_at(ramp: Ramp, value: float) -> str:
    """Return the `#RRGGBB` that lies at `value` (0 to 1, clamped) between the stops of a ramp."""
    # Clamped: rounding may put a weight a little over 1.
    value = min(max(value, ramp[0][0]), ramp[-1][0])
    for (low, first), (high, second) in pairwise(ramp):
        if value <= high:
            # Mixed in sRGB, as Plotly mixes a colour scale, so that bars and cells agree.
            share = (value - low) / (high - low)
            mixed = (
                round((1 - share) * c + share * d)
                for c, d in zip(_channels(first), _channels(second), strict=True)
            )
            return "#" + "".join(f"{channel:02X}" for channel in mixed)
    return ramp[-1][1]


def colour_stops(ramp: Ramp) -> list[list[Any]]:
    """Return a ramp as Plotly takes it: `[place, colour]` lists from 0 to 1."""
    return [list(stop) for stop in ramp]


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, 1 to 21.  Source: WCAG 2.2, relative luminance."""
    # 0.05 stands for the light that a screen reflects; it keeps black against black at 1.
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def ink_on(fill: str) -> str:
    """Return black or white, whichever contrasts more with a fill: always at least 4.5."""
    return max(("#000000", "#FFFFFF"), key=lambda text: contrast(text, fill))


def row_height(n_tokens: int) -> int:
    """Return the px that one token's line gets: large for a sentence, legible still at 64."""
    if n_tokens <= 16:
        return 30
    return 24 if n_tokens <= 32 else 18


def word_size(n_tokens: int) -> int:
    """Return the font size in px of a word, so that it fits its line."""
    # 0.62: the line height of CJK fonts is about 1.6 times their size.
    return min(WORD_SIZE, round(row_height(n_tokens) * 0.62))


def height_for(n_tokens: int, extra: int = 96) -> int:
    """Return a figure's height in px: one line a token and `extra` for titles and scales."""
    # A sentence of one word would be less than the titles around it.
    return max(2, n_tokens) * row_height(n_tokens) + extra


def base_figure(theme: Theme, height: int) -> go.Figure:
    """Return an empty figure: transparent, system fonts, no legend, no drag that traps a phone."""
    colours = palette(theme)
    # In the constructor: update_layout takes ten times as long over the same.
    return go.Figure(
        layout={
            "template": "none",
            "height": height,
            "font": {"family": FONT_FAMILY, "size": TEXT_SIZE, "color": colours.ink},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "showlegend": False,
            # On a phone a drag scrolls the page; Plotly would take it for a zoom.
            "dragmode": False,
            "margin": {"l": 8, "r": 12, "t": 36, "b": 40, "pad": 4},
            "modebar": {
                "bgcolor": "rgba(0,0,0,0)",
                "color": colours.muted,
                "activecolor": colours.ink,
                # What is left: save a picture, zoom, and back.
                "remove": ["pan", "select", "lasso", "zoomin", "zoomout", "autoscale"],
            },
            "hoverlabel": {
                "bgcolor": colours.surface,
                "bordercolor": colours.muted,
                "font": {"family": FONT_FAMILY, "size": TEXT_SIZE, "color": colours.ink},
                "align": "left",
                "namelength": -1,
            },
        }
    )


def lay_out(figure: go.Figure, **settings: Any) -> None:
    """Set parts of a figure's layout; of one that is there already, such as its margin, some.

    What update_layout does, in an eighth of its time: each part is checked once.
    """
    for name, value in settings.items():
        # Plotly replaces a part that is assigned, so what it already has is merged by hand.
        whole = isinstance(value, dict) and name in figure.layout
        figure.layout[name] = figure.layout[name].to_plotly_json() | value if whole else value


def axis(theme: Theme, title: str = "", **settings: Any) -> dict[str, Any]:
    """Return a quiet axis: named, no box, hairline grid only where asked for."""
    colours = palette(theme)
    return {
        "title": {
            "text": as_typed(title),
            "font": {"size": TEXT_SIZE, "color": colours.muted},
            "standoff": 10,
        },
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "gridcolor": colours.grid,
        "tickangle": 0,
        # The margins make room for the labels; to measure each for it takes a browser long.
        "ticklabeloverflow": "allow",
        "ticks": "",
    } | settings


def signed_axis(theme: Theme, title: str, **settings: Any) -> dict[str, Any]:
    """Return an axis on which zero is drawn, for values of both signs."""
    zero = {"zeroline": True, "zerolinecolor": palette(theme).muted, "zerolinewidth": 1.5}
    return axis(theme, title, **({"showgrid": True} | zero | settings))


def line_axis(theme: Theme, texts: Sequence[str], title: str = "") -> dict[str, Any]:
    """Return a vertical axis with a line of text at each of 0…n−1, the first on top."""
    return axis(
        theme,
        title,
        tickmode="array",
        tickvals=list(range(len(texts))),
        ticktext=list(texts),
        tickfont={"size": word_size(len(texts))},
        range=[len(texts) - 0.5, -0.5],
    )


def enlarged(figure: go.Figure, factor: float) -> go.Figure:
    """Return a copy with type, heights and margins times `factor`, as teaching mode wants."""
    # A copy: the same figure may be drawn again in another size, and exports take the original.
    copy = go.Figure(figure)
    copy.update_layout(_scaled(figure.layout.to_plotly_json(), factor))
    for trace in copy.data:
        # Sizes in the layout are scaled above; texts of traces have a size of their own.
        if "textfont" in trace and trace.textfont.size:
            trace.textfont.size = trace.textfont.size * factor
    return copy


# Sizes in px; positions and ranges are in data units and must not grow.
_SCALED_KEYS = {"size", "height", "standoff", "thickness", "l", "r", "t", "b"}


def _scaled(node: Any, factor: float) -> Any:
    if isinstance(node, dict):
        return {
            key: value * factor
            if key in _SCALED_KEYS and isinstance(value, int | float)
            else _scaled(value, factor)
            for key, value in node.items()
        }
    if isinstance(node, list | tuple):
        return [_scaled(item, factor) for item in node]
    return node


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    red, green, blue = (
        # The sRGB transfer function and the weights of the three colours, from WCAG 2.2.
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in _channels(colour))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
