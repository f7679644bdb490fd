// The button that switches between light and dark.
//
// Streamlit lets only its own menu choose the theme, and keeps the choice. So the button opens that
// menu out of sight and presses the entry that a reader would press.

const SUN = "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 1h2v3h-2zM11 20h2v3h-2zM1 11h3v2H1zM20 11h3v2h-3z"
  + "M4.9 3.5 7 5.6 5.6 7 3.5 4.9zM18.4 17l2.1 2.1-1.4 1.4-2.1-2.1zM19.1 3.5l1.4 1.4L18.4 7 17 5.6z"
  + "M5.6 17 7 18.4l-2.1 2.1-1.4-1.4z";
const MOON = "M20.7 15.2A9 9 0 0 1 8.8 3.3a9 9 0 1 0 11.9 11.9z";
const SVG = "http://www.w3.org/2000/svg";
const PATIENCE_FRAMES = 60; // for the menu to be drawn

export default painter(build, draw);

function build(host) {
  const root = element("div", "owi", host);
  const button = element("button", "switch", root);
  button.type = "button";
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "0 0 24 24");
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  picture.append(path);
  button.append(picture);
  const state = { root, button, path };
  button.addEventListener("click", () => choose(dark(state) ? "Light" : "Dark"));
  return state;
}

function draw(state) {
  const { button, path, data } = state;
  button.setAttribute("aria-label", data.label);
  button.title = data.label;
  path.setAttribute("d", dark(state) ? SUN : MOON);
}

function dark({ root, data }) {
  return paletteFor(root, data.theme) === PALETTES.dark;
}

function choose(name, frames = PATIENCE_FRAMES) {
  const page = document.documentElement;
  const header = document.querySelector("[data-testid=stMainMenu]");
  const menu = header?.querySelector("button") ?? header;
  const entry = document.querySelector(`[data-testid=stMainMenuItem-theme-${name}]`);
  if (frames === PATIENCE_FRAMES) {
    page.classList.add("owi-choosing-theme");
    if (!entry) menu?.click();
  } else if (entry || frames === 0) {
    entry?.click();
    setTimeout(() => {
      // Some versions leave the menu open after a choice.
      if (document.querySelector("[data-testid^=stMainMenuItem-theme-]")) menu?.click();
      page.classList.remove("owi-choosing-theme");
    }, 100);
    return;
  }
  requestAnimationFrame(() => choose(name, frames - 1));
}
