// The report of a page: what stands on it now, gathered into one file that prints well.
//
// Words are taken over as text, tag by tag from a short list; figures become drawings, canvases
// pictures. Nothing of the page's own scripts, links or addresses goes along.

const PIXELS = 2; // of a picture for each of the screen
const WIDEST_PX = 760; // a figure as wide as a page of paper would print its words too small
const TAGS = new Set([
  "P", "STRONG", "EM", "CODE", "UL", "OL", "LI", "BR", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD",
  "DL", "DT", "DD", "SUP", "SUB", "H2", "H3", "H4",
]);
const LEFT_OUT = "svg, style, script, canvas, .hidden, [data-testid=stTooltipIcon], [hidden]";
const WIDGETS =
  ".stTextInput, .stTextArea, .stNumberInput, .stSelectbox, .stButtonGroup, .stSlider, .stRadio";

export default painter(build, draw);

function build(host) {
  const root = element("div", "owi pictures one", host);
  const button = element("button", "take", root);
  const said = element("div", "note", root);
  said.setAttribute("role", "status");
  const state = { root, button, said };
  button.addEventListener("click", () => make(state));
  return state;
}

function draw({ button, data }) {
  button.textContent = data.text.report;
}

async function make({ data, palette, said }) {
  said.textContent = data.text.gathering;
  try {
    const report = await gathered(data, palette);
    save(new Blob([report], { type: "text/html;charset=utf-8" }), data.name);
    said.textContent = "";
  } catch (error) {
    said.textContent = data.text.failed;
    throw error;
  }
}

/** Return the whole file as text. */
async function gathered(data, palette) {
  const page = document.implementation.createHTMLDocument(document.title);
  page.documentElement.lang = data.lang;
  const charset = page.createElement("meta");
  charset.setAttribute("charset", "utf-8");
  page.head.prepend(charset);
  page.head.append(Object.assign(page.createElement("style"), {
    textContent: styleOf(palette, data.font),
  }));
  const main = document.querySelector("[data-testid=stMainBlockContainer]");
  for (const part of main.querySelectorAll("[data-testid=stElementContainer], summary")) {
    if (part.getClientRects().length) await take(page, part, palette, data.code);
  }
  settings(page, data);
  const made = `${data.text.made} ${new Date().toLocaleString(data.lang)}`;
  add(page, "footer", `${data.text.source} ${made}`);
  return `<!doctype html>\n${page.documentElement.outerHTML}`;
}

/** Append what one element of the page shows; `code` comes at the end and is left out here. */
async function take(page, part, palette, code) {
  const inside = (selector) => part.querySelector(selector);
  if (part.closest(".stPopover, [class*=st-key-owi_report], [class*=st-key-owi_export]")) return;
  if (part.tagName === "SUMMARY") {
    if (part.parentElement.open) add(page, "h3", part.innerText.trim());
  } else if (inside(".js-plotly-plot")) {
    await chart(page, inside(".js-plotly-plot"), palette);
  } else if (inside("[data-testid=stHeading]")) {
    const heading = inside("h1, h2, h3, h4");
    if (heading) add(page, heading.tagName, heading.innerText.trim());
  } else if (inside(".stMetric")) {
    metric(page, inside(".stMetric"));
  } else if (inside(WIDGETS)) {
    widget(page, inside(WIDGETS));
  } else if (inside(".stCode pre")) {
    const lines = inside(".stCode pre").innerText;
    if (lines.trim() && !code.includes(lines)) add(page, "pre", lines);
  } else if (inside("table[role=grid]")) {
    copy(page, inside("table[role=grid]"), add(page, "div", "", "plain"));
  } else if (inside(".stAlert")) {
    copy(page, inside(".stAlert"), add(page, "div", "", "box"));
  } else if (inside(".stMarkdown, .stTable, [data-testid=stCaptionContainer]")) {
    const note = inside("[data-testid=stCaptionContainer]") ? "note" : "plain";
    copy(page, part, add(page, "div", "", note));
  } else {
    drawing(page, hostOf(part), palette.surface);
  }
}

/** Return the shadow root of a component of ours, if the element holds one. */
function hostOf(part) {
  return [...part.querySelectorAll("*")].find((node) => node.shadowRoot)?.shadowRoot;
}

async function chart(page, drawn, palette) {
  const width = Math.min(drawn._fullLayout.width, WIDEST_PX);
  const { height } = drawn._fullLayout;
  const figure = {
    data: drawn.data,
    layout: { ...drawn.layout, width, paper_bgcolor: palette.surface },
  };
  const src = await window.Plotly.toImage(figure, { format: "svg", width, height });
  picture(page, src, width, drawn.innerText);
}

/** A component: canvases as pictures, a sentence as a table of words and weights, else its text. */
function drawing(page, root, surface) {
  if (!root || !root.querySelector(".owi")?.innerText?.trim()) return;
  const columns = [...root.querySelectorAll(".words > .column")];
  const canvases = [...root.querySelectorAll("canvas")].filter((node) => node.width > 1);
  if (canvases.length) pasted(page, root.querySelector(".owi"), canvases, surface);
  if (columns.length) {
    const table = page.createElement("table");
    for (const row of [".word", ".number"]) {
      const line = table.appendChild(page.createElement("tr"));
      for (const column of columns) {
        const cell = line.appendChild(page.createElement("td"));
        cell.textContent = column.querySelector(row)?.innerText ?? "";
        if (column.querySelector(".word.query")) cell.className = "query";
      }
    }
    add(page, "div", "", "words").append(table);
  } else if (!canvases.length) {
    copy(page, root, add(page, "div", "", "plain"));
  }
}

/** Lay the canvases of a component, and the words that stand between them, on one sheet. */
function pasted(page, root, canvases, surface) {
  const words = [...root.querySelectorAll("*")].filter(
    (node) => node.innerText?.trim() && !node.children.length && !node.matches(LEFT_OUT),
  );
  const boxes = [...canvases, ...words].map((node) => node.getBoundingClientRect());
  const [left, top] = ["left", "top"].map((side) => Math.min(...boxes.map((box) => box[side])));
  const width = Math.max(...boxes.map((box) => box.right)) - left;
  const height = Math.max(...boxes.map((box) => box.bottom)) - top;
  const sheet = document.createElement("canvas");
  [sheet.width, sheet.height] = [PIXELS * width, PIXELS * height].map(Math.ceil);
  const brush = sheet.getContext("2d");
  brush.scale(PIXELS, PIXELS);
  brush.fillStyle = surface;
  brush.fillRect(0, 0, width, height);
  brush.translate(-left, -top);
  for (const canvas of canvases) {
    const box = canvas.getBoundingClientRect();
    brush.drawImage(canvas, box.left, box.top, box.width, box.height);
  }
  brush.textAlign = "center";
  brush.textBaseline = "middle";
  for (const node of words) {
    const [style, box] = [getComputedStyle(node), node.getBoundingClientRect()];
    [brush.font, brush.fillStyle] = [style.font, style.color];
    const middle = (box.top + box.bottom) / 2;
    brush.fillText(node.innerText, (box.left + box.right) / 2, middle, box.width);
  }
  picture(page, sheet.toDataURL(), width, root.innerText);
}

function picture(page, src, width, alt) {
  const image = page.createElement("img");
  Object.assign(image, { src, width: Math.round(width), alt: alt.replace(/\s+/g, " ").trim() });
  add(page, "figure").append(image);
}

function metric(page, box) {
  const label = box.querySelector("[data-testid=stMetricLabel]").innerText;
  const value = box.querySelector("[data-testid=stMetricValue]").innerText;
  add(page, "p", `${label.trim()}: ${value.trim()}`, "number");
}

/** What is set on the page: the label of a field and its value. */
function widget(page, box) {
  const label = box.querySelector("[data-testid=stWidgetLabel]")?.innerText.trim();
  const chosen = box.querySelectorAll(
    "[aria-checked=true], [aria-pressed=true], [data-testid=stSliderThumbValue], input:checked + *",
  );
  const typed = [...box.querySelectorAll("input:not([type=radio]), textarea")].map((n) => n.value);
  const shown = [...chosen].map((node) => node.innerText.trim()).filter(Boolean);
  const value = shown.length ? shown.join(", ") : typed.filter(Boolean).join(", ");
  if (value) add(page, "p", label ? `${label}: ${value}` : value, "setting");
}

function settings(page, { facts, code, text }) {
  if (facts.length) add(page, "h2", text.settings);
  for (const [name, told] of facts) add(page, "p", `${name}: ${told}`, "setting");
  if (code.length) add(page, "h2", text.code_title);
  for (const lines of code) add(page, "pre", lines);
}

function add(page, tag, text = "", className = "") {
  const node = page.createElement(tag);
  if (className) node.className = className;
  node.textContent = text;
  page.body.append(node);
  return node;
}

/** Copy words and the plain tags about them; a formula is told by its source. */
function copy(page, from, to) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) {
      to.append(node.data);
    } else if (node.nodeType === Node.ELEMENT_NODE && !node.matches(LEFT_OUT)) {
      if (node.matches(".katex")) {
        to.append(node.querySelector("annotation")?.textContent ?? node.textContent);
      } else {
        copy(page, node, TAGS.has(node.tagName) ? to.appendChild(page.createElement(node.tagName)) : to);
      }
    }
  }
}

function styleOf(palette, font) {
  return `
@page { size: A4; margin: 15mm; }
* { box-sizing: border-box; }
body { margin: 1.5rem auto; max-width: 48rem; padding: 0 1rem; font: 1rem/1.6 ${font};
  color: ${palette.ink}; background: ${palette.surface};
  -webkit-print-color-adjust: exact; print-color-adjust: exact; }
h1, h2, h3, h4 { line-height: 1.3; break-after: avoid; }
h1 { font-size: 1.75rem; } h2 { font-size: 1.3rem; margin-top: 2rem; } h3 { font-size: 1.1rem; }
figure { margin: 1rem 0; break-inside: avoid; } img { max-width: 100%; height: auto; }
.note, .setting, footer { color: ${palette.muted}; font-size: 0.875rem; }
.setting { margin: 0.15rem 0; overflow-wrap: anywhere; }
.number { margin: 0.25rem 0; font-variant-numeric: tabular-nums; }
.box { border-left: 4px solid ${palette.a}; padding: 0.1rem 1rem; margin: 1rem 0;
  break-inside: avoid; }
table { border-collapse: collapse; font-size: 0.85rem; break-inside: avoid; }
th, td { border: 1px solid ${palette.grid}; padding: 0.15rem 0.45rem; text-align: left; }
.words { overflow-x: auto; } .words td { text-align: center; } .query { font-weight: 700; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid ${palette.grid};
  border-radius: 0.5rem; padding: 0.75rem 1rem; font-size: 0.8rem; break-inside: avoid; }
footer { margin-top: 2rem; border-top: 1px solid ${palette.grid}; padding-top: 0.5rem; }
@media print { body { margin: 0; max-width: none; padding: 0; } }
`;
}
