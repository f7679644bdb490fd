// What the three components share: state by host, colours, sharp canvases, rows of words.
// PALETTES = {light, dark} is put in front of this text by pages/_ui/draw/components.py.

const STATES = new WeakMap();

/** Return this host's state, made once by `make(host)`: the same DOM nodes at every update. */
function stateOf(host, make) {
  if (!STATES.has(host)) STATES.set(host, make(host));
  return STATES.get(host);
}

/** Return a component that builds its nodes once for a host and draws new data into them.
 *  draw(state, before) finds data, palette, setTriggerValue and setStateValue in state; before: the
 *  data till now. */
function painter(build, draw) {
  return ({ parentElement, data, setTriggerValue, setStateValue }) => {
    const state = stateOf(parentElement, build);
    const before = state.data;
    Object.assign(state, { data, setTriggerValue, setStateValue });
    confirm(state);
    state.palette = paint(state.root, data.theme);
    draw(state, before);
    return state.stop;
  };
}

// What is clicked is sent with the version of the view it was clicked in, and sent again until the
// server confirms its number: pages/_ui/draw/events.py says why.
const RESEND_MS = 1000, MOST_RESENDS = 5;

/** Send what was meant by a click. */
function send(state, kind, meant) {
  state.sent ??= { mount: Math.random().toString(36).slice(2), number: 0, pending: [], resends: 0 };
  const { sent } = state;
  sent.number += 1;
  sent.resends = 0;
  sent.pending.push([sent.number, kind, state.data.view, meant]);
  deliver(state);
}

function deliver({ sent, setTriggerValue }) {
  setTriggerValue("meant", { mount: sent.mount, events: [...sent.pending] });
}

/** Drop what the server has taken; what it drew without is sent again if it stays so. */
function confirm(state) {
  const { sent, data } = state;
  if (!sent || !data.seen) return;
  const [mount, seen] = data.seen;
  if (mount === sent.mount) sent.pending = sent.pending.filter(([number]) => number > seen);
  clearTimeout(sent.timer);
  if (!sent.pending.length || sent.resends >= MOST_RESENDS) return;
  sent.timer = setTimeout(() => {
    sent.resends += 1;
    deliver(state);
  }, RESEND_MS);
}

/** Return what was meant by the clicks of this kind that the server has not taken yet, in this view.
 *  Its answer to an earlier click knows nothing of them and must not undo them. */
function notYetTaken({ sent, data }, kind) {
  const waiting = sent?.pending.filter(([, each, view]) => each === kind && view === data.view);
  return (waiting ?? []).map(([, , , meant]) => meant);
}

function element(tag, className, parent) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (parent) parent.append(node);
  return node;
}

/** Return a matrix that Python packed, as an array of its rows. */
function unpacked({ shape: [count, length], float32 }) {
  const bytes = Uint8Array.from(atob(float32), (sign) => sign.charCodeAt(0));
  const all = new Float32Array(bytes.buffer);
  return Array.from({ length: count }, (_, i) => all.subarray(i * length, (i + 1) * length));
}

function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

function css(root, name) {
  return getComputedStyle(root).getPropertyValue(name).trim();
}

/** Return the palette of the surface the component really stands on, whatever Python believed. */
function paletteFor(root, believed) {
  const surface = css(root, "--st-background-color");
  if (!/^#[0-9a-f]{6}$/i.test(surface)) return PALETTES[believed] ?? PALETTES.light;
  const [red, green, blue] = channels(surface);
  return 0.3 * red + 0.59 * green + 0.11 * blue < 128 ? PALETTES.dark : PALETTES.light;
}

/** Hand the palette to the style sheet as custom properties; return it. */
function paint(root, believed) {
  const palette = paletteFor(root, believed);
  for (const name of ["a", "b", "surface", "ink", "muted", "grid", "forbidden", "hatch", "leak"]) {
    root.style.setProperty(`--owi-${name}`, palette[name]);
  }
  return palette;
}

/** Return `#rrggbb` channels at `value` (0 to 1, clamped) between the stops of a ramp. */
function colourAt(ramp, value) {
  const at = Math.min(Math.max(value, 0), 1);
  const above = Math.max(1, ramp.findIndex(([stop]) => at <= stop));
  const [low, first] = ramp[above - 1];
  const [high, second] = ramp[above];
  const share = (at - low) / (high - low);
  const end = channels(second);
  return channels(first).map((channel, i) => Math.round((1 - share) * channel + share * end[i]));
}

function rgb([red, green, blue]) {
  return `rgb(${red},${green},${blue})`;
}

/** Return black or white ink, whichever reads better on the given channels. */
function inkOn([red, green, blue]) {
  return 0.3 * red + 0.59 * green + 0.11 * blue > 140 ? "#10171F" : "#FFFFFF";
}

/** Size a canvas in CSS pixels, sharp on this screen; return its 2-D context, cleared. */
function sharp(canvas, width, height) {
  const most = Math.sqrt(8e6 / Math.max(1, width * height));
  const ratio = Math.max(1, Math.min(window.devicePixelRatio || 1, most));
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/** Return how much larger than 16 px the page's text is set: everything drawn grows with it. */
function textScale() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;
}

function fontOf(root, pixels, weight = 400) {
  return `${weight} ${pixels}px ${css(root, "--st-font") || "sans-serif"}`;
}

/** Return a label as it can be seen: spaces and line ends have signs, nothing is empty. */
function visible(label) {
  if (/^\p{Cf}+$/u.test(label)) {
    return [...label].map((c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ");
  }
  const lines = label.replace(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/g, "↵");
  const blanks = lines.replace(/\t/g, "⇥").replace(/\u3000/g, "␣␣").replace(/[ \u00a0]/g, "␣");
  return blanks.replace(/[\0-\x1f]/g, pictured).replace(/\x7f/g, "␡").replace(/[\x80-\x9f]/g, "␦") || "∅";
}

/** Return Unicode's picture of a control character. */
function pictured(control) {
  return String.fromCharCode(0x2400 + control.charCodeAt(0));
}

/** Return a label cut to what fits `width`, with an ellipsis; the whole stands in the readout. */
function fitting(pen, label, width) {
  if (pen.measureText(label).width <= width) return label;
  const signs = [...label];
  while (signs.length > 1 && pen.measureText(signs.join("") + "…").width > width) signs.pop();
  return signs.join("") + "…";
}

/** Return a number with that many decimals and a real minus; one that rounds to zero has no sign.
 *  The same as `decimal` in owi_core/figures/numerals.py: toFixed prints a hyphen, and -0.00. */
function decimal(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** Fill the `{name}` places of a sentence. */
function sentenceOf(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

/** Call `draw` at once and whenever the box changes its width; return how to stop. */
function onResize(box, draw) {
  let width = -1;
  const observer = new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    draw();
  });
  observer.observe(box);
  return () => observer.disconnect();
}

/** Return which of `count` equal parts of a box a coordinate is in.
 *  A share of the box holds under any zoom or transform, a number of CSS pixels does not. */
function partAt(position, start, length, count) {
  return Math.floor(((position - start) / length) * count);
}

/**
 * Bring a row of words up to date: a bar over each word, its number under it.
 * Nodes are kept from update to update, so bars slide and the keyboard focus stays.
 * `make` is the tag of a word: a button where it can be chosen, a span where not.
 */
function wordRow(row, { labels, weights, allowed, query, unknown, gloss, text }, make) {
  while (row.children.length > labels.length) row.lastChild.remove();
  while (row.children.length < labels.length) row.append(wordColumn(make));
  row.classList.toggle("bare", !weights);
  row.classList.toggle("glossed", Boolean(gloss));
  row.translate = false; // words of a sentence are data, not text of the page
  const places = placesOf(labels);
  const strongest = weights ? weights.indexOf(Math.max(...weights)) : -1;
  labels.forEach((label, index) => {
    const [track, word, number, place, meaning] = row.children[index].children;
    const shut = Boolean(allowed && !allowed[index]);
    const weight = weights ? weights[index] : 0;
    track.firstChild.style.height = `${100 * Math.min(Math.max(weight, 0), 1)}%`;
    track.classList.toggle("shut", shut);
    row.children[index].classList.toggle("strongest", index === strongest && weight >= 0.005);
    word.textContent = visible(label);
    place.textContent = places[index];
    meaning.textContent = gloss?.[index] ?? "";
    word.classList.toggle("query", index === query);
    word.classList.toggle("unknown", unknown.includes(index));
    number.textContent = weights ? (shut && weight === 0 ? "·" : decimal(weight, 2)) : "";
    describe(word, { label: visible(label), place: places[index], weight, shut, weights, index, query, unknown, text });
  });
}

/** Return a number for each word that comes more than once, as text; empty for others and marks. */
function placesOf(labels) {
  const seen = new Map();
  const counts = labels.map((label) => seen.set(label, (seen.get(label) || 0) + 1).get(label));
  return labels.map((label, i) =>
    seen.get(label) > 1 && /[\p{L}\p{N}\p{S}]/u.test(label) ? String(counts[i]) : "",
  );
}

function wordColumn(make) {
  const column = element("span", "column");
  element("i", "bar", element("span", "track", column));
  const word = element(make, "word", column);
  if (make === "button") word.type = "button";
  element("span", "number", column);
  element("span", "place", column).setAttribute("aria-hidden", "true"); // the word's name has it
  element("span", "gloss", column).lang = "en";
  return column;
}

function describe(word, { label, place, weight, shut, weights, index, query, unknown, text }) {
  const parts = [place ? `${label} (${place})` : label];
  if (weights) parts.push(shut ? text.forbidden : decimal(weight, 3));
  if (index === query) parts.push(text.query_word);
  if (unknown.includes(index)) parts.push(text.unknown_word);
  word.title = parts.join(" · ");
  word.setAttribute("aria-label", parts.join(", "));
  if (word.tagName === "BUTTON") word.setAttribute("aria-pressed", String(index === query));
}

/** Return what a data: URL holds; Plotly gives its SVG as percent-encoded text, a PNG as base64. */
function blobOf(url) {
  const [head, body] = [url.slice(5, url.indexOf(",")), url.slice(url.indexOf(",") + 1)];
  const type = head.split(";")[0];
  if (!head.endsWith(";base64")) return new Blob([decodeURIComponent(body)], { type });
  return new Blob([Uint8Array.from(atob(body), (c) => c.charCodeAt(0))], { type });
}

/** Hand a file to the reader; this needs no HTTPS. */
function save(blob, name) {
  // Never put into the page: its click would count as one outside an open popover, and shut it.
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
