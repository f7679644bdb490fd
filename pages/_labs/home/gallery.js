// Cards that are links, each with a small picture of numbers. A plain click is answered here, in
// the session that is open; with Ctrl, Shift or the middle button the browser opens the link.

const TALL = 72, GAP = 8;

export default painter(build, draw);

function build(host) {
  const root = element("div", "owi", host);
  const list = element("ul", "cards", root);
  const state = { root, list, cards: [] };
  const watcher = new ResizeObserver(() => paintAll(state));
  watcher.observe(list);
  state.stop = () => watcher.disconnect();
  return state;
}

function draw(state) {
  const { list, data } = state;
  list.setAttribute("aria-label", data.text.label);
  while (state.cards.length < data.cards.length) state.cards.push(card(state, state.cards.length));
  data.cards.forEach(({ href, title, told }, index) => {
    const { link, picture, name, note } = state.cards[index];
    link.href = href;
    name.textContent = title;
    note.textContent = told;
    picture.setAttribute("aria-label", told);
  });
  paintAll(state);
}

function card(state, index) {
  const link = element("a", "card", element("li", "", state.list));
  const picture = element("canvas", "", link);
  picture.setAttribute("role", "img");
  const name = element("b", "", link);
  const note = element("span", "note", link);
  note.setAttribute("aria-hidden", "true"); // the picture says the same
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    send(state, "chosen", state.data.cards[index].name);
  });
  return { link, picture, name, note };
}

function paintAll(state) {
  state.data?.cards.forEach(({ picture }, index) => {
    const { link, picture: canvas } = state.cards[index];
    const style = getComputedStyle(link);
    const width = link.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    if (width <= 0) return;
    const pen = sharp(canvas, Math.floor(width), TALL);
    const box = { width: Math.floor(width), height: TALL, palette: state.palette };
    if (picture.rows) rowsOf(pen, box, picture);
    if (picture.grids) gridsOf(pen, box, picture.grids);
    if (picture.bars) barsOf(pen, box, picture.bars);
  });
}

/** One row above the other in the colours of A and B; the word that looks has a ring. */
function rowsOf(pen, { width, height, palette }, { rows, queries }) {
  const tall = (height - GAP) / rows.length;
  rows.forEach((row, n) => {
    const foot = n * (tall + GAP) + tall - 3, step = Math.min(24, width / row.length);
    row.forEach((weight, at) => {
      pen.fillStyle = palette.grid;
      pen.fillRect(at * step + 1, foot, step - 3, 2);
      pen.fillStyle = [palette.a, palette.b][n];
      const high = weight * (tall - 5);
      pen.fillRect(at * step + 1, foot - high, step - 3, high);
    });
    pen.strokeStyle = palette.ink;
    pen.lineWidth = 1.5;
    pen.strokeRect(queries[n] * step + 1.5, foot - 5.5, step - 4, 7);
  });
}

/** Matrices side by side on the scale of attention; what may not be seen stays empty. */
function gridsOf(pen, { width, height, palette }, grids) {
  const side = Math.min(height - 2, (width - GAP * (grids.length - 1)) / grids.length);
  grids.forEach((grid, n) => {
    const left = n * (side + GAP), cell = side / grid.length;
    pen.strokeStyle = palette.grid;
    pen.lineWidth = 1;
    pen.strokeRect(left + 0.5, 0.5, side, side);
    grid.forEach((row, y) => row.forEach((value, x) => {
      if (value === null) return;
      pen.fillStyle = rgb(colourAt(palette.ramp, value));
      pen.fillRect(left + x * cell, y * cell, Math.ceil(cell), Math.ceil(cell));
    }));
  });
}

/** Bars on one line of zero, groups side by side in the colours of A and B. */
function barsOf(pen, { width, height, palette }, groups) {
  const every = groups.flat();
  const low = Math.min(0, ...every), high = Math.max(0, ...every);
  const scale = (height - 4) / (high - low || 1), zero = 2 + high * scale;
  const count = groups[0].length, step = Math.min(30, width / count);
  groups.forEach((values, n) => values.forEach((value, at) => {
    const wide = (step - 4) / groups.length;
    pen.fillStyle = [palette.a, palette.b][n];
    const tall = Math.abs(value) * scale;
    pen.fillRect(at * step + n * wide, value > 0 ? zero - tall : zero, wide - 1, tall);
  }));
  pen.fillStyle = palette.muted;
  pen.fillRect(0, zero - 0.5, step * count, 1);
}
