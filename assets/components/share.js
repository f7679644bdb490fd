// The link in a field, and a button that copies it.
//
// Browsers lend navigator.clipboard to secure pages only; a classroom's server is none. There the
// text is selected and the old command copies it. Where that fails too, it stays selected.

export default painter(build, draw);

function draw({ field, button, data }, before) {
  field.value = data.link;
  field.setAttribute("aria-label", data.text.link);
  if (before && before.link === data.link && button.textContent) return;
  button.textContent = data.text.copy;
}

function build(host) {
  const root = element("div", "owi share", host);
  const field = element("input", "", root);
  field.readOnly = true;
  const button = element("button", "", root);
  button.type = "button";
  const told = element("div", "note told", root);
  told.setAttribute("role", "status");
  const state = { root, field, button };
  field.addEventListener("focus", () => field.select());
  button.addEventListener("click", async () => {
    const { text, link } = state.data;
    const done = (await modern(link)) || old(field);
    button.textContent = done ? `✓ ${text.copied}` : text.copy;
    told.textContent = done ? "" : text.copy_by_hand;
  });
  return state;
}

async function modern(link) {
  if (!window.isSecureContext || !navigator.clipboard) return false;
  try {
    await navigator.clipboard.writeText(link);
    return true;
  } catch {
    return false;
  }
}

function old(field) {
  field.focus();
  field.select();
  field.setSelectionRange(0, field.value.length);
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  }
}
