// Versions of an answer: one branch of the conversation is shown, the reader pages between versions.

import { byId, parsed, part, post, words } from "./dom.js";
import { refresh as refreshTimes } from "./time.js";
import { toast } from "./toast.js";
import { decorate } from "./turns.js";

const conversation = () => byId("main").dataset.conversation;
const turns = () => [...byId("turns").querySelectorAll(".turn")];

/** The last turn that is shown and stored. */
export const last = () => turns().findLast((turn) => turn.dataset.message)?.dataset.message;

/** Take a turn and those behind it off the page; returns what brings them back. */
export function cut(turn) {
  const shown = turns();
  const gone = shown.slice(shown.indexOf(turn));
  for (const one of gone) one.remove();
  return () => byId("turns").append(...gone);
}

let isBusy = () => false;

/**
 * Show the turns as the server has them now; `message`: the one to go to. Resolves to a running turn, if there is one.
 * A question that was asked meanwhile stays: nothing is shown anew then.
 */
export async function reload(message) {
  let fresh = parsed(await part(`/c/${conversation()}`)).querySelector("#turns");
  if (message && !fresh.querySelector(`[data-message="${message}"]`)) {
    fresh = parsed(await part(`/c/${conversation()}?turn=${message}`)).querySelector("#turns"); // far from the end
  }
  if (isBusy()) return null;
  decorate(fresh);
  byId("turns").replaceChildren(...fresh.childNodes);
  refreshTimes();
  const turn = turns().find((one) => one.dataset.message === message);
  turn?.scrollIntoView({ block: "nearest" });
  document.dispatchEvent(new CustomEvent("branch-shown"));
  return byId("turns").querySelector(".turn[data-state=running]");
}

/** `isBusy()`: whether this page runs a turn; `follow(turn)`; `told()` after another branch is shown. */
export function start({ isBusy: busy, follow, told }) {
  isBusy = busy;
  byId("turns").addEventListener("click", async (event) => {
    const button = event.target.closest("[data-version]");
    if (!button || isBusy()) return;
    const form = new FormData();
    form.set("message", button.dataset.version);
    const forward = button.nextElementSibling === null;
    try {
      await post(`/c/${conversation()}/branch`, { form });
      const running = await reload(button.dataset.version);
      const pager = byId("turns").querySelector(`[data-message="${button.dataset.version}"] .versions`);
      const [back, on] = pager?.querySelectorAll("button") ?? [];
      (forward ? [on, back] : [back, on]).find((one) => one && !one.disabled)?.focus({ preventScroll: true });
      if (running) follow(running);
      told();
    } catch {
      toast(words("version_failed"));
    }
  });
}
