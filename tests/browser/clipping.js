// What a reader cannot see although it was drawn: texts cut by a box around them, figures that
// need scrolling, a page that scrolls sideways. Returns one line for each.
() => {
  const found = new Set();
  const inside = (root) =>
    [...root.querySelectorAll("*")].flatMap((e) => [e, ...(e.shadowRoot ? inside(e.shadowRoot) : [])]);
  const parent = (node) => node.parentElement ?? node.getRootNode().host ?? null;
  const name = (e) => {
    let at = e;
    while (at && !at.getAttribute?.("data-testid")) at = parent(at);
    return `${at?.getAttribute("data-testid")} <${e.tagName} ${e.getAttribute("class") ?? ""}>`;
  };
  const main = document.querySelector("[data-testid=stMain]");
  for (const e of [document.scrollingElement, main]) {
    if (e.scrollWidth > e.clientWidth + 1) {
      found.add(`scrolls sideways: ${e.tagName} is ${e.scrollWidth} wide in ${e.clientWidth}`);
    }
  }
  // The box that cuts a text off, or null; null too for what is hidden from eyes on purpose.
  const cutter = (element, text) => {
    for (let a = element; a; a = parent(a)) {
      const style = getComputedStyle(a);
      if (style.opacity === "0" || style.clipPath !== "none") return null;
      if (a instanceof SVGElement && a.tagName !== "svg") continue;
      // What scrolls in a box of its own can be reached.
      if (/auto|scroll/.test(style.overflowX)) return null;
      const shut = /hidden|clip/.test(style.overflowX) || style.textOverflow === "ellipsis";
      if (!shut) continue;
      const box = a.getBoundingClientRect();
      if (box.width <= 1 || box.height <= 1) return null;
      if (text.right > box.right + 2 || text.left < box.left - 2) return a;
      const low = /hidden|clip/.test(style.overflowY);
      if (low && (text.bottom > box.bottom + 4 || text.top < box.top - 4)) return a;
    }
    return null;
  };
  for (const element of inside(document.body)) {
    if (["STYLE", "SCRIPT", "TITLE", "OPTION", "desc"].includes(element.tagName)) continue;
    if (getComputedStyle(element).visibility === "hidden") continue;
    for (const node of element.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const text = range.getBoundingClientRect();
      if (text.width < 1 || text.height < 1 || text.right < 0) continue;
      const by = cutter(element, text);
      if (by) found.add(`${JSON.stringify(node.data.trim().slice(0, 40))} cut by ${name(by)}`);
    }
  }
  for (const chart of document.querySelectorAll("[data-testid=stPlotlyChart]")) {
    const drawn = chart.querySelector(".main-svg")?.getBoundingClientRect();
    if (!drawn) continue;
    for (let a = chart.parentElement; a && a !== main; a = a.parentElement) {
      const box = a.getBoundingClientRect();
      if (getComputedStyle(a).overflowY !== "visible" && drawn.bottom > box.bottom + 2) {
        found.add(`the lower ${Math.round(drawn.bottom - box.bottom)} px of a figure are out of sight`);
      }
    }
  }
  return [...found];
}
