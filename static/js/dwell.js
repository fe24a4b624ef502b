// How long answers are in view (D35): sent when the reader leaves the page, or turns to another window.

import { signal } from "./actions.js";
import { byId } from "./dom.js";

const LEAST_SECONDS = 3;
const MOST_SECONDS = 600; // beyond it nobody reads

const since = new Map(); // turn -> when it came into view
const seconds = new Map(); // turn -> in view before

function left(turn) {
  if (!since.has(turn)) return;
  seconds.set(turn, (seconds.get(turn) ?? 0) + (performance.now() - since.get(turn)) / 1000);
  since.delete(turn);
}

function changed(entries) {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) left(target);
    else if (document.visibilityState === "visible") since.set(target, performance.now());
  }
}

/** Send what has been read; what is in view counts from here on again once the reader is back. */
function send() {
  const inView = [...since.keys()];
  inView.forEach(left);
  for (const [turn, time] of seconds) {
    if (time < LEAST_SECONDS || turn.getAttribute("aria-busy") === "true") continue;
    signal(turn.dataset.message, "dwell", Math.min(MOST_SECONDS, Math.round(time)));
    seconds.delete(turn);
  }
  return inView;
}

export function start() {
  const watcher = new IntersectionObserver(changed, { root: byId("main"), rootMargin: "-25% 0px" });
  const watch = (node) => node.matches?.(".turn") && watcher.observe(node);
  byId("turns").querySelectorAll(".turn").forEach(watch);
  new MutationObserver((changes) => changes.forEach(({ addedNodes }) => addedNodes.forEach(watch))).observe(
    byId("turns"),
    { childList: true },
  );
  let away = [];
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") away = send();
    else for (const turn of away) since.set(turn, performance.now());
  });
  addEventListener("pagehide", send);
}
