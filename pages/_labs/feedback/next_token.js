// The next token: the line from 0 to 1, cut into a piece for each token, with the random number on
// it; under it a bar for each token, hollow as the model says it, solid as it is drawn from. A click
// puts that token in.

export default painter(build, draw);

function draw(state) {
  drawStrip(state);
  drawBars(state);
}

function build(host) {
  const root = element("div", "owi next", host);
  root.translate = false; // tokens are data, not text of the page
  const strip = element("div", "strip", root);
  const line = element("div", "line", strip);
  line.setAttribute("role", "img");
  const marker = element("div", "marker", strip);
  const said = element("span", "said", marker);
  const bars = element("div", "bars", root);
  bars.setAttribute("role", "group");
  const state = { root, strip, line, marker, said, bars };
  bars.addEventListener("click", (event) => {
    const bar = event.target.closest("button");
    if (bar) send(state, "chosen", Number(bar.dataset.token));
  });
  return state;
}

/** Keep exactly `count` children in `box`, made by `make`: the nodes stay, so widths slide. */
function keepCount(box, count, make) {
  while (box.children.length > count) box.lastChild.remove();
  while (box.children.length < count) box.append(make());
}

function percent(share) {
  return `${100 * share}%`;
}

function drawStrip({ line, marker, said, data }) {
  const pieces = data.rows.filter((row) => row.high > row.low);
  keepCount(line, pieces.length, () => element("span", "piece"));
  pieces.forEach((row, index) => {
    const piece = line.children[index];
    piece.style.left = percent(row.low);
    piece.style.width = percent(row.high - row.low);
    piece.textContent = row.high - row.low >= 0.045 ? visible(row.label) : "";
    piece.classList.toggle("hit", row.drawn);
    piece.classList.toggle("odd", index % 2 === 1);
    piece.title = `${visible(row.label)}: ${decimal(row.low, 3)} – ${decimal(row.high, 3)}`;
  });
  const hit = data.rows.find((row) => row.drawn);
  // At temperature 0 no random number decides: the mark stands at the beginning of the line.
  const at = data.u ?? 0;
  const values = { u: decimal(at, 3), token: hit ? visible(hit.label) : "" };
  marker.style.left = percent(at);
  marker.classList.toggle("right", at > 0.5);
  said.textContent = sentenceOf(data.text.u_label, values);
  line.setAttribute("aria-label", sentenceOf(data.text.strip_label, values));
}

function makeBar() {
  const bar = element("button", "next-row");
  bar.type = "button";
  element("span", "sign", bar);
  const track = element("span", "bar-track", bar);
  element("i", "after", track);
  element("i", "before", track);
  element("span", "value", bar);
  return bar;
}

function drawBars({ bars, data }) {
  bars.setAttribute("aria-label", data.text.next_label);
  keepCount(bars, data.rows.length, makeBar);
  data.rows.forEach((row, index) => {
    const bar = bars.children[index];
    const [sign, track, value] = bar.children;
    bar.dataset.token = row.id;
    sign.textContent = visible(row.label);
    track.children[0].style.width = percent(row.after);
    track.children[1].style.width = percent(row.before);
    value.textContent = row.after > 0 ? decimal(row.after, 3) : data.text.dropped_row;
    bar.classList.toggle("hit", row.drawn);
    bar.classList.toggle("cut", row.after === 0);
    const values = { token: visible(row.label), before: decimal(row.before, 3), after: decimal(row.after, 3) };
    const sentence = sentenceOf(data.text.bar_readout, values);
    const mark = row.drawn ? ` ${data.text.drawn_mark}` : "";
    bar.title = `${sentence}${mark} · ${data.text.force_hint}`;
  });
}
