// Where to search: remembered for each conversation; a new one begins with the last choice.

import { byId, formatted, post, words } from "./dom.js";
import { namesDocuments } from "./filters.js";

const STORED = "sets";
const boxes = [...document.querySelectorAll("#chooser input[name=sets]")];

export const chosen = () => boxes.filter((box) => box.checked).map((box) => Number(box.value));

/** Choose one set alone. */
export function only(id) {
  for (const box of boxes) box.checked = Number(box.value) === id;
  boxes.find((box) => box.checked)?.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Search in all sets this time; the choice that was made last is what the next conversation begins with. */
export function chooseAll() {
  for (const box of boxes) box.checked = false;
  show();
  document.dispatchEvent(new CustomEvent("sets-changed"));
}

function show() {
  const names = boxes.filter((box) => box.checked).map((box) => box.dataset.name);
  const label = [words("all_sets"), names[0]][names.length] ?? words("n_sets", { n: formatted(names.length) });
  byId("sets-label").textContent = label;
  byId("sets-button").title = names.join(", ");
  byId("sets-clear").hidden = !names.length;
}

/** `conversation()` returns the id of the one that is open, or "". */
export function start({ conversation }) {
  if (!conversation() && !namesDocuments) {
    const last = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    for (const box of boxes) box.checked = last.includes(Number(box.value));
  }
  const changed = () => {
    show();
    localStorage.setItem(STORED, JSON.stringify(chosen()));
    document.dispatchEvent(new CustomEvent("sets-changed"));
    if (!conversation()) return;
    const form = new FormData();
    for (const set of chosen()) form.append("sets", set);
    post(`/c/${conversation()}/sets`, { form }).catch((error) => console.warn("sets not stored", error));
  };
  for (const box of boxes) box.addEventListener("change", changed);
  byId("sets-clear").addEventListener("click", () => {
    for (const box of boxes) box.checked = false;
    changed();
    (boxes[0] ?? byId("sets-button")).focus();
  });
  show();
}
