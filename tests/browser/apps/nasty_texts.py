"""Texts that act as markup wherever they are not escaped."""

NASTY = [
    "<b>bold</b> <script>alert(1)</script> &amp; &lt;",
    "**bold** _it_ ~~gone~~ `code` \\ # head",
    "# heading",
    "1. one",
    "- item",
    "+ item",
    "> quote",
    ":red[red] :blue-background[x] :small[y] :color[z]{foreground=red}",
    ":material/home: :smile: :streamlit: :help[x] ::smile:: a:smile:b",
    "$x^2$ and $$y$$ \\(z\\) \\[w\\] 5$ or 6$",
    "[text](http://evil.example) ![img](http://evil.example/x.png) <http://a.example>",
    "see http://evil.example, www.evil.example or me@evil.example mailto:me@evil.example",
    "a -> b <- c <-> d -- e >= f <= g ~= h :-> i",
    "| a | b |",
    "--- *** ___",
    "[^1] [x] [ ] {{x}} {a} :::note",
    "苹果<杯子>，“它”：看谁？",
]
