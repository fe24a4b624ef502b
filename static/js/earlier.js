// Earlier turns of a long conversation, and the place that a search found.

import { byId, part, parsed } from "./dom.js";
import { refresh as refreshTimes } from "./time.js";
import { decorate } from "./turns.js";

const BLOCKS = "p, li, td, th, dt, dd, h1, h2, h3, h4, h5, h6, pre, figcaption";

const main = byId("main");

async function fetchEarlier(button) {
  button.disabled = true;
  const first = button.closest(".earlier");
  try {
    const url = `/c/${main.dataset.conversation}/turns?before=${button.dataset.earlier}`;
    const fresh = parsed(await part(url));
    decorate(fresh);
    const end = main.scrollHeight - main.scrollTop;
    const turns = [...fresh.querySelectorAll(".turn")];
    first.replaceWith(fresh);
    main.scrollTop = main.scrollHeight - end; // what was in view stays where it was
    refreshTimes();
    turns.at(-1)?.querySelector("button, a")?.focus({ preventScroll: true });
  } catch {
    button.disabled = false;
  }
}

/** The texts below an element, each as its nodes: a paragraph is one text, without the numbers of its citations. */
function texts(root) {
  const found = new Map();
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (parent.closest(".cite")) continue;
    const block = parent.closest(BLOCKS) ?? parent;
    found.set(block, [...(found.get(block) ?? []), walker.currentNode]);
  }
  return found.values();
}

/** From one character of a text to another. */
function rangeOf(nodes, start, end) {
  const range = document.createRange();
  for (const node of nodes) {
    if (start >= 0 && start < node.length) range.setStart(node, start);
    if (end > 0 && end <= node.length) range.setEnd(node, end);
    start -= node.length;
    end -= node.length;
  }
  return range;
}

/** Every place of each of the words below an element. */
function ranges(root, words) {
  const found = [];
  for (const nodes of texts(root)) {
    const text = nodes.map((node) => node.data).join("").toLowerCase();
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        found.push(rangeOf(nodes, at, at + word.length));
      }
    }
  }
  return found;
}

/** Go to the turn that the address names, its words marked; false where it names none. */
export function showPlace() {
  const turn = location.hash.startsWith("#turn-") && byId(location.hash.slice(1));
  if (!turn) return false;
  turn.scrollIntoView();
  const asked = new URLSearchParams(location.search).get("q") ?? "";
  const found = ranges(turn, [...new Set(asked.toLowerCase().split(/\s+/).filter(Boolean))]);
  if (found.length && window.CSS?.highlights) CSS.highlights.set("found", new Highlight(...found));
  const inAnswer = found.find((range) => range.startContainer.parentElement.closest(".report")) ?? found[0];
  inAnswer?.startContainer.parentElement.scrollIntoView({ block: "center" });
  return true;
}

export function start() {
  byId("turns").addEventListener("click", (event) => {
    const button = event.target.closest("[data-earlier]");
    if (button) fetchEarlier(button);
  });
}
