// The attention matrix: a row for each word that looks, a column for each word looked at.
// Scale 0 to 1, fixed. Hover or arrows read a cell; a click, Enter or space chooses its row.

export default painter(build, update);

function update(state, before) {
  const { pattern, mask } = state.data;
  state.data = { ...state.data, pattern: unpacked(pattern), mask: mask && unpacked(mask) };
  if (before?.pattern.length !== state.data.pattern.length) state.cell = null;
  draw(state);
}

function build(host) {
  const root = element("div", "owi", host);
  const above = element("div", "above", root);
  const readout = element("div", "readout", above);
  readout.setAttribute("aria-live", "polite");
  const axes = element("div", "note", above);
  const scale = element("div", "scale note", above);
  const scaleLow = element("span", "", scale);
  const bar = element("canvas", "", scale);
  const scaleHigh = element("span", "", scale);
  const scroll = element("div", "scroll", root);
  const [corner, top, left, body] = ["corner", "top", "left", "body"].map((name) =>
    element("canvas", name, scroll),
  );
  for (const canvas of [bar, corner, top, left, body]) canvas.setAttribute("aria-hidden", "true");
  const notes = element("div", "note", root);
  const tip = element("div", "tip", root);
  tip.setAttribute("aria-hidden", "true"); // the line above the matrix says the same
  const state = { root, readout, axes, bar, scaleLow, scaleHigh, scroll, corner, top, left, body, notes, tip };
  state.cell = null;
  listen(state);
  state.stop = onResize(root, () => state.data && draw(state));
  return state;
}

function listen(state) {
  const { scroll, body, left } = state;
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "application");
  for (const canvas of [body, left]) {
    canvas.addEventListener("pointermove", (event) => {
      point(state, cellAt(state, canvas, event));
      follow(state, event);
    });
    canvas.addEventListener("pointerleave", () => {
      point(state, null);
      follow(state, null);
    });
    canvas.addEventListener("click", (event) => choose(state, cellAt(state, canvas, event)));
  }
  scroll.addEventListener("keydown", (event) => steer(state, event));
  scroll.addEventListener("blur", () => point(state, null));
}

function cellAt({ data }, canvas, event) {
  const box = canvas.getBoundingClientRect();
  const [rows, columns] = [data.pattern.length, data.key_labels.length];
  const query = partAt(event.clientY, box.top, box.height, rows);
  const inBody = canvas.className === "body";
  const key = inBody ? partAt(event.clientX, box.left, box.width, columns) : null;
  const inside = query >= 0 && query < rows;
  return inside && (key === null || (key >= 0 && key < columns)) ? { query, key } : null;
}

function choose(state, cell) {
  if (cell) send(state, "chosen", cell.query);
}

function point(state, cell) {
  if (cell?.query === state.cell?.query && cell?.key === state.cell?.key) return;
  state.cell = cell;
  drawBody(state);
  read(state);
}

const FROM_POINTER = 14;

/** Write the value at the pointer: the line above a tall matrix is out of sight. */
function follow({ root, tip, cell, readout }, event) {
  tip.classList.toggle("shown", Boolean(event && cell));
  if (!event || !cell) return;
  tip.textContent = readout.textContent;
  const box = root.getBoundingClientRect();
  const zoom = box.width / root.offsetWidth || 1; // of the page, which the pointer's place has in it
  const x = (event.clientX - box.left) / zoom + FROM_POINTER;
  // At the right edge it is on the pointer's other side, so that nothing is cut off.
  const turned = x + tip.offsetWidth > root.offsetWidth;
  tip.style.left = `${Math.max(0, turned ? x - tip.offsetWidth - 2 * FROM_POINTER : x)}px`;
  tip.style.top = `${(event.clientY - box.top) / zoom + FROM_POINTER}px`;
}

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function steer(state, event) {
  const { data } = state;
  const from = state.cell ?? { query: data.selected ?? 0, key: 0 };
  const step = STEPS[event.key];
  if (event.key === "Enter" || event.key === " ") choose(state, from);
  else if (step) {
    const query = within(from.query + step[0], data.pattern.length);
    const key = within((from.key ?? 0) + step[1], data.key_labels.length);
    point(state, { query, key });
    reveal(state);
  } else return;
  event.preventDefault();
}

function within(index, count) {
  return Math.min(Math.max(index, 0), count - 1);
}

/** Scroll the box, never the page, until the pointed cell is seen. */
function reveal({ scroll, cell, wide, high, gutter, header }) {
  const place = (from, to, low, high) => (to - high > from ? to - high : Math.min(from, low));
  const x = cell.key * wide;
  const y = cell.query * high;
  scroll.scrollLeft = place(scroll.scrollLeft, x + wide, x, scroll.clientWidth - gutter);
  scroll.scrollTop = place(scroll.scrollTop, y + high, y, scroll.clientHeight - header);
}

function read({ data, cell, readout }) {
  const { text, pattern, query_labels, key_labels, mask } = data;
  if (!cell) {
    readout.textContent = text.matrix_hint;
    return;
  }
  const query = visible(query_labels[cell.query]);
  if (cell.key === null) {
    readout.textContent = sentenceOf(text.row_readout, { query, place: cell.query + 1 });
    return;
  }
  const key = visible(key_labels[cell.key]);
  const value = decimal(pattern[cell.query][cell.key], 3);
  const shut = mask && !mask[cell.query][cell.key];
  readout.textContent = sentenceOf(text.cell_readout, {
    query, key, value: shut ? `${value} (${text.forbidden})` : value,
  });
}

/** Return how large the matrix is, and where its chosen row, or else its last, looks most. */
function summary({ text, pattern, query_labels, key_labels, selected }) {
  const row = selected ?? pattern.length - 1;
  const most = Math.max(...pattern[row]);
  return sentenceOf(text.matrix_numbers, {
    rows: pattern.length,
    columns: key_labels.length,
    query: visible(query_labels[row]),
    key: visible(key_labels[pattern[row].indexOf(most)]),
    value: decimal(most, 3),
  });
}

function draw(state) {
  const { root, data, scroll, axes, notes } = state;
  measure(state);
  drawScale(state);
  sharp(state.corner, state.gutter, state.header);
  drawBody(state);
  read(state);
  scroll.setAttribute("aria-label", `${data.text.matrix_label} ${summary(data)}`);
  axes.textContent = data.text.axes;
  notes.textContent = data.mask?.some((row) => row.includes(0)) ? data.text.hatched_note : "";
}

/** Choose the cell: wide enough for the longest word while they are few, never too small to hit. */
function measure(state) {
  const { root, data, body } = state;
  const scale = textScale();
  const pen = body.getContext("2d");
  const count = Math.max(data.pattern.length, data.key_labels.length);
  state.fontSize = (count > 40 ? 13 : 15) * scale;
  pen.font = fontOf(root, state.fontSize, 700);
  const widest = (labels) => Math.max(...labels.map((label) => pen.measureText(visible(label)).width));
  state.gutter = Math.ceil(Math.min(widest(data.query_labels), 120 * scale) + 26 * scale);
  const across = widest(data.key_labels) + 10 * scale;
  const room = (root.clientWidth - state.gutter - 2) / data.key_labels.length;
  state.upright = count > 24 || (across > room && data.key_labels.every(isShortHan));
  const least = state.upright ? (count > 64 ? 18 : 24) * scale : Math.min(across, 72 * scale);
  const most = state.upright ? 40 * scale : Math.min(Math.max(across, 54 * scale), 120 * scale);
  state.wide = Math.floor(Math.min(Math.max(room, least), most));
  state.high = Math.min(state.wide, Math.round(54 * scale));
  const tallest = Math.max(...data.key_labels.map((label) => stacked(label).length));
  state.header = Math.ceil((state.upright ? tallest : 1) * state.fontSize * 1.15 + 12 * scale);
}

function isShortHan(label) {
  return /^[\p{Script=Han}\p{P}]{1,5}$/u.test(label);
}

/** Return a label as signs set one under another, the way Chinese is set upright. */
function stacked(label) {
  const signs = [...visible(label)];
  return signs.length <= 5 ? signs : [...signs.slice(0, 4), "…"];
}

function drawScale({ bar, palette, data, scaleLow, scaleHigh }) {
  const [width, height] = [120, 12];
  const pen = sharp(bar, width, height);
  for (let x = 0; x < width; x += 1) {
    pen.fillStyle = rgb(colourAt(palette.ramp, x / (width - 1)));
    pen.fillRect(x, 0, 1, height);
  }
  pen.strokeStyle = palette.muted;
  pen.strokeRect(0.5, 0.5, width - 1, height - 1);
  scaleLow.textContent = `${data.text.scale_label} 0`;
  scaleHigh.textContent = "1";
}

function drawTop(state) {
  const { top, wide, header, data, palette, root, fontSize, upright, cell } = state;
  const pen = sharp(top, wide * data.key_labels.length, header);
  pen.textAlign = "center";
  pen.textBaseline = "bottom";
  data.key_labels.forEach((label, key) => {
    const strong = cell?.key === key;
    pen.fillStyle = palette.ink;
    pen.font = fontOf(root, fontSize, strong ? 700 : 400);
    const x = (key + 0.5) * wide;
    const signs = upright ? stacked(label) : [fitting(pen, visible(label), wide - 4)];
    signs.forEach((sign, at) => {
      pen.fillText(sign, x, header - 4 - (signs.length - 1 - at) * fontSize * 1.15);
    });
  });
}

function drawLeft({ left, high, gutter, data, palette, root, fontSize, cell }) {
  const pen = sharp(left, gutter, high * data.query_labels.length);
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  data.query_labels.forEach((label, query) => {
    const chosen = query === data.selected;
    pen.fillStyle = palette.ink;
    pen.font = fontOf(root, fontSize, chosen || cell?.query === query ? 700 : 400);
    const y = (query + 0.5) * high + 1;
    pen.fillText(fitting(pen, visible(label), gutter - 26), gutter - 10, y);
    if (chosen) pen.fillText("▸", Math.max(12, fontSize * 0.8), y);
  });
}

function drawBody(state) {
  const { body, wide, high, data, palette } = state;
  const pen = sharp(body, wide * data.key_labels.length, high * data.pattern.length);
  const hatch = hatching(pen, palette);
  data.pattern.forEach((row, query) =>
    row.forEach((value, key) => drawCell(state, pen, hatch, query, key, value)),
  );
  outline(state, pen);
  drawTop(state);
  drawLeft(state);
}

/** A forbidden cell is hatched; one that is hatched and not 0 is a leak and gets a frame. */
function drawCell({ data, palette, wide, high, root }, pen, hatch, query, key, value) {
  const [x, y] = [key * wide, query * high];
  const [across, down] = [wide - 1, high - 1];
  const shut = data.mask && !data.mask[query][key];
  const leak = shut && value > 1e-6;
  const colour = colourAt(palette.ramp, value);
  pen.fillStyle = shut && !leak ? palette.forbidden : rgb(colour);
  pen.fillRect(x, y, across, down);
  if (shut) {
    pen.fillStyle = hatch;
    pen.fillRect(x, y, across, down);
  }
  if (leak) {
    pen.strokeStyle = palette.leak;
    pen.lineWidth = 2;
    pen.strokeRect(x + 1, y + 1, across - 2, down - 2);
  }
  if (wide >= 38 && (!shut || leak) && value >= 0.005) {
    pen.fillStyle = inkOn(colour);
    pen.font = fontOf(root, Math.min(14, wide * 0.3));
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(decimal(value, 2), x + wide / 2, y + high / 2 + 1);
  }
}

function hatching(pen, palette) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 12;
  const ink = tile.getContext("2d");
  ink.strokeStyle = palette.hatch;
  ink.lineWidth = 1.2;
  for (const shift of [-12, -6, 0, 6, 12]) {
    ink.beginPath();
    ink.moveTo(shift, 12);
    ink.lineTo(shift + 12, 0);
    ink.stroke();
  }
  return pen.createPattern(tile, "repeat");
}

function outline({ data, palette, wide, high, cell }, pen) {
  const width = wide * data.key_labels.length;
  pen.strokeStyle = palette.b;
  pen.lineWidth = 3;
  for (const [query, key] of data.outlined) {
    pen.strokeRect(key * wide + 2, query * high + 2, wide - 5, high - 5);
  }
  pen.strokeStyle = palette.ink;
  if (data.selected !== null && data.selected < data.pattern.length) {
    pen.lineWidth = 2.5;
    pen.strokeRect(1.25, data.selected * high + 0.75, width - 3.5, high - 2.5);
  }
  if (cell) {
    pen.lineWidth = 1.5;
    const [x, across] = cell.key === null ? [0, width] : [cell.key * wide, wide];
    pen.setLineDash(cell.key === null ? [4, 3] : []);
    pen.strokeRect(x + 0.75, cell.query * high + 0.75, across - 2.5, high - 2.5);
    pen.setLineDash([]);
  }
}
