// The chat page: brings its parts together.

import * as actions from "./actions.js";
import * as announcements from "./announcements.js";
import * as asking from "./asking.js";
import * as attachments from "./attachments.js";
import * as branches from "./branches.js";
import * as choices from "./choices.js";
import * as composer from "./composer.js";
import * as dwell from "./dwell.js";
import { carry, restored, signedOut } from "./draft.js";
import { byId, words } from "./dom.js";
import * as earlier from "./earlier.js";
import * as evidence from "./evidence.js";
import * as filterSheet from "./filter_sheet.js";
import * as followUps from "./follow_ups.js";
import * as filters from "./filters.js";
import "./pictures.js";
import "./zoom.js";
import * as popover from "./popover.js";
import * as share from "./share.js";
import * as sets from "./sets.js";
import * as side from "./side.js";
import { Connection } from "./socket.js";
import * as start from "./start.js";
import * as suggestions from "./suggestions.js";
import * as tabs from "./tabs.js";
import * as time from "./time.js";
import { toast } from "./toast.js";
import * as tooltip from "./tooltip.js";
import { RunningTurn, decorate, start as startTurns } from "./turns.js";

const LOST_AFTER_MS = 1500; // a hiccup is not worth a banner

const main = byId("main");
const conversation = () => main.dataset.conversation;

let turn = null; // the running one
let restore = null; // brings back the turns whose place the running one takes, until it is stored
let lost = 0;
let wasLost = false;

const connection = new Connection({
  onEvent: (event) => (queue = queue.then(() => received(event))),
  onState: connected,
  isNeeded: () => turn !== null,
});
let queue = Promise.resolve(); // events are applied one after the other

/** `fresh`: past the cache; `instead`: the turn of which this is another version; `form`: style and depth. */
function ask(question, { fresh = false, instead = null, form = asking.chosen() } = {}) {
  side.keep(conversation());
  const insteadOf = instead?.dataset.message;
  restore = instead && branches.cut(instead);
  const after = branches.last();
  turn = RunningTurn.begin(question, filters.chosen());
  turn.isVersion = Boolean(insteadOf);
  composer.setRunning(true);
  turn.sent = {
    type: "ask",
    id: newId(),
    question,
    ...(conversation() && { conversation_id: conversation() }),
    sets: sets.chosen(),
    filters: filters.chosen(),
    ...form,
    attachments: attachments.chosen(),
    ...(fresh && { cache: false }),
    ...(insteadOf ? { instead_of: insteadOf } : after && { after }),
  };
  connection.send(turn.sent);
}

/** A random UUID, also where the page is served without TLS and has no `crypto.randomUUID`. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20)].join("-");
}

/** Another version of a turn, with its filters or without any, in the chosen sets or everywhere. */
function askAgain(element, { unfiltered = false, everywhere = false, ...more } = {}) {
  if (everywhere) sets.chooseAll();
  filters.set(unfiltered || everywhere ? {} : JSON.parse(element.dataset.filters ?? "{}"));
  ask(element.querySelector(".question").textContent, { ...more, instead: element });
}

async function received(event) {
  if (event.type === "problem") return refused(event);
  if (!turn) return;
  if (event.type === "turn") {
    begun(event);
  } else if (await turn.apply(event)) {
    turn = null;
    composer.setRunning(false);
    side.refresh(conversation());
    tabs.tell("turn", { conversation: conversation(), message: event.message_id });
  }
}

function begun({ message_id, conversation_id, title }) {
  turn.identify(message_id);
  restore = null;
  byId("welcome")?.remove();
  attachments.taken(turn.sent?.attachments ?? []);
  if (conversation() !== conversation_id) {
    main.dataset.conversation = conversation_id;
    history.pushState(null, "", `/c/${conversation_id}`);
  }
  if (title) retitle(title);
  if (turn.isStopped) stop();
  side.refresh(conversation_id);
  tabs.tell(turn.isVersion ? "branch" : "turn", { conversation: conversation_id, message: message_id });
}

/** The name of the open conversation, wherever the page shows it. */
function retitle(title) {
  document.title = `${title} · Ragsite`;
  byId("topbar-title").textContent = byId("thread-title").textContent = title;
  byId("thread-title").hidden = false;
}

/** A question that was sent and that nobody has taken yet. */
const onItsWay = () => (turn && !turn.messageId ? turn.question : "");

/** The open conversation is gone: to a new chat, with what is in the field. */
function leave() {
  carry(composer.unsent(onItsWay()));
  location.assign("/");
}

/** Go on with a turn that another tab, or this page before it was loaded anew, has begun. */
function follow(element) {
  turn = new RunningTurn(element, element.querySelector(".question").textContent);
  composer.setRunning(true);
  resume();
}

/** The server could not do what it was asked. */
function refused({ code, message }) {
  if (!turn || (turn.messageId && code !== "not_found")) return void toast(message);
  if (restore) {
    takeBack();
    return void toast(message);
  }
  turn.refuse({ code, message }); // also one that was deleted elsewhere while its text came
  turn = null;
  composer.setRunning(false);
}

/** The question that was not taken goes back into the field, and the turns whose place it had onto the page. */
function takeBack() {
  const { question, element } = turn;
  const instead = turn.sent?.instead_of;
  element.remove();
  restore?.();
  restore = null;
  turn = null;
  composer.setRunning(false);
  clearTimeout(lost); // nothing waits for the connection any more
  byId("banner").hidden = true;
  wasLost = false;
  const welcome = byId("welcome");
  if (welcome) {
    welcome.hidden = false;
    main.dataset.empty = "";
  }
  composer.giveBack(question, document.querySelector(`.turn[data-message="${instead}"]`));
}

function resume() {
  connection.send({ type: "resume", message_id: turn.messageId, after: turn.last });
}

/** Go on where the stream broke off. A question that may never have arrived is sent again: its id makes it one. */
function reconnected() {
  if (turn.messageId) return resume();
  if (!connection.waiting.includes(turn.sent)) connection.send(turn.sent);
}

/** A question that has not been sent yet is taken back; one that is on its way is stopped when it is announced. */
function stop() {
  if (!turn) return;
  if (!turn.messageId && connection.withdraw(turn.sent)) return takeBack();
  turn.isStopped = true;
  if (!turn.messageId) return turn.stopping();
  connection.send({ type: "stop", message_id: turn.messageId });
  turn.stopping();
  actions.signal(turn.messageId, "stop");
}

function connected(state) {
  const banner = byId("banner");
  if (state === "open") {
    clearTimeout(lost);
    banner.hidden = true;
    if (wasLost && turn) reconnected();
    wasLost = false;
    return;
  }
  if (wasLost) return;
  wasLost = true;
  lost = setTimeout(() => {
    banner.querySelector("span").textContent = words("offline");
    banner.hidden = false;
  }, LOST_AFTER_MS);
}

/** What Escape closes, the uppermost first. */
function escape() {
  const closed = tooltip.hide() || popover.close() || composer.stopEditing() || evidence.close() || side.closeSheet();
  return closed || (stop(), turn !== null);
}

function keys() {
  const mac = /Mac|iPhone|iPad/.test(navigator.platform);
  for (const hint of document.querySelectorAll("[data-mod-key]")) {
    if (mac) hint.textContent = `⌘${hint.dataset.modKey}`;
  }
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    const typing = event.target.matches("input, textarea, select");
    if (event.key === "Escape" && escape()) event.preventDefault();
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      byId("side-query").focus();
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      byId("question").focus();
    }
    if (evidence.isOpen() && (event.key === "[" || event.key === "]")) evidence.step(event.key === "[" ? -1 : 1);
  });
}

let regenerated = null; // the turn whose menu of ways to answer again is open

/** Style and depth of a way to answer again; what it leaves open is as in the composer. */
function formOf({ dataset }) {
  const { style, depth } = asking.chosen();
  return { style: dataset.style || style, depth: dataset.depth || depth };
}

function clicks() {
  byId("again-menu").addEventListener("popover-open", (event) => {
    regenerated = event.detail.opener.closest(".turn");
    const same = (regenerated.dataset.sameWays ?? "").split(" ");
    for (const way of byId("again-menu").querySelectorAll("[data-again]")) way.hidden = same.includes(way.dataset.style || "none");
  });
  byId("veil").addEventListener("click", () => evidence.close() || side.closeSheet());
  byId("shortcuts-open").addEventListener("click", () => {
    popover.close({ focus: false });
    byId("shortcuts").showModal();
  });
  document.addEventListener("click", (event) => {
    const example = event.target.closest("[data-example]");
    if (example && !turn) {
      if (example.matches(".example")) sets.chooseAll(); // it was checked over all of them
      return composer.send(example.dataset.example);
    }
    const edited = event.target.closest("[data-edit-question]");
    if (edited) return composer.edit(edited.closest(".turn"));
    const way = event.target.closest("[data-again]");
    if (way) {
      const of = regenerated;
      popover.close();
      return turn ? undefined : askAgain(of, { fresh: true, form: formOf(way) });
    }
    const meant = event.target.closest("[data-ask-in]");
    if (meant && !turn) {
      sets.only(Number(meant.dataset.askIn));
      const asked = meant.closest(".turn");
      return ask(asked.querySelector(".question").textContent, { instead: asked });
    }
    const again = event.target.closest("[data-ask-again], [data-ask-unfiltered], [data-ask-everywhere], [data-ask-fresh]");
    if (!again || turn) return;
    const ways = { unfiltered: "[data-ask-unfiltered]", everywhere: "[data-ask-everywhere]", fresh: "[data-ask-fresh]" };
    const wanted = Object.fromEntries(Object.entries(ways).map(([name, way]) => [name, again.matches(way)]));
    askAgain(again.closest(".turn"), wanted);
  });
}

/** A question waits in its field while a file is being read; it goes when the file is ready. */
function askWhenRead() {
  toast(words("attach_wait"));
  attachments.whenRead(() => byId("composer").requestSubmit());
  return false;
}

/** What a slash in an empty field offers. */
function commands() {
  const radios = [...document.querySelectorAll("#asking input")].map(({ name, value, dataset }) => ({
    name: value || (name === "style" ? "style" : "depth"),
    label: words(`command_${name}`, { name: dataset.name }),
    run: () => asking.choose(name, value),
  }));
  return [...radios, { name: "in", label: words("command_in"), run: () => byId("sets-button").click() }];
}

for (const part of [popover, choices, evidence, tooltip, actions, dwell, time, earlier, start, share, announcements]) part.start();
startTurns();
attachments.start({ conversation, files: JSON.parse(byId("attached-start").textContent) });
composer.start({
  mayAsk: () => !attachments.isReading() || askWhenRead(),
  onAsk: (question, instead) => (suggestions.close(), ask(question, { instead })),
  onStop: stop,
});
branches.start({
  isBusy: () => turn !== null,
  follow,
  told: () => tabs.tell("branch", { conversation: conversation() }),
});
sets.start({ conversation });
asking.start();
suggestions.start({ all: commands() });
filters.start({ chosenSets: sets.chosen });
filterSheet.start();
side.start({ conversation, leave, retitle });
keys();
clicks();

addEventListener("popstate", () => location.reload());

tabs.start({
  conversation,
  isBusy: () => turn !== null,
  decorate,
  follow,
  reload: branches.reload,
  refreshList: () => side.refresh(conversation()),
  leave,
  retitle,
  keep: side.keep,
});
followUps.start();
composer.restore(restored());
document.addEventListener("signed-out", () => signedOut(composer.unsent(onItsWay())), { once: true });

const running = document.querySelector(".turn[data-state=running]");
if (running) {
  follow(running);
} else if (!earlier.showPlace()) {
  document.querySelector("#turns > .turn:last-child")?.scrollIntoView();
}
