// What narrows the search: chosen in the sheet, shown as chips above the question, sent with it, counted beforehand.

import { byId, formatted, post, words } from "./dom.js";

const COUNT_AFTER_MS = 250;
const LISTS = ["capability", "organisation", "tags", "documents"];
const AXES = { capability: "X", organisation: "Y" };
const start_with = JSON.parse(byId("filters-start").textContent);

export const names = start_with.names; // { axes, sets, attributes, documents }: code → name

/** Whether the page begins with the documents that are asked about. */
export const namesDocuments = Boolean(start_with.chosen.documents?.length);

let state = {};
let sets = () => [];
let timer = 0;
let asked = 0; // the number of the latest count: answers to earlier ones come too late

/** Only what narrows, in the form of the API. */
export const chosen = () => structuredClone(state);

export const isEmpty = () => !Object.keys(state).length;

/** Replace everything; `filters` as in the API. */
export function set(filters) {
  state = {};
  if (filters.axis) state.axis = filters.axis;
  for (const name of LISTS) if (filters[name]?.length) state[name] = [...filters[name]];
  if (Object.keys(filters.metadata ?? {}).length) state.metadata = structuredClone(filters.metadata);
  changed();
}

export const clear = () => set({});

export const setAxis = (axis) => set({ ...state, axis });

/** Add a value to a list or take it out. */
export function toggle(name, value, isChosen) {
  const others = (state[name] ?? []).filter((one) => one !== value);
  set({ ...state, [name]: isChosen ? [...others, value] : others });
}

/** `wanted`: a list of values, a range, or null for no condition. */
export function setAttribute(code, wanted) {
  const metadata = { ...state.metadata };
  delete metadata[code];
  const isNothing = !wanted || (Array.isArray(wanted) ? !wanted.length : !Object.keys(wanted).length);
  set({ ...state, metadata: isNothing ? metadata : { ...metadata, [code]: wanted } });
}

const said = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function conditionWords(wanted) {
  if (Array.isArray(wanted)) return wanted.map(said).join(", ");
  if (wanted === null || typeof wanted !== "object") return said(wanted);
  const low = wanted.gte ?? wanted.gt;
  const high = wanted.lte ?? wanted.lt;
  if (high === undefined) return words("filter_from", { low });
  return low === undefined ? words("filter_until", { high }) : `${low} – ${high}`;
}

/** The words of a filter's value: a set of a category, whose name a knowledge set may have too, with its category. */
export function labelOf(name, value) {
  if (name === "tags") return `#${value}`;
  if (name === "documents") return names.documents[value] ?? value;
  return words("named_kind", { kind: names.axes[AXES[name]], name: names.sets[value] ?? value });
}

/** Every filter with its words and what takes it away. */
function parts() {
  const found = [];
  if (state.axis) found.push([names.axes[state.axis] ?? state.axis, () => setAxis(null)]);
  for (const name of LISTS) {
    for (const value of state[name] ?? []) {
      found.push([labelOf(name, value), () => toggle(name, value, false)]);
    }
  }
  for (const [code, wanted] of Object.entries(state.metadata ?? {})) {
    const label = `${names.attributes[code] ?? code}: ${conditionWords(wanted)}`;
    found.push([label, () => setAttribute(code, null)]);
  }
  return found;
}

function chip(label, remove) {
  const item = document.createElement("li");
  item.className = "chip";
  item.append(Object.assign(document.createElement("span"), { textContent: label, title: label }));
  const button = byId("chip-remove-template").content.firstElementChild.cloneNode(true);
  button.ariaLabel = words("filter_remove", { name: label });
  button.addEventListener("click", (event) => {
    event.stopPropagation(); // what was clicked is gone in a moment: it must not look like a click elsewhere
    const place = [...item.parentElement.children].indexOf(item);
    remove();
    const left = byId("filter-chips").querySelectorAll("button");
    (left[Math.min(place, left.length - 1)] ?? byId("question")).focus();
  });
  item.append(button);
  return item;
}

function changed() {
  const all = parts();
  const chips = byId("filter-chips");
  chips.replaceChildren(...all.map(([label, remove]) => chip(label, remove)));
  chips.hidden = !all.length;
  byId("sets-button").toggleAttribute("data-active", all.length > 0);
  byId("filters-clear").hidden = !all.length;
  document.dispatchEvent(new CustomEvent("filters-changed"));
  count();
}

function tell(text, isNone = false) {
  byId("filters-count").textContent = text;
  byId("filters-count").toggleAttribute("data-none", isNone);
  byId("filter-none").hidden = !isNone;
  byId("filter-none").querySelector("span").textContent = isNone ? text : "";
}

/** How much is left is told before a question is sent. */
function count() {
  clearTimeout(timer);
  const number = ++asked;
  if (isEmpty()) return tell("");
  byId("filters-count").textContent = words("matching");
  timer = setTimeout(async () => {
    try {
      const response = await post("/api/v1/rag/filters/count", { json: { sets: sets(), filters: state } });
      const { passages } = await response.json();
      if (number !== asked) return;
      const many = passages === 1 ? words("match_one") : words("match_n", { n: formatted(passages) });
      tell(passages ? many : words("match_none"), !passages);
    } catch {
      if (number === asked) tell(words("match_failed"));
    }
  }, COUNT_AFTER_MS);
}

/** `chosenSets()` returns the ids of the sets in which will be searched. */
export function start({ chosenSets }) {
  sets = chosenSets;
  byId("filters-clear").addEventListener("click", (event) => {
    event.stopPropagation();
    clear();
    byId("filters-title").focus();
  });
  document.addEventListener("sets-changed", count);
  set(start_with.chosen);
}
