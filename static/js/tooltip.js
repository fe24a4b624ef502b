// What a citation, a term or an underline means, on hover and on focus.

import { byId, place, words } from "./dom.js";

const SHOW_AFTER_MS = 120;
const box = byId("tooltip");

let timer = 0;
let anchor = null;

function line(className, text) {
  return Object.assign(document.createElement("div"), { className, textContent: text });
}

/** What is known of a source: from the list below the answer, or from the stream while it runs. */
function sourceOf(chip) {
  const turn = chip.closest("[data-message]");
  const listed = turn?.querySelector(`.source[data-cite="${chip.dataset.cite}"]`);
  if (listed) return { ...listed.dataset, bar: listed.querySelector(".relevance")?.cloneNode(true) };
  const streamed = JSON.parse(turn?.dataset.citations ?? "[]");
  const found = streamed.find((citation) => String(citation.citation_num) === chip.dataset.cite);
  return found ? { title: found.title, page: found.page ?? "", sets: "", section: "", excerpt: found.content, edited: found.edited ? words("edited") : "" } : null;
}

function describeSource(chip) {
  const source = sourceOf(chip);
  if (!source?.title) return [line("", words("source_n", { n: chip.dataset.cite }))];
  const place = [source.section, source.page && words("page_n", { n: source.page }), source.sets];
  const title = document.createElement("strong");
  title.textContent = source.title;
  const lines = [line("tooltip-place", place.filter(Boolean).join(" · ")), line("tooltip-excerpt", source.excerpt ?? "")];
  const row = line("tooltip-row", "");
  if (source.bar) row.append(source.bar);
  if (source.edited) lines.push(line("tooltip-edited", source.edited));
  return [title, ...lines.filter((one) => one.textContent), ...(source.bar ? [row] : [])];
}

function describeSupport(span) {
  const key = ["unsupported", "doubtful"].find((state) => span.classList.contains(state)) ?? "weak";
  const reason = span.dataset.supportReason;
  return [line("", words(key)), ...(reason ? [line("tooltip-place", reason)] : [])];
}

function describeTerm(span) {
  const term = document.createElement("strong");
  term.textContent = span.textContent;
  return [term, line("", span.dataset.term)];
}

function describe(target) {
  if (target.matches(".cite")) return describeSource(target);
  return target.matches(".term") ? describeTerm(target) : describeSupport(target);
}

function show(target) {
  anchor = target;
  box.replaceChildren(...describe(target));
  box.hidden = false;
  place(box, target, { above: true });
  target.setAttribute("aria-describedby", "tooltip");
}

/** Returns whether there was one. */
export function hide() {
  const isShown = !box.hidden;
  clearTimeout(timer);
  anchor?.removeAttribute("aria-describedby");
  anchor = null;
  box.hidden = true;
  return isShown;
}

const targetOf = (event) => event.target.closest?.(".thread .cite, .thread .term, .support:not(.supported)");

export function start() {
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const target = targetOf(event);
    if (target === anchor) return;
    hide();
    if (target) timer = setTimeout(() => show(target), SHOW_AFTER_MS);
  });
  document.addEventListener("focusin", (event) => {
    const target = targetOf(event);
    hide();
    if (target?.matches(":focus-visible")) show(target);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("click", (event) => {
    hide();
    const marked = event.target.closest?.(".thread .term, .thread .support:not(.supported)");
    if (marked && !event.target.closest("button, a")) show(marked); // fingers do not hover
  });
  byId("main").addEventListener("scroll", hide, { passive: true });
}
