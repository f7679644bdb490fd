// One attention step as a chain of small tables. A click or Enter chooses a cell and shows what it
// came from and what it feeds; a given number is typed over, a cell of the mask is switched.

export default painter(build, lay);

function build(host) {
  const root = element("div", "owi chain", host);
  const stages = element("div", "stages", root);
  const sum = element("div", "sum", root);
  sum.setAttribute("aria-live", "polite");
  const state = { root, stages, sum, panels: new Map(), shape: "" };
  stages.addEventListener("click", (event) => {
    const cell = event.target.closest("button.cell");
    if (cell) act(state, cell);
  });
  stages.addEventListener("keydown", (event) => steer(state, event));
  return state;
}

/** Rebuild the tables only when their sizes have changed: focus and cells stay otherwise. */
function lay(state) {
  const { stages, data } = state;
  const sizes = data.stages.map((stage) =>
    stage.panels.map((p) => `${p.id}:${p.values.length}x${p.values[0].length}`).join(),
  );
  if (sizes.join(";") !== state.shape) {
    stages.replaceChildren();
    state.panels.clear();
    data.stages.forEach((stage) => stages.append(stageOf(state, stage)));
    state.shape = sizes.join(";");
  }
  const panels = data.stages.flatMap((stage) => stage.panels);
  for (const [table, row, column, value] of notYetTaken(state, "edited")) {
    panels.find((panel) => panel.id === table).values[row][column] = value;
  }
  data.stages.forEach((stage, at) => {
    const node = stages.children[at];
    node.querySelector("h4").textContent = stage.title;
    node.querySelector("p").textContent = stage.about;
    stage.panels.forEach((panel) => fill(state, panel));
  });
  tell(state);
}

function stageOf(state, stage) {
  const node = element("section", "stage");
  element("h4", "", node);
  element("p", "note", node);
  const row = element("div", "panels", node);
  for (const panel of stage.panels) {
    const box = element("div", "panel", row);
    box.dataset.panel = panel.id;
    const head = element("div", "head", box);
    element("b", "", head);
    element("span", "note", head);
    const grid = element("div", "grid", box);
    grid.setAttribute("role", "group");
    grid.style.setProperty("--columns", panel.values[0].length);
    element("i", "", grid);
    panel.values[0].forEach(() => element("i", "at", grid));
    panel.values.forEach((row_, i) => {
      element("i", "at row", grid);
      row_.forEach((_, j) => grid.append(cellOf(panel.id, i, j)));
    });
    state.panels.set(panel.id, { box, head, grid, cells: [...grid.querySelectorAll(".cell")] });
  }
  return node;
}

function cellOf(id, row, column) {
  const cell = element("button", "cell");
  cell.type = "button";
  Object.assign(cell.dataset, { panel: id, row, column });
  cell.tabIndex = row === 0 && column === 0 ? 0 : -1;
  return cell;
}

function fill(state, panel) {
  const { data, palette } = state;
  const { box, head, grid, cells } = state.panels.get(panel.id);
  head.children[0].textContent = panel.title;
  head.children[1].textContent = panel.shape;
  grid.setAttribute("aria-label", `${panel.title} ${panel.shape}`);
  box.classList.toggle("editable", panel.editable);
  const columns = panel.values[0].length;
  const ats = grid.querySelectorAll("i.at");
  ats.forEach((at, n) => {
    const name = n < columns ? panel.columns[n] : panel.rows[n - columns];
    at.textContent = name;
    at.classList.toggle("word", name.includes(" "));
  });
  const largest = Math.max(1e-9, ...panel.values.flat().map((v) => Math.abs(v ?? 0)));
  const marked = { changed: placed(panel.changed), source: placed(data.sources[panel.id]),
    fed: placed(data.feeds[panel.id]) };
  const shut = placed(panel.shut);
  cells.forEach((cell, at) => {
    const [i, j] = [Math.floor(at / columns), at % columns];
    const value = panel.values[i][j];
    const shown = panel.kind === "mask" ? (value ? "✓" : "✗") : number(value);
    const chosen = Boolean(data.selected) && data.selected[0] === panel.id &&
      data.selected[1] === i && data.selected[2] === j;
    const is = Object.keys(marked).filter((name) => marked[name].has(`${i}.${j}`));
    // Hundreds of cells stay as they are when one number changes: they are not touched.
    const forbidden = panel.kind === "mask" ? !value : value === null || shut.has(`${i}.${j}`);
    const look = [value, is, chosen, forbidden, largest, data.theme, palette.ink, data.text.hint].join("|");
    if (cell.look === look && !cell.querySelector("input")) return;
    cell.look = look;
    if (!cell.querySelector("input")) cell.textContent = shown;
    const colour = colourOf(palette, panel.kind, value, largest);
    cell.style.background = colour ? rgb(colour) : "";
    cell.style.color = colour ? inkOn(colour) : "";
    for (const name of Object.keys(marked)) cell.classList.toggle(name, is.includes(name));
    cell.classList.toggle("shut", forbidden);
    cell.setAttribute("aria-pressed", String(chosen));
    const place = `${panel.title} ${panel.rows[i]}, ${panel.columns[j]}`;
    cell.setAttribute("aria-label", [place, shown, ...is.map((name) => data.text[name])].join(", "));
    cell.title = value === null ? "−∞" : String(value).replaceAll("-", "−");
  });
}

function placed(places) {
  return new Set((places ?? []).map(([i, j]) => `${i}.${j}`));
}

function number(value) {
  if (value === null) return "−∞";
  return decimal(value, Math.abs(value) >= 100 ? 0 : 2);
}

function colourOf(palette, kind, value, largest) {
  if (value === null || kind === "mask") return null;
  if (kind === "weight") return colourAt(palette.ramp, value);
  // Signed numbers stay pale, so that digits and marks are read first.
  return colourAt(palette.diverging, 0.5 + (0.28 * value) / largest);
}

function tell({ sum, data }) {
  sum.replaceChildren();
  if (!data.formula.length) {
    element("p", "note", sum).textContent = data.text.hint;
    return;
  }
  data.formula.forEach((line, at) => {
    element("p", at === 0 ? "symbols" : "", sum).textContent = line;
  });
  const legend = element("p", "note legend", sum);
  for (const name of ["source", "fed", "changed"]) {
    element("span", `key ${name}`, legend);
    element("span", "", legend).textContent = data.text[name];
  }
}

function panelOf(state, cell) {
  return state.data.stages.flatMap((s) => s.panels).find((p) => p.id === cell.dataset.panel);
}

function act(state, cell) {
  const panel = panelOf(state, cell);
  const place = [panel.id, Number(cell.dataset.row), Number(cell.dataset.column)];
  rove(state, cell);
  if (panel.editable && panel.kind === "mask") {
    const open = panel.values[place[1]][place[2]] ? 0 : 1;
    // Shown at once: a second click on the cell before the answer comes means the opposite.
    panel.values[place[1]][place[2]] = open;
    fill(state, panel);
    send(state, "edited", [...place, open]);
    return;
  }
  send(state, "chosen", place);
  if (panel.editable) edit(state, cell, panel.values[place[1]][place[2]]);
}

/** Let a given number be typed over in its own cell; Enter takes it, Escape leaves it. */
function edit(state, cell, value, typed) {
  if (cell.querySelector("input")) return;
  const field = element("input", "");
  field.type = "text";
  field.inputMode = "text";
  field.value = typed ?? String(Number(value.toFixed(4)));
  field.setAttribute("aria-label", state.data.text.edit);
  cell.replaceChildren(field);
  const place = [cell.dataset.panel, Number(cell.dataset.row), Number(cell.dataset.column)];
  let open = true;
  const close = (take) => {
    if (!open) return;
    open = false;
    const given = field.value.trim().replaceAll("−", "-").replace(",", ".");
    const fresh = Number(given);
    field.remove();
    cell.look = "";
    cell.textContent = number(value);
    if (take && given !== "" && Number.isFinite(fresh) && Math.abs(fresh) <= 1000 && fresh !== value) {
      cell.textContent = number(fresh);
      send(state, "edited", [...place, fresh]);
    }
  };
  field.addEventListener("blur", () => close(true));
  field.addEventListener("click", (event) => event.stopPropagation());
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    close(event.key === "Enter");
    cell.focus();
  });
  field.focus();
  if (typed === undefined) field.select();
}

const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function steer(state, event) {
  const cell = event.target.closest("button.cell");
  if (!cell) return;
  const panel = panelOf(state, cell);
  const move = MOVES[event.key];
  if (move) {
    const row = held(Number(cell.dataset.row) + move[0], panel.values.length);
    const column = held(Number(cell.dataset.column) + move[1], panel.values[0].length);
    const next = state.panels.get(panel.id).cells[row * panel.values[0].length + column];
    rove(state, next);
    next.focus();
  } else if (panel.editable && panel.kind !== "mask" && /^[-−.\d]$/.test(event.key)) {
    edit(state, cell, panel.values[cell.dataset.row][cell.dataset.column], event.key);
  } else return;
  event.preventDefault();
}

function held(index, count) {
  return Math.min(Math.max(index, 0), count - 1);
}

/** One cell of each table is in the tab order; arrows move within it. */
function rove(state, cell) {
  for (const other of state.panels.get(cell.dataset.panel).cells) other.tabIndex = -1;
  cell.tabIndex = 0;
}
