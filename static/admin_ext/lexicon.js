/* The queue of suggested terms: decisions without leaving the page, and its keys. Without this script the buttons
   of each row send their form. Keys rest while somebody types and with modifier keys. */

const queue = document.querySelector("[data-lexicon-queue]");
const list = queue.querySelector("[data-terms]");
const said = queue.querySelector("[data-said]");
const undoButton = queue.querySelector("[data-undo-last]");
const token = queue.querySelector("[name=csrfmiddlewaretoken]").value;
const done = []; // { undo, row, next }

function rows() {
  return [...list.querySelectorAll("[data-term]")];
}

function current() {
  return document.activeElement?.closest?.("[data-term]") ?? rows()[0];
}

async function send(address, values) {
  const body = new URLSearchParams({ ...values, set: queue.dataset.set, csrfmiddlewaretoken: token });
  const response = await fetch(address, { method: "POST", body, headers: { Accept: "application/json" } });
  const found = await response.json();
  if (!response.ok) throw new Error(found.message);
  return found;
}

async function decide(row, status) {
  if (!row || row.inert) return;
  row.inert = true;
  const name = row.querySelector("strong").textContent;
  try {
    const found = await send(queue.dataset.decide, { term: row.dataset.term, status });
    const next = row.nextElementSibling;
    const following = next ?? row.previousElementSibling;
    row.remove();
    done.push({ undo: found.undo, row, next });
    undoButton.disabled = false;
    said.textContent = `${name}: ${status === "approved" ? "✓" : "✗"}`;
    following?.focus();
    if (!rows().length) location.reload();
  } catch (error) {
    said.textContent = error.message;
  }
  row.inert = false;
}

async function undo() {
  const last = done.pop();
  if (!last) return;
  undoButton.disabled = !done.length;
  try {
    const found = await send(queue.dataset.undo.replace("/0/", `/${last.undo}/`), {});
    list.insertBefore(last.row, last.next?.isConnected ? last.next : null);
    said.textContent = found.message;
    last.row.focus();
  } catch (error) {
    said.textContent = error.message;
  }
}

function step(by) {
  const all = rows();
  const at = all.indexOf(current());
  const here = document.activeElement?.closest?.("[data-term]") ? at + by : at;
  all[Math.max(0, Math.min(all.length - 1, here))]?.focus();
}

const keys = {
  j: () => step(1),
  k: () => step(-1),
  a: () => decide(current(), "approved"),
  r: () => decide(current(), "rejected"),
  u: undo,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const act = keys[event.key.toLowerCase()];
  if (!act) return;
  event.preventDefault();
  act();
});
list.addEventListener("click", (event) => {
  const button = event.target.closest("button[name=status]");
  if (!button) return;
  event.preventDefault();
  decide(button.closest("[data-term]"), button.value);
});
undoButton.addEventListener("click", undo);
