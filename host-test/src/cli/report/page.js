"use strict";
// Copies the configuration.
document.getElementById("copy").addEventListener("click", async () => {
  const told = document.getElementById("copied");
  const advice = document.getElementById("advice");
  try {
    await navigator.clipboard.writeText(advice.textContent);
    told.textContent = "Copied.";
  } catch {
    // Not every browser lets a file write there: select it instead.
    getSelection().selectAllChildren(advice);
    told.textContent = "Selected: copy it from here.";
  }
});
// Sorts the sessions by the column whose title is pressed.
const table = document.getElementById("session-table");
for (const button of table.querySelectorAll("thead button")) {
  button.addEventListener("click", () => {
    const title = button.parentElement;
    const column = [...title.parentElement.children].indexOf(title);
    const descending = title.getAttribute("aria-sort") !== "descending";
    for (const other of title.parentElement.children) other.removeAttribute("aria-sort");
    title.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const key = (row) => row.children[column].textContent;
    const compare = (one, other) => key(one).localeCompare(key(other), "en", { numeric: true }) * (descending ? -1 : 1);
    const rows = [...table.tBodies[0].rows].sort(compare);
    table.tBodies[0].append(...rows);
  });
}
// On paper, nothing is folded.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => (details.open = true)));
