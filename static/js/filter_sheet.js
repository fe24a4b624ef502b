// The sheet in which filters are chosen: what occurs in the reader's documents, with counts, loaded when it is opened.

import { byId, formatted, words } from "./dom.js";
import * as filters from "./filters.js";

const FRESH_MS = 60000;
const FIND_AFTER_MS = 250;
const AXES = { X: "capability", Y: "organisation" };

const sheet = byId("chooser");
const field = byId("scope-words");
const foundBox = byId("filters-found");
const groups = byId("filters-groups");
const note = byId("filters-note");
const chooser = byId("filters-attribute");
const own = byId("filters-chosen-attribute");
const low = byId("filters-low");
const high = byId("filters-high");

let facets = null; // as the API lists them
let loaded = 0;
let timer = 0;
let found = 0; // the number of the latest search for values

const valuesOf = (box) => box.querySelector("[data-values]");
const key = (value) => JSON.stringify(value);

async function load(query = "") {
  const address = `/api/v1/rag/filters${query ? `?q=${encodeURIComponent(query)}` : ""}`;
  const response = await fetch(address, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`${response.status}`);
  return response.json();
}

async function opened() {
  if (field.value) {
    field.value = "";
    find();
  }
  if (facets && Date.now() - loaded < FRESH_MS) return render();
  try {
    facets = await load();
    loaded = Date.now();
    for (const one of facets.attributes.values) filters.names.attributes[one.code] = one.name;
    render();
  } catch {
    groups.hidden = true;
    note.hidden = false;
    note.textContent = words("filters_failed");
  }
}

function render() {
  const { documents, newest_only } = facets.counted;
  note.hidden = !newest_only;
  note.textContent = newest_only ? words("filters_newest", { n: formatted(documents) }) : "";
  groups.hidden = false;
  renderSets();
  showTags(facets.tags);
  const listed = facets.attributes.values.map(({ code, name }) => new Option(name, code));
  const before = chooser.value || Object.keys(filters.chosen().metadata ?? {})[0] || "";
  chooser.replaceChildren(chooser.options[0], ...listed);
  chooser.value = facets.attributes.values.some(({ code }) => code === before) ? before : "";
  byId("filters-attributes").hidden = !listed.length;
  showAttribute();
}

function renderSets() {
  const axes = facets.axes.map(({ axis, name }) => pill(axis, name));
  byId("filters-axis").hidden = axes.length < 2;
  valuesOf(byId("filters-axis")).replaceChildren(pill("", words("any_axis")), ...axes);
  for (const [axis, name] of Object.entries(AXES)) {
    const box = byId(`filters-${name}`);
    const sets = facets.axes.find((one) => one.axis === axis)?.sets ?? [];
    box.hidden = !sets.length;
    const boxes = sets.map(({ code, documents }) =>
      choice(filters.labelOf(name, code), documents, isIn(name, code), (on) => filters.toggle(name, code, on)),
    );
    valuesOf(box).replaceChildren(...boxes);
  }
}

const isIn = (name, value) => (filters.chosen()[name] ?? []).includes(value);

function pill(axis, name) {
  const label = Object.assign(document.createElement("label"), { className: "pill" });
  const input = Object.assign(document.createElement("input"), { type: "radio", name: "filter-axis", value: axis });
  input.checked = (filters.chosen().axis ?? "") === axis;
  input.addEventListener("change", () => filters.setAxis(axis || null));
  label.append(input, name);
  return label;
}

/** A line with a box to tick. `apply(isChosen)`. */
function choice(name, documents, isChosen, apply) {
  const line = byId("filter-choice-template").content.firstElementChild.cloneNode(true);
  const input = line.querySelector("input");
  input.checked = isChosen;
  input.addEventListener("change", () => apply(input.checked));
  line.querySelector(".choice-name").textContent = name;
  line.title = name;
  line.querySelector("[data-count]").textContent = formatted(documents);
  return line;
}

/** Chosen values stay in view whatever is listed. */
function withChosen(values, chosen) {
  const listed = new Set(values.map(({ value }) => key(value)));
  return [...chosen.filter((value) => !listed.has(key(value))).map((value) => ({ value, documents: 0 })), ...values];
}

function show(box, { values, more }) {
  valuesOf(box).replaceChildren(...values);
  box.querySelector("[data-more]").textContent = more ? words("values_more", { n: formatted(more) }) : "";
}

function showTags({ values, more }) {
  const query = field.value.trim();
  byId("filters-tags").hidden = !values.length;
  const all = query ? values : withChosen(values, filters.chosen().tags ?? []);
  const lines = all.map(({ value, documents }) =>
    choice(value, documents, isIn("tags", value), (on) => filters.toggle("tags", value, on)),
  );
  show(byId("filters-tags"), { values: lines, more });
}

const attribute = () => facets.attributes.values.find(({ code }) => code === chooser.value);

function showAttribute(narrowed = attribute()) {
  const one = attribute();
  own.hidden = !one;
  if (!one) return;
  const wanted = filters.chosen().metadata?.[one.code];
  const isRange = wanted && !Array.isArray(wanted) && typeof wanted === "object";
  byId("filters-range").hidden = one.kind === "text";
  low.type = high.type = one.kind === "day" ? "date" : "number";
  low.step = high.step = "any";
  low.value = (isRange && (wanted.gte ?? wanted.gt)) || "";
  high.value = (isRange && (wanted.lte ?? wanted.lt)) || "";
  showValues(one, narrowed ?? { values: [], more: 0 });
}

const listOf = (wanted) => (Array.isArray(wanted) ? wanted : wanted === undefined || typeof wanted === "object" ? [] : [wanted]);

function showValues(one, { values, more }) {
  show(own, { values: valueLines(one, withChosen(values, pickedOf(one))), more });
}

const pickedOf = (one) => listOf(filters.chosen().metadata?.[one.code]);

function valueLines(one, values) {
  const has = new Set(pickedOf(one).map(key));
  return values.map(({ value, documents }) => {
    const label = typeof value === "string" ? value : key(value);
    return choice(label, documents, has.has(key(value)), (on) => {
      const others = pickedOf(one).filter((other) => key(other) !== key(value));
      filters.setAttribute(one.code, on ? [...others, value] : others);
      low.value = high.value = "";
    });
  });
}

function ranged() {
  const one = attribute();
  const bound = ({ value }) => (one.kind === "number" ? Number(value) : value);
  const range = { ...(low.value && { gte: bound(low) }), ...(high.value && { lte: bound(high) }) };
  filters.setAttribute(one.code, range);
  for (const input of own.querySelectorAll("[data-values] input")) input.checked = false;
}

/** One field finds sets, tags and values: what is listed here at once, the rest on the server. */
function find() {
  clearTimeout(timer);
  const query = field.value.trim();
  const number = ++found;
  narrow(query);
  timer = setTimeout(async () => {
    const answer = query ? await load(query).catch(() => null) : facets;
    if (!answer || number !== found) return;
    for (const id of ["filters-axis", "filters-attributes"]) byId(id).hidden = Boolean(query);
    foundBox.hidden = !query;
    if (!query) {
      foundBox.replaceChildren();
      render();
    } else {
      showTags(answer.tags);
      foundBox.replaceChildren(...answer.attributes.values.filter(({ values }) => values.length).map(valuesFound));
    }
    narrow(query);
  }, query ? FIND_AFTER_MS : 0);
}

function valuesFound(one) {
  const group = document.createElement("fieldset");
  const lines = document.createElement("div");
  lines.dataset.values = "";
  lines.append(...valueLines(one, one.values));
  group.append(Object.assign(document.createElement("legend"), { textContent: one.name }), lines);
  return group;
}

/** Only lines that hold the words; the tags and values that the server found stay. */
function narrow(query) {
  const wanted = query.toLowerCase();
  for (const group of sheet.querySelectorAll("#scope-sets fieldset, #filters-capability, #filters-organisation")) {
    const lines = [...group.querySelectorAll(".choice")];
    for (const line of lines) line.hidden = !line.querySelector(".choice-name").textContent.toLowerCase().includes(wanted);
    group.hidden = lines.every((line) => line.hidden);
  }
  const isAny = [...sheet.querySelectorAll(".choice")].some((line) => line.checkVisibility());
  byId("scope-none").hidden = !query || isAny;
}

/** Enter takes what is found first. */
function pick(event) {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  if (!field.value.trim()) return;
  [...sheet.querySelectorAll(".choice input")].find((input) => input.checkVisibility())?.click();
}

/** What was changed elsewhere (chips, "remove all") shows in an open sheet; what has the focus stays. */
function refreshed() {
  if (sheet.hidden || !facets || field.value || sheet.contains(document.activeElement?.closest("[data-values], .filters-range"))) return;
  render();
}

export function start() {
  sheet.addEventListener("popover-open", opened);
  document.addEventListener("filters-changed", refreshed);
  chooser.addEventListener("change", () => {
    showAttribute();
  });
  low.addEventListener("change", ranged);
  high.addEventListener("change", ranged);
  field.addEventListener("input", find);
  field.addEventListener("keydown", pick);
  if (matchMedia("(pointer: coarse)").matches) {
    field.autofocus = false; // the keyboard of the screen would cover the list
    byId("chooser-title").autofocus = true;
  }
}
