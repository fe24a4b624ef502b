// Earlier turns of a long conversation, and the place that a search found.

import { byId, part, parsed } from "./dom.js";
import { refresh as refreshTimes } from "./time.js";
import { decorate } from "./turns.js";

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

/** Every place of `words` below an element. */
function ranges(root, words) {
  const found = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.toLowerCase();
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + words.length);
      found.push(range);
    }
  }
  return found;
}

/** Go to the turn that the address names, its words marked; false where it names none. */
export function showPlace() {
  const turn = location.hash.startsWith("#turn-") && byId(location.hash.slice(1));
  if (!turn) return false;
  turn.scrollIntoView();
  const words = new URLSearchParams(location.search).get("q")?.toLowerCase();
  const found = words ? ranges(turn, words) : [];
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
