"""A figure as a page of its own: one file that opens without a network, Chinese intact."""

from collections.abc import Mapping
from html import escape

import plotly.graph_objects as go

from owi_core.figures.theme import FONT_FAMILY, Theme, palette

_PAGE = """<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 1rem/1.6 {font};
  color: {ink}; background: {surface}; -webkit-print-color-adjust: exact;
  print-color-adjust: exact; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; padding: 0.75rem 1rem;
  border: 1px solid {grid}; border-radius: 0.5rem; font-size: 0.85rem; }}
dt {{ color: {muted}; }} dd {{ margin: 0 0 0.5rem; overflow-wrap: anywhere; }}
footer {{ color: {muted}; font-size: 0.85rem; margin-top: 2rem; }}
</style>
</head>
<body>
<h1>{title}</h1>
{figure}
{facts}
{code}
<footer>{source}</footer>
</body>
</html>
"""
_LANGUAGES = {"zh": "zh-CN"}


def figure_page(
    figure: go.Figure,
    *,
    title: str,
    source: str,
    facts: Mapping[str, str],
    code: str = "",
    lang: str = "en",
    theme: Theme = "light",
) -> str:
    """Return a whole HTML page (about 5 MB) that holds the figure and Plotly's script.

    facts: what was set, by name.  code: the lines that give the same numbers.  source: the last
    line.  All words are escaped; the page asks nothing of a network.
    """
    colours = palette(theme)
    told = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items()
    )
    return _PAGE.format(
        # zh alone leaves browsers free to choose Japanese forms of the characters.
        lang=_LANGUAGES.get(lang, lang),
        title=escape(title),
        font=FONT_FAMILY,
        ink=colours.ink,
        muted=colours.muted,
        grid=colours.grid,
        surface=colours.surface,
        figure=figure.to_html(
            full_html=False,
            # The whole script: a page that was saved must open without a network.
            include_plotlyjs=True,
            div_id="figure",
            config={"displaylogo": False, "responsive": True},
        ),
        # An empty list would leave a gap and be announced by screen readers.
        facts=f"<dl>{told}</dl>" if told else "",
        code=f"<pre>{escape(code)}</pre>" if code else "",
        source=escape(source),
    )
