// A run as it happens: the loss with its floor, the held-out part, and the watched row growing.

export default painter(build, draw);

function build(host) {
  const root = element("div", "owi run", host);
  const panes = element("div", "panes", root);
  const chart = element("div", "chart", panes);
  const lossHeading = element("div", "heading", chart);
  const canvas = element("canvas", "", chart);
  canvas.setAttribute("role", "img");
  const readout = element("div", "note readout", chart);
  const watch = element("div", "watch", panes);
  const rowHeading = element("div", "heading", watch);
  const row = element("div", "words small", watch);
  const state = { root, chart, canvas, readout, lossHeading, rowHeading, watch, row, pointed: null };
  canvas.addEventListener("pointermove", (event) => point(state, event.offsetX));
  canvas.addEventListener("pointerleave", () => point(state, null));
  state.stop = onResize(chart, () => state.data && draw(state));
  return state;
}

function point(state, x) {
  state.pointed = x;
  draw(state);
}

function draw(state) {
  const { root, data, lossHeading, rowHeading, watch, row } = state;
  root.style.setProperty("--hue", `var(--owi-${data.colour === "B" ? "b" : "a"})`);
  lossHeading.textContent = data.text.loss_heading;
  rowHeading.textContent = data.text.row_heading;
  watch.hidden = data.labels.length === 0;
  wordRow(row, { ...data, weights: data.row, unknown: [] }, "span");
  drawChart(state);
}

function drawChart(state) {
  const { chart, canvas, data, root, palette, readout } = state;
  const scale = textScale();
  const width = Math.max(220, chart.clientWidth);
  const strip = data.evaluated_unit === "share" && data.evaluated.length > 0;
  const height = Math.round((strip ? 340 : 270) * scale);
  const pen = sharp(canvas, width, height);
  pen.font = fontOf(root, 12 * scale);
  const frame = { left: 46 * scale, right: width - 12 * scale, top: 10 * scale };
  frame.bottom = height - (strip ? 120 : 28) * scale;
  const across = (step) => frame.left + (step / data.total_steps) * (frame.right - frame.left);
  const loss = lossAxis(data, frame);
  drawAxes(pen, palette, frame, loss, scale);
  drawLevel(pen, state, frame, loss, data.floor, data.text.floor_label, palette.leak);
  drawLevel(pen, state, frame, loss, data.uniform, data.text.uniform_label, palette.muted);
  drawLine(pen, data.points.map(([step, value]) => [across(step), loss.place(value)]), palette.ink);
  if (data.evaluated_unit === "nats") {
    drawDots(pen, data.evaluated.map(([step, value]) => [across(step), loss.place(value)]), state);
  }
  const under = { ...frame, top: height - 80 * scale, bottom: height - 28 * scale };
  if (strip) drawStrip(pen, state, under, across, scale);
  drawSteps(pen, state, frame, height, across, scale);
  drawPointed(pen, state, frame, across, loss);
  readout.textContent = reading(state, across);
  canvas.setAttribute("aria-label", `${data.text.loss_heading}. ${reading(state, across)}`);
}

/** Return the place of each loss on the canvas and the marks of its axis, linear from 0. */
function lossAxis({ points, evaluated, evaluated_unit, floor, uniform }, { top, bottom }) {
  const shown = points.map(([, value]) => value);
  if (evaluated_unit === "nats") shown.push(...evaluated.map(([, value]) => value));
  shown.push(...[floor, uniform].filter((value) => value !== null));
  const most = Math.max(...shown, 0.1);
  const step = roundStep(most / 4);
  const high = Math.ceil(most / step - 1e-9) * step;
  const marks = Array.from({ length: Math.round(high / step) + 1 }, (_, i) => i * step);
  return { marks, place: (value) => bottom - (Math.min(value, high) / high) * (bottom - top) };
}

function roundStep(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  return [1, 2, 5, 10].map((digit) => digit * power).find((round) => round >= step - 1e-12);
}

function drawAxes(pen, palette, { left, right }, { marks, place }, scale) {
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  for (const mark of marks) {
    const y = Math.round(place(mark)) + 0.5;
    pen.strokeStyle = mark === marks[0] ? palette.muted : palette.grid;
    line(pen, [[left, y], [right, y]]);
    pen.fillStyle = palette.muted;
    pen.fillText(String(Number(mark.toPrecision(3))), left - 8 * scale, y);
  }
}

function drawSteps(pen, { data, palette }, { left, right }, height, across, scale) {
  pen.fillStyle = palette.muted;
  pen.textBaseline = "top";
  const step = roundStep(data.total_steps / Math.max(2, Math.floor((right - left) / (90 * scale))));
  for (let mark = 0; mark <= data.total_steps; mark += Math.max(1, step)) {
    pen.textAlign = mark === 0 ? "left" : across(mark) > right - 12 ? "right" : "center";
    const label = mark === 0 ? `0 ${data.text.steps_label}` : String(mark);
    pen.fillText(label, across(mark), height - 20 * scale);
  }
}

function drawLevel(pen, state, { left, right }, { place }, value, label, colour) {
  if (value === null) return;
  const y = place(value);
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.setLineDash([2, 4]);
  line(pen, [[left, y], [right, y]]);
  pen.setLineDash([]);
  pen.fillStyle = colour;
  pen.textAlign = "right";
  pen.textBaseline = "bottom";
  pen.fillText(sentenceOf(label, { value: decimal(value, 2) }), right, y - 3);
}

function drawStrip(pen, state, frame, across, scale) {
  const { data, palette } = state;
  const place = (value) => frame.bottom - value * (frame.bottom - frame.top);
  drawAxes(pen, palette, frame, { marks: [0, 1], place }, scale);
  const dots = data.evaluated.map(([step, value]) => [across(step), place(value)]);
  drawLine(pen, dots, palette.a);
  drawDots(pen, dots, state);
  pen.fillStyle = palette.muted;
  pen.textAlign = "left";
  pen.textBaseline = "bottom";
  pen.fillText(data.text.evaluated_label, frame.left, frame.top - 6 * scale);
}

function drawDots(pen, dots, { palette }) {
  pen.fillStyle = palette.a;
  for (const [x, y] of dots) {
    pen.beginPath();
    pen.arc(x, y, 3.5, 0, 2 * Math.PI);
    pen.fill();
  }
}

function drawLine(pen, places, colour) {
  if (places.length === 0) return;
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.lineJoin = "round";
  line(pen, places);
}

function line(pen, places) {
  pen.beginPath();
  places.forEach(([x, y], at) => (at ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.stroke();
}

function drawPointed(pen, state, { top, bottom }, across, loss) {
  const at = pointedAt(state, across);
  if (!at) return;
  pen.strokeStyle = state.palette.muted;
  pen.lineWidth = 1;
  if (state.pointed !== null) line(pen, [[across(at[0]), top], [across(at[0]), bottom]]);
  pen.fillStyle = state.palette.ink;
  pen.beginPath();
  pen.arc(across(at[0]), loss.place(at[1]), 4, 0, 2 * Math.PI);
  pen.fill();
}

/** Return the point under the pointer, else the newest; null before there is one. */
function pointedAt({ data, pointed }, across) {
  if (data.points.length === 0) return null;
  if (pointed === null) return data.points[data.points.length - 1];
  const distance = ([step]) => Math.abs(across(step) - pointed);
  return data.points.reduce((best, next) => (distance(next) < distance(best) ? next : best));
}

function reading(state, across) {
  const { data } = state;
  const at = pointedAt(state, across);
  if (!at) return data.text.no_step_yet;
  const [step, loss] = [at[0], decimal(at[1], 3)];
  const told = sentenceOf(data.text.step_readout, { step, steps: data.total_steps, loss });
  const held = data.evaluated.filter(([when]) => when <= step).pop();
  if (!held) return told;
  const value =
    data.evaluated_unit === "share" ? `${decimal(100 * held[1], 1)} %` : decimal(held[1], 3);
  return `${told} · ${data.text.evaluated_label} ${value}`;
}
