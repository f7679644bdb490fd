// A sentence in large words: over each its weight as a bar, a click chooses the word that looks.

export default painter(build, draw);

function draw(state) {
  const chosen = notYetTaken(state, "chosen").at(-1);
  if (chosen !== undefined && state.data.rows) state.data = lookingFrom(state.data, chosen);
  const { root, row, data } = state;
  root.style.setProperty("--hue", `var(--owi-${data.colour === "B" ? "b" : "a"})`);
  row.setAttribute("aria-label", data.text.sentence_label);
  row.classList.toggle("small", data.labels.length > 24);
  wordRow(row, data, "button");
}

function build(host) {
  const root = element("div", "owi held", host);
  const row = element("div", "words", root);
  row.setAttribute("role", "group");
  const state = { root, row };
  row.addEventListener("click", (event) => choose(state, event.target));
  row.addEventListener("keydown", (event) => move(state, event));
  return state;
}

function indexOf(row, node) {
  return [...row.children].indexOf(node.closest(".column"));
}

/** The row that was asked for is drawn at once; all else on the page waits for the server. */
function choose(state, target) {
  if (!target.closest(".column")) return;
  const index = indexOf(state.row, target);
  send(state, "chosen", index);
  draw(state);
}

function lookingFrom(data, query) {
  const row = [...unpacked(data.rows)[query]];
  const weights = row.map((weight) => weight || 0); // NaN: forbidden
  const allowed = row.map((weight) => !Number.isNaN(weight));
  return { ...data, query, weights, allowed };
}

/** Arrows move the focus from word to word; Enter and space are the button's own. */
function move({ row }, event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const next = row.children[indexOf(row, event.target) + step];
  if (!next) return;
  event.preventDefault();
  next.querySelector(".word").focus();
}
