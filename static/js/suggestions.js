// What is offered while somebody types: own questions, titles, terms; and commands behind a slash.

import { announce, byId, words } from "./dom.js";

const ASK_AFTER_MS = 150;
const field = byId("question");
const list = byId("suggest");

let options = []; // { label, note, apply }
let active = -1;
let timer = 0;
let asked = null; // the running request
let commands = [];

const isOpen = () => !list.hidden;

/** Nothing is offered and nothing asked for: also when the question is sent before an answer came. */
export function close() {
  clearTimeout(timer);
  asked?.abort();
  list.hidden = true;
  list.replaceChildren();
  active = -1;
  field.removeAttribute("aria-activedescendant");
}

function mark(index) {
  active = index;
  for (const [at, row] of [...list.children].entries()) {
    row.setAttribute("aria-selected", String(at === active));
    if (at === active) row.scrollIntoView({ block: "nearest" });
  }
  if (active < 0) field.removeAttribute("aria-activedescendant");
  else field.setAttribute("aria-activedescendant", `suggest-${active}`);
}

function row({ label, note }, index) {
  const item = Object.assign(document.createElement("li"), { id: `suggest-${index}`, className: "suggest-row" });
  item.setAttribute("role", "option");
  item.append(
    Object.assign(document.createElement("span"), { className: "suggest-text", textContent: label, dir: "auto" }),
    Object.assign(document.createElement("span"), { className: "suggest-note", textContent: note }),
  );
  item.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
  item.addEventListener("click", () => take(index));
  return item;
}

function offer(found, first = -1) {
  options = found;
  if (!found.length) return close();
  list.replaceChildren(...found.map(row));
  list.hidden = false;
  mark(first);
  announce(words("suggestions_n", { n: found.length }));
}

function take(index) {
  const { apply } = options[index];
  close();
  apply();
}

function write(text) {
  field.value = text;
  field.setSelectionRange(text.length, text.length);
  field.dispatchEvent(new Event("input", { bubbles: true }));
  close();
}

function offerCommands(typed) {
  const wanted = typed.slice(1).toLowerCase();
  const found = commands.filter(({ name, label }) => name.startsWith(wanted) || label.toLowerCase().includes(wanted));
  const rows = found.map(({ name, label, run }) => ({ label, note: `/${name}`, apply: () => (write(""), run()) }));
  offer(rows, 0);
}

async function look(typed) {
  asked?.abort();
  asked = new AbortController();
  try {
    const url = `${field.dataset.suggest}?q=${encodeURIComponent(typed)}`;
    const response = await fetch(url, { signal: asked.signal, headers: { Accept: "application/json" } });
    const { suggestions } = await response.json(); // in any case: an answer that is not read keeps its connection
    if (field.value !== typed || document.activeElement !== field) return;
    offer(
      suggestions.map(({ kind, text, start, detail }) => ({
        label: text,
        note: detail || words(`suggest_${kind}`),
        apply: () => write(`${[...typed].slice(0, start).join("")}${text}`),
      })),
    );
  } catch {
    if (field.value === typed) close(); // nothing is offered
  }
}

function typed(event) {
  const text = field.value;
  clearTimeout(timer);
  if (event.isComposing) return;
  if (/^\/[^\s/]*$/.test(text)) return offerCommands(text);
  if (!text.trim() || text.includes("\n") || text.length > 200 || !event.isTrusted) return close();
  timer = setTimeout(() => look(text), ASK_AFTER_MS);
}

function keys(event) {
  if (!isOpen() || event.isComposing || event.keyCode === 229) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const last = options.length - 1;
  if (step) mark(active + step > last ? -1 : active + step < -1 ? last : active + step);
  else if (event.key === "Enter" && !event.shiftKey && active >= 0) take(active);
  else if (event.key === "Escape") close();
  else {
    if (event.key === "Enter" || event.key === "Tab") close();
    return;
  }
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** `all`: { name, label, run } for what a slash offers. */
export function start({ all }) {
  commands = all;
  field.addEventListener("keydown", keys, true); // before the field sends
  field.addEventListener("input", typed);
  field.addEventListener("compositionend", typed);
  field.addEventListener("blur", close);
}
