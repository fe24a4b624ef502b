// Tabs of one browser stay in step: what one begins, changes or deletes, the others show.

import { byId, parsed, part } from "./dom.js";

const AWAY_MS = 30000; // from which a tab looks what has happened elsewhere when it is seen again

const main = byId("main");
const channel = "BroadcastChannel" in window ? new BroadcastChannel(`ragsite-${main.dataset.user}`) : null;

/** `kind`: "turn" (asked or finished), "branch" (another version is shown), "changed" (a vote), "list" (pinned, renamed), "deleted". */
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
 * takes up a running one; `reload()` shows the turns anew; `refreshList()`.
 */
export function start({ conversation, isBusy, decorate, follow, reload, refreshList }) {
  const waiting = new Set(); // messages of other tabs, until the turn of this one is over

  async function take(message) {
    if (isBusy()) return void waiting.add(message);
    const html = await part(`/messages/${message}`).catch(() => "");
    const fresh = parsed(html).querySelector(".turn");
    if (!fresh) return;
    if (isVersion(fresh)) return showBranch();
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
    if (data.kind === "deleted" && isHere) return void location.assign("/");
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
