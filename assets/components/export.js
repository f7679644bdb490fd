// Pictures of a figure: made here, by the Plotly that Streamlit has drawn it with.
//
// The surface of the page is put behind it: on a figure's own, transparent one, the light words
// of the dark theme would vanish in a white document.

const PNG_SCALE = 3;
const MOST_TRIES = 100;
const PAUSE_MS = 100;

export default painter(build, draw);

function build(host) {
  const root = element("div", "owi pictures", host);
  const state = { root, buttons: {} };
  for (const format of ["png", "svg"]) {
    const button = element("button", "take", root);
    button.addEventListener("click", () => take(state, format));
    state.buttons[format] = button;
  }
  state.said = element("div", "note", root);
  state.said.setAttribute("role", "status");
  return state;
}

function draw({ buttons, data }) {
  for (const [format, button] of Object.entries(buttons)) button.textContent = data.text[format];
}

async function take(state, format) {
  const { data, said } = state;
  said.textContent = "";
  try {
    save(await picture(data, format), `${data.name}.${format}`);
  } catch (error) {
    said.textContent = data.text.failed;
    throw error;
  }
}

/** A figure that is only shown small beside its exports is made as wide as `least` (px). */
async function picture({ chart, surface, least }, format) {
  const drawn = await drawnBy(chart);
  const { height } = drawn._fullLayout;
  const width = Math.max(drawn._fullLayout.width, least);
  const layout = { ...drawn.layout, width, paper_bgcolor: surface };
  const figure = { data: drawn.data, layout };
  const scale = format === "png" ? PNG_SCALE : 1;
  const url = await window.Plotly.toImage(figure, { format, width, height, scale });
  return blobOf(url);
}

/** Return the figure once it is drawn: Streamlit loads Plotly with the first one it meets. */
async function drawnBy(chart) {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const drawn = document.querySelector(`.${chart} .js-plotly-plot`);
    if (drawn?._fullLayout && window.Plotly) return drawn;
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  throw new Error(`no figure in ${chart}`);
}
