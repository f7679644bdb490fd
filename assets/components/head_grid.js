// All layers and heads at a glance: small matrices on one fixed scale, each a button that opens it.

const FORBIDDEN = 255;

export default painter(build, lay);

function build(host) {
  const root = element("div", "owi", host);
  const grid = element("div", "grid", root);
  grid.setAttribute("role", "group");
  const state = { root, grid, shape: "" };
  grid.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) send(state, "chosen", Number(button.dataset.place));
  });
  return state;
}

/** Make the buttons anew only when layers or heads have become others: focus stays otherwise. */
function lay(state) {
  const { grid, data } = state;
  const [layers, columns] = data.shape;
  const shape = `${layers}.${columns}`;
  if (shape !== state.shape) {
    grid.replaceChildren();
    for (let place = 0; place < layers * columns; place += 1) {
      if (place % columns === 0) element("span", "layer note", grid);
      grid.append(thumbnail(place));
    }
    state.shape = shape;
  }
  grid.style.setProperty("--columns", Math.min(columns, 6));
  grid.setAttribute("aria-label", data.label);
  grid.querySelectorAll(".layer").forEach((node, layer) => (node.textContent = data.layers[layer]));
  const cells = Uint8Array.from(atob(data.cells), (sign) => sign.charCodeAt(0));
  grid.querySelectorAll("button").forEach((button) => draw(state, button, cells));
}

function thumbnail(place) {
  const button = element("button", "thumbnail");
  button.type = "button";
  button.dataset.place = place;
  element("canvas", "", button).setAttribute("aria-hidden", "true");
  element("span", "note", button);
  return button;
}

/** Return the mean over the rows of a panel of each row's largest weight. */
function meanOfMost(panel, keys) {
  const weights = [...panel].map((value) => (value === FORBIDDEN ? 0 : value / 254));
  const rows = weights.length / keys;
  const most = (row) => Math.max(...weights.slice(row * keys, (row + 1) * keys));
  return Array.from({ length: rows }, (_, row) => most(row)).reduce((a, b) => a + b, 0) / rows;
}

function draw({ data, palette }, button, cells) {
  const [, columns, queries, keys] = data.shape;
  const place = Number(button.dataset.place);
  const [layer, column] = [Math.floor(place / columns), place % columns];
  const [canvas, name] = button.children;
  const chosen = layer === data.selected[0] && column === data.selected[1];
  name.textContent = data.names[column];
  button.setAttribute("aria-pressed", String(chosen));
  const panel = cells.subarray(place * queries * keys, (place + 1) * queries * keys);
  const told = sentenceOf(data.numbers, { value: decimal(meanOfMost(panel, keys), 2) });
  button.setAttribute("aria-label", `${data.layers[layer]}, ${data.names[column]}: ${told}`);
  canvas.width = keys;
  canvas.height = queries;
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(keys, queries);
  const shut = channels(palette.forbidden);
  for (let i = 0; i < queries * keys; i += 1) {
    const value = cells[place * queries * keys + i];
    const colour = value === FORBIDDEN ? shut : colourAt(palette.ramp, value / 254);
    image.data.set([...colour, 255], 4 * i);
  }
  pen.putImageData(image, 0, 0);
}
