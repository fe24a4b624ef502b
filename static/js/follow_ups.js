// What may be asked next, below the last answer. Fetched once the answer is there; the page does without it.

import { byId, parsed, part } from "./dom.js";

/** Replace the suggestions of an earlier answer by those of the last one, if it is over. */
export async function show() {
  document.querySelector(".follow-ups")?.remove();
  const turn = byId("turns").querySelector(".turn:last-child");
  if (turn?.dataset.state !== "done") return;
  const html = await part(`/messages/${turn.dataset.message}/follow-ups`).catch(() => "");
  const isStillLast = turn.isConnected && !turn.nextElementSibling;
  if (isStillLast && !turn.querySelector(".follow-ups")) turn.querySelector(".turn-foot")?.after(parsed(html));
}

export function start() {
  document.addEventListener("turn-finished", () => setTimeout(show));
  document.addEventListener("branch-shown", show);
  show();
}
