"""What a user typed, made harmless: it appears as typed, in Markdown and in HTML.

Streamlit's Markdown does two things to a text. It parses it (a backslash before
punctuation stops that), and then it goes over the parsed text once more for emoji names,
web and mail addresses and arrows, where a backslash no longer helps. There the text is cut
in two with an unstyled span, so that no pattern is left in one piece.

Words written from right to left are isolated, so that they turn no number beside them around.
"""

import html
import re

from owi_core.figures.labels import isolated

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Where the second pass would look for an emoji name, an address or an arrow.
_SECOND_PASS = re.compile(
    r":|@|(?<=www)\.|[-<>=~](?=[-<>=~])",
    re.IGNORECASE,
)
_EDGE_OR_RUN_OF_SPACES = re.compile(r"^[ \t]+|[ \t]+$|[ \t]{2,}", re.MULTILINE)
_LINE_END = re.compile(r"\r\n|\r|\n")


def markdown_plain(text: str) -> str:
    """Return Markdown that shows `text` as typed, for st.markdown, labels, captions and errors."""
    lines = [_line(line) for line in _LINE_END.split(text)]
    return "\\\n".join(line or "&nbsp;" for line in lines) if len(lines) > 1 else lines[0]


def html_plain(text: str) -> str:
    """Return HTML that shows `text` as typed, inside an element or a quoted attribute."""
    return html.escape(text, quote=True)


def _line(line: str) -> str:
    pieces, end = [], 0
    for match in _SECOND_PASS.finditer(line):
        pieces += [_parsed_once(line[end : match.start()]), _cut(match.group(), match.start())]
        end = match.end()
    escaped = "".join([*pieces, _parsed_once(line[end:])])
    return isolated(_EDGE_OR_RUN_OF_SPACES.sub(_hard_spaces, escaped))


def _parsed_once(text: str) -> str:
    return _PUNCTUATION.sub(r"\\\1", text)


def _cut(character: str, position: int) -> str:
    """Return the character in a span of its own."""
    if position == 0 and character == ":":
        # After a colon of the page's own a span would not be read as one; an entity is.
        return "&#58;"
    return f":color[\\{character}]{{}}"


def _hard_spaces(match: re.Match[str]) -> str:
    return "&nbsp;" * len(match.group().expandtabs(4))
