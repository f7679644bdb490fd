// Writes the state of the page into the address bar, so that a reload finds it.  No entry is added
// to the history: typing is no step to go back from.

export default function ({ data }) {
  // A run that was overtaken by a change of page must not write into the next page's address.
  if (location.pathname.split("/").pop() !== data.page) return;
  const asked = `?${data.query}`;
  if (location.search === asked) return;
  history.replaceState(history.state, "", location.pathname + asked + location.hash);
}
