// Tabs of one browser stay in step: what one begins, changes or deletes, the others show.

import { byId, parsed, part } from "./dom.js";

const AWAY_MS = 30000; // from which a tab looks what has happened elsewhere when it is seen again

const main = byId("main");
const channel = "BroadcastChannel" in window ? new BroadcastChannel(`ragsite-${main.dataset.user}`) : null;

/** `kind`: "turn" (asked or finished), "branch" (another version is shown), "changed" (a vote), "list" (pinned; renamed, with `conversation` and `title`), "deleted". */
export function tell(kind, values = {}) {
  channel?.postMessage({ kind, ...values });
}

const turns = () => [...byId("turns").querySelectorAll(".turn")];
const find = (message) => turns().find((turn) => turn.dataset.message === message);

/** In the order in which they were asked; what is not stored yet stands last. */
export function sort() {
  const order = (turn) => Number(turn.dataset.asked || Infinity);
  const found = turns();
  const sorted = [...found].sort((a, b) => order(a) - order(b) || found.indexOf(a) - found.indexOf(b));
  if (sorted.some((turn, at) => turn !== found[at])) byId("turns").append(...sorted);
}

/** Whether another turn is shown in the place of this one. */
const isVersion = (fresh) =>
  turns().some(
    ({ dataset }) =>
      "parent" in dataset && dataset.parent === fresh.dataset.parent && dataset.message !== fresh.dataset.message,
  );

/** What the reader thought of an answer, from a newer copy of its turn; all else of a finished turn stays the same. */
function takeVotes(shown, fresh) {
  const [old, now] = [shown, fresh].map((turn) => turn.querySelector(".turn-actions"));
  if (!old || !now) return;
  old.dataset.said = now.dataset.said;
  for (const name of ["up", "down"]) {
    const pressed = now.querySelector(`[data-vote=${name}]`).getAttribute("aria-pressed");
    old.querySelector(`[data-vote=${name}]`).setAttribute("aria-pressed", pressed);
  }
  old.querySelector(".rate-number").textContent = now.querySelector(".rate-number").textContent;
}

/** Put a turn of the server's page in the place of the one that is shown, or behind the others. */
function show(fresh, decorate) {
  const shown = find(fresh.dataset.message);
  if (shown?.dataset.state === fresh.dataset.state && fresh.dataset.state === "running") return shown;
  decorate(fresh);
  if (shown) shown.replaceWith(fresh);
  else byId("turns").append(fresh);
  byId("welcome")?.remove();
  delete main.dataset.empty;
  sort();
  return fresh;
}

/**
 * `conversation()`: the one that is open; `isBusy()`: whether this tab runs a turn; `decorate(turn)`; `follow(turn)`
 * takes up a running one; `reload()` shows the turns anew; `refreshList()`; `leave()` for a new chat; `retitle(title)`;
 * `keep(conversation)` where somebody asks in one that is about to be deleted.
 */
export function start({ conversation, isBusy, decorate, follow, reload, refreshList, leave, retitle, keep }) {
  const waiting = new Set(); // messages of other tabs, until the turn of this one is over

  async function take(message) {
    if (isBusy()) return void waiting.add(message);
    const html = await part(`/messages/${message}`).catch(() => "");
    const fresh = parsed(html).querySelector(".turn");
    if (!fresh || isBusy()) return void (fresh && waiting.add(message));
    if (isVersion(fresh)) return showBranch();
    const same = find(message);
    if (same && same.dataset.state === fresh.dataset.state && same.dataset.state !== "running") return takeVotes(same, fresh);
    const shown = show(fresh, decorate);
    if (shown.dataset.state === "running" && !isBusy()) follow(shown);
  }

  async function showBranch() {
    if (isBusy()) return;
    const running = await reload().catch(() => null);
    if (running && !isBusy()) follow(running);
  }

  async function catchUp() {
    if (!conversation() || isBusy()) return;
    const html = await part(location.pathname).catch(() => "");
    const all = [...parsed(html).querySelectorAll("#turns .turn")];
    if (all.some(isVersion)) return showBranch();
    for (const fresh of all) {
      if (find(fresh.dataset.message)?.dataset.state === fresh.dataset.state) continue;
      const shown = show(fresh, decorate);
      if (shown.dataset.state === "running" && !isBusy()) follow(shown);
    }
  }

  channel?.addEventListener("message", ({ data }) => {
    const isHere = data.conversation && data.conversation === conversation();
    if (data.kind === "deleted" && isHere) return void leave();
    if (data.kind === "list" && isHere && data.title) retitle(data.title);
    if (data.kind === "turn" || data.kind === "branch") keep(data.conversation);
    refreshList();
    if (isHere && data.kind === "branch") return void showBranch();
    if (isHere && data.message) take(data.message);
  });
  document.addEventListener("turn-finished", () => {
    setTimeout(() => {
      sort();
      const messages = [...waiting];
      waiting.clear();
      for (const message of messages) take(message);
    });
  });
  let left = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) left = Date.now();
    else if (Date.now() - left > AWAY_MS) {
      refreshList();
      catchUp();
    }
  });
}
