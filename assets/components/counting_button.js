// A button that counts: presses that come while the page is busy are not taken for one.

export default painter(build, draw);

function build(host) {
  const root = element("div", "owi", host);
  const button = element("button", "press", root);
  button.type = "button";
  const state = { root, button, count: 0 };
  button.addEventListener("click", () => {
    state.count += 1;
    state.setStateValue("count", state.count);
  });
  return state;
}

function draw(state) {
  const { button, data } = state;
  button.textContent = data.label;
  button.disabled = !data.enabled;
  button.classList.toggle("main", data.main);
  // A page that is opened again goes on where its session has come to.
  state.count = Math.max(state.count, data.taken);
}
