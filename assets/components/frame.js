// Four things the frame needs of a browser and Streamlit does not do by itself.
//
// Theme: when the reader changes it, the components follow at once, but Python is not told; the
// settled charts would keep the old colours. So the page is run again.
//
// Language: the document says which it is in, so that Chinese gets Chinese glyphs and a reading
// voice speaks the right language.
//
// Links: what is being typed is sent when its field loses the focus. A tap on a link that leaves
// the page in the same instant would overtake it, and Streamlit would come back to the old page
// with the field empty. So a click that follows such a moment too closely waits a little.
//
// Visit: the address carries its token from the beginning.  The rest of the page's state follows
// when the page is complete (address.js), which a page that waits for a model is not for long.
//
// Address: for a path with a mark behind it (`/rows。`) Streamlit says that there is no such page,
// and Python then switches to the page that was meant: the message is wrong, and is closed.

const SOON_MS = 100;

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  const state = stateOf(parentElement, listen);
  document.documentElement.lang = data.lang;
  const real = paletteFor(state.root, data.theme) === PALETTES.dark ? "dark" : "light";
  if (real !== data.theme && real !== state.told) setTriggerValue("theme", real);
  state.told = real;
  if (data.corrected && !state.corrected) closeNotFound();
  state.corrected = data.corrected;
  carry(data.visit);
  return state.stop;
}

function carry(visit) {
  const asked = new URLSearchParams(location.search);
  if (!visit || asked.get("visit") === visit) return;
  // Appended as text: to write the others anew would change how they are escaped.
  const others = location.search.replace(/^\?/, "").split("&").filter((p) => p && !/^visit=/.test(p));
  const search = `?${[...others, `visit=${visit}`].join("&")}`;
  history.replaceState(history.state, "", location.pathname + search + location.hash);
}

function closeNotFound() {
  for (const dialog of document.querySelectorAll("[data-testid=stDialog]")) {
    const title = dialog.querySelector("h2")?.textContent;
    if (title === "Page not found") dialog.querySelector("button[aria-label=Close]")?.click();
  }
}

function listen(host) {
  let leftAt = -Infinity;
  const left = (event) => {
    if (event.target.matches?.("input, textarea")) leftAt = performance.now();
  };
  const clicked = (event) => {
    const link = event.target.closest?.("[data-testid=stPageLink] a");
    const othersWay = event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0;
    if (!link || othersWay || !event.isTrusted || performance.now() - leftAt > SOON_MS) return;
    event.preventDefault();
    event.stopPropagation();
    setTimeout(() => link.click(), 2 * SOON_MS);
  };
  document.addEventListener("focusout", left, true);
  document.addEventListener("click", clicked, true);
  const stop = () => {
    document.removeEventListener("focusout", left, true);
    document.removeEventListener("click", clicked, true);
  };
  return { root: element("div", "", host), stop };
}
