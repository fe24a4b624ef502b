// The evidence panel: opens beside the report, which does not move.

import { access, byId, isNarrow, parsed, part, post, words } from "./dom.js";
import { decorate } from "./turns.js";

const panel = byId("evidence");
const shell = byId("shell");

let shown = null; // { message, number, place, opener, waits }

export const isOpen = () => shown !== null;

/** The marker that was followed; without one, all of the source. */
const chips = ({ message, number, place }) =>
  document.querySelectorAll(
    `[data-message="${message}"] [data-cite="${number}"]${place === undefined ? "" : `:is([data-place="${place}"], .source)`}`,
  );

function markChips(expanded) {
  for (const chip of chips(shown)) {
    if (expanded) chip.setAttribute("aria-expanded", "true");
    else chip.removeAttribute("aria-expanded");
  }
}

export function close() {
  if (!shown) return false;
  markChips(false);
  const { opener } = shown;
  const hadFocus = panel.contains(document.activeElement);
  shown = null;
  panel.hidden = true;
  panel.replaceChildren(); // opened again, it never shows the words of another claim for a moment
  byId("veil").hidden = true;
  delete shell.dataset.evidence;
  if (hadFocus && opener?.isConnected) opener.focus({ preventScroll: true });
  return true;
}

const isBeingWritten = (message) =>
  document.querySelector(`.turn[data-message="${message}"]`)?.getAttribute("aria-busy") === "true";

/** `place`: which marker of the text was followed; undefined: the first one of this source. */
export async function open(message, number, { opener = shown?.opener, place } = {}) {
  if (shown) markChips(false);
  const mine = (shown = { message, number, place, opener });
  markChips(true);
  const early = isBeingWritten(message); // sources are stored with the whole answer
  shell.dataset.evidence = "";
  panel.hidden = false;
  byId("veil").hidden = !isNarrow();
  if (!panel.childElementCount) fill(byId("evidence-loading").content.cloneNode(true));
  const slow = setTimeout(() => mine === shown && fill(byId("evidence-loading").content.cloneNode(true)), 250);
  try {
    const html = await part(`/messages/${message}/sources/${number}${place === undefined ? "" : `?place=${place}`}`);
    if (mine === shown) fill(parsed(html));
  } catch (error) {
    if (mine !== shown) return;
    if (error.status !== 404) fail("evidence_failed");
    else if (!early) fail("evidence_refused");
    else if (isBeingWritten(message)) wait();
    else await open(message, number, { opener: mine.opener, place }); // it was finished meanwhile
  } finally {
    clearTimeout(slow);
  }
}

function fill(content) {
  const hadFocus = panel.contains(document.activeElement) || document.activeElement === document.body;
  decorate(content);
  panel.replaceChildren(content);
  if (hadFocus || isNarrow()) panel.querySelector(".evidence-body, button")?.focus({ preventScroll: true });
  showMark();
}

/** Scroll to the words of the claim: in the passage, and the passage into the panel. */
function showMark() {
  const mark = panel.querySelector("mark");
  if (!mark) return;
  const passage = mark.closest(".passage");
  passage.scrollTop += mark.getBoundingClientRect().top - passage.getBoundingClientRect().top - passage.clientHeight / 3;
  mark.scrollIntoView({ block: "nearest" });
}

function wait() {
  shown.waits = true;
  fail("evidence_early");
}

/** The stored turn has taken the place of the one that was written: its source can be opened now. */
function finished(turn) {
  if (!shown || shown.message !== turn.dataset.message) return;
  if (!shown.opener?.isConnected) shown.opener = [...chips(shown)].find((chip) => chip.closest(".turn"));
  markChips(true);
  if (!shown.waits) return;
  if (turn.dataset.state === "failed") close();
  else open(shown.message, shown.number, { opener: shown.opener, place: shown.place });
}

function fail(key) {
  fill(byId("evidence-failed").content.cloneNode(true));
  panel.querySelector("p").textContent = words(key);
  panel.querySelector(".evidence-count").textContent = words("source_n", { n: shown.number });
  panel.querySelector("[data-cite-again]").hidden = key === "evidence_refused";
}

/** Go to the previous (-1) or next (1) source. */
export function step(direction) {
  const buttons = panel.querySelectorAll("[data-cite-step]");
  const button = buttons[direction < 0 ? 0 : 1];
  if (button && !button.disabled) open(shown.message, Number(button.dataset.citeStep));
}

export function start() {
  document.addEventListener("turn-finished", (event) => finished(event.target));
  document.addEventListener("click", (event) => {
    const chip = event.target.closest("[data-cite]");
    const message = chip?.closest("[data-message]")?.dataset.message;
    if (chip && message) {
      const number = Number(chip.dataset.cite);
      if (shown?.message === message && shown.number === number && chip === shown.opener) return void close();
      open(message, number, { opener: chip, place: chip.dataset.place });
      if (access.prefix) return; // signals are of people who are signed in here
      post("/api/v1/signals", { json: { message_id: message, kind: "citation_click", value: number } }).catch(
        (error) => console.warn("signal not sent", error),
      );
    } else if (event.target.closest("[data-close-evidence]")) {
      close();
    } else if (event.target.closest("[data-cite-again]")) {
      open(shown.message, shown.number, { place: shown.place });
    } else {
      const target = event.target.closest("[data-cite-step]");
      if (target && !target.disabled) open(shown.message, Number(target.dataset.citeStep));
    }
  });
}
