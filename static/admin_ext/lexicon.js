/* The queue of suggested terms: decisions without leaving the page, and its keys. Without this script the buttons
   of each row send their form. Keys rest while somebody types and with modifier keys. */

const queue = document.querySelector("[data-lexicon-queue]");
const list = queue.querySelector("[data-terms]");
const said = queue.querySelector("[data-said]");
const count = queue.querySelector("[data-count]");
const suggested = document.querySelector("[data-suggested]"); // in the button of the head
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
  count.textContent = found.count_words;
  suggested.textContent = found.suggested ? ` (${found.suggested})` : "";
  return found;
}

/* The next suggestions in the place of those that are decided; the page stays, and with it what can be undone. */
async function loadNext() {
  const page = await (await fetch(location.href)).text();
  const next = new DOMParser().parseFromString(page, "text/html").querySelector("[data-terms]");
  if (!next) return location.reload(); // signed out, for instance
  if (rows().length) return; // something was undone meanwhile
  list.replaceChildren(...next.children);
  if (done.length) done.at(-1).next = list.firstElementChild;
  rows()[0]?.focus();
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
    if (found.undo) done.push({ undo: found.undo, row, next });
    undoButton.disabled = !done.length;
    said.textContent = `${name}: ${status === "approved" ? "✓" : "✗"}`;
    following?.focus();
    if (!rows().length) await loadNext();
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
    list.querySelector(".rs-empty")?.remove();
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
