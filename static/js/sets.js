// Where to search: remembered for each conversation. A new one begins with all sets, unless a choice is pinned.
//
// "All knowledge sets" is no list: nothing is chosen then, and a set that is granted later belongs to it.

import { byId, formatted, post, words } from "./dom.js";
import { namesDocuments } from "./filters.js";

const PINNED = "sets-pinned"; // ids that new chats begin with
const LAST = "sets"; // of earlier versions: the last choice, which new chats took over without being asked to
const SHOWN_NAMES = 3;
const boxes = [...document.querySelectorAll("#chooser input[name=sets]")];
const pin = byId("sets-pin");

export const chosen = () => boxes.filter((box) => box.checked).map((box) => Number(box.value));

/** Choose one set alone. */
export function only(id) {
  for (const box of boxes) box.checked = Number(box.value) === id;
  boxes.find((box) => box.checked)?.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Search in all sets this time; what is pinned stays what the next conversation begins with. */
export function chooseAll() {
  for (const box of boxes) box.checked = false;
  show();
  document.dispatchEvent(new CustomEvent("sets-changed"));
}

function chip(label, box) {
  const item = document.createElement("li");
  item.className = "chip chip-set";
  item.append(Object.assign(document.createElement("span"), { textContent: label, title: label }));
  const button = byId("chip-remove-template").content.firstElementChild.cloneNode(true);
  button.ariaLabel = words("set_remove", { name: label });
  button.addEventListener("click", (event) => {
    event.stopPropagation(); // what was clicked is gone in a moment: it must not look like a click elsewhere
    box.checked = false;
    box.dispatchEvent(new Event("change", { bubbles: true }));
    (byId("set-chips").querySelector("button") ?? byId("question")).focus();
  });
  item.append(button);
  return item;
}

function more(number) {
  const item = document.createElement("li");
  const button = document.createElement("button");
  Object.assign(button, { className: "link-button", type: "button", textContent: words("sets_more", { n: formatted(number) }) });
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    byId("sets-button").click();
  });
  item.append(button);
  return item;
}

function show() {
  const checked = boxes.filter((box) => box.checked);
  const names = checked.map((box) => box.dataset.name);
  const label = [words("all_sets"), names[0]][names.length] ?? words("n_sets", { n: formatted(names.length) });
  byId("sets-label").textContent = label;
  byId("sets-button").title = names.join(", ");
  byId("sets-button").toggleAttribute("data-narrowed", names.length > 0);
  byId("sets-clear").hidden = !names.length;
  const chips = byId("set-chips");
  chips.hidden = !names.length;
  chips.replaceChildren(...checked.slice(0, SHOWN_NAMES).map((box) => chip(words("set_named", { name: box.dataset.name }), box)));
  if (names.length > SHOWN_NAMES) chips.append(more(names.length - SHOWN_NAMES));
  pin.closest("label").hidden = !names.length;
  pin.checked = names.length > 0 && localStorage.getItem(PINNED) === JSON.stringify(chosen());
}

/** `conversation()` returns the id of the one that is open, or "". */
export function start({ conversation }) {
  localStorage.removeItem(LAST);
  if (!conversation() && !namesDocuments && !chosen().length) {
    const kept = JSON.parse(localStorage.getItem(PINNED) ?? "[]");
    for (const box of boxes) box.checked = kept.includes(Number(box.value));
  }
  const changed = () => {
    if (boxes.every((box) => box.checked)) for (const box of boxes) box.checked = false;
    show();
    document.dispatchEvent(new CustomEvent("sets-changed"));
    if (!conversation()) return;
    const form = new FormData();
    for (const set of chosen()) form.append("sets", set);
    // kept alive: another page may be opened at once, and the conversation must know its choice when it comes back
    post(`/c/${conversation()}/sets`, { form, keepalive: true }).catch((error) => console.warn("sets not stored", error));
  };
  for (const box of boxes) box.addEventListener("change", changed);
  pin.addEventListener("change", () => {
    if (pin.checked) localStorage.setItem(PINNED, JSON.stringify(chosen()));
    else localStorage.removeItem(PINNED);
  });
  byId("sets-clear").addEventListener("click", () => {
    for (const box of boxes) box.checked = false;
    changed();
    (boxes[0] ?? byId("sets-button")).focus();
  });
  show();
}
