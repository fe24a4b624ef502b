// The chat in the frame on another page: who is there comes from that page as a token, and stays in memory only.

import * as attachments from "./attachments.js";
import { access, announce, byId, parsed, part, words } from "./dom.js";
import * as composer from "./composer.js";
import * as evidence from "./evidence.js";
import * as popover from "./popover.js";
import { Connection } from "./socket.js";
import * as time from "./time.js";
import { toast } from "./toast.js";
import { RunningTurn, decorate, start as startTurns } from "./turns.js";
import * as votes from "./votes.js";

const TOKEN_WAIT_MS = 20000;
const RENEW_BEFORE_S = 60;
const LOST_AFTER_MS = 1500;
const FILES = "/attachments";
const QUICK_MS = 10000; // a session that ends sooner is not asked for again by itself

const main = byId("main");
const { lang, themeChoice } = main.dataset;
const hosts = JSON.parse(main.dataset.hosts);
const says = byId("words").dataset;

let host = null; // the origin of the page around, once it has spoken and is one of `hosts`
let bearer = ""; // of the session
let connectedAs = ""; // the bearer with which the connection was opened
let person = null;
let opened = 0; // when the session began
let opening = null; // the promise of one that is being opened
let giveToken = null; // resolves the promise of a token that the page was asked for
let renewal = 0;
let conversation = "";
let kept = {}; // what the page around has kept of the page before: person and conversation
let turn = null; // the running one
let takenBack = null; // the turns whose place the running one takes
let wantsFocus = false;
let wasLost = false;
let lost = 0;

access.prefix = location.pathname.replace(/\/preview$/, "");

const tell = (kind, more = {}) => host && parent.postMessage({ ragsite: kind, ...more }, host);

const connection = new Connection({
  onEvent: (event) => (queue = queue.then(() => received(event))),
  onState: connected,
  isNeeded: () => turn !== null && bearer !== "",
  path: `/ws/embed?lang=${lang}`,
  protocols: () => ["ragsite.embed", (connectedAs = bearer)],
});
let queue = Promise.resolve();

// ── the page around ──────────────────────────────────────────────────────────────────────────────

addEventListener("message", ({ source, origin, data }) => {
  if (source !== parent || !hosts.includes(origin) || typeof data !== "object" || data === null) return;
  host = origin;
  if (data.ragsite === "hello") {
    showTheme(data.theme);
    if (typeof data.kept === "object" && data.kept !== null) kept = data.kept;
    tell("started");
    if (!bearer) open();
  } else if (data.ragsite === "token") giveToken?.(typeof data.token === "string" ? data.token : "");
  else if (data.ragsite === "theme") showTheme(data.theme);
  else if (data.ragsite === "focus" && (data.end === "first" || data.end === "last")) focusEnd(data.end);
  else if (data.ragsite === "focus") {
    wantsFocus = bearer === ""; // it takes the focus when it can be used
    byId("question").focus();
  }
});

/** The page around sends the focus back here: to the first or the last that can have it. */
function focusEnd(end) {
  const able = "a[href], button, textarea, input:not([type=file]), summary, [tabindex='0']";
  const all = [...document.querySelectorAll(able)].filter((one) => !one.disabled && one.checkVisibility());
  all.at(end === "first" ? 0 : -1)?.focus();
}

function showTheme(theme) {
  const choice = themeChoice === "auto" ? theme : themeChoice;
  document.documentElement.dataset.theme = choice === "dark" ? "dark" : "light";
}

/** A token of the page; "" where it has none. */
function askToken() {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(""), TOKEN_WAIT_MS);
    giveToken = (token) => {
      clearTimeout(timer);
      giveToken = null;
      resolve(token);
    };
    tell("token");
  });
}

// ── the session ──────────────────────────────────────────────────────────────────────────────────

/** Open a session, or another one before the first ends; one at a time. Resolves to whether there is one. */
function open() {
  opening ??= begin().finally(() => (opening = null));
  return opening;
}

async function begin() {
  const wasOpen = bearer !== "";
  if (!wasOpen) announce(says.opening);
  const token = await askToken();
  if (!token) return wasOpen || bar(person === null ? says.noToken : says.over);
  const headers = { "Content-Type": "application/json", "Accept-Language": lang };
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  const body = JSON.stringify({ token, origin: host });
  const answer = await fetch(`${access.prefix}/session`, { method: "POST", headers, body, credentials: "omit" }).catch(() => null);
  const data = await answer?.json().catch(() => null);
  if (!answer?.ok || !data) {
    console.warn("the chat was not opened:", data?.code ?? "no answer", data?.reason ?? "");
    return bar(data?.message ?? says.failed);
  }
  await entered(data);
  return true;
}

/** Without a bearer nobody can ask. */
function hold(value) {
  bearer = value;
  main.toggleAttribute("data-open", value !== "");
}

async function entered({ session, seconds, person: name, person_id: id }) {
  const isOther = person !== null && person !== id;
  hold(session);
  opened = Date.now();
  access.headers = { Authorization: `Bearer ${session}`, "Accept-Language": lang };
  clearTimeout(renewal);
  renewal = setTimeout(open, Math.max(seconds - RENEW_BEFORE_S, seconds / 2) * 1000);
  if (isOther) forget(); // the page vouches for somebody else now: nothing of the last person stays
  byId("person").textContent = byId("person").dataset.words.replace("{name}", name);
  byId("person").hidden = false;
  byId("barrier").hidden = true;
  const isFirst = person !== id;
  person = id;
  if (isFirst) await restore();
  byId("question").disabled = byId("attach").disabled = false;
  if (wantsFocus) byId("question").focus();
  wantsFocus = false;
  connection.retryNow();
}

/** Nobody can ask: say why. */
function bar(text) {
  hold("");
  access.headers = {};
  clearTimeout(renewal);
  connection.reset();
  wasLost = turn !== null;
  byId("barrier-text").textContent = text;
  byId("barrier").hidden = false;
  byId("question").disabled = byId("attach").disabled = true;
  return false;
}

/** The session is over before its time: the person was deactivated, the chat disabled, a key removed. */
function ended() {
  if (!bearer) return;
  if (opening || connectedAs !== bearer) {
    // the connection was of the session before, which ends when another one begins
    wasLost = turn !== null;
    if (!opening) connection.retryNow();
    return;
  }
  const quick = Date.now() - opened < QUICK_MS;
  hold("");
  wasLost = turn !== null;
  if (quick) bar(says.over);
  else open();
}

// ── the conversation ─────────────────────────────────────────────────────────────────────────────

/** The page around keeps the address of the conversation for its next page: browsers may give frames no storage. */
const remember = () => tell("keep", { kept: { person, conversation } });

/** What was said on the page before this one. */
async function restore() {
  const { person: of, conversation: last } = kept;
  if (of !== person || typeof last !== "string" || !/^[0-9a-f-]{36}$/.test(last)) return;
  const html = await part(`/conversations/${last}`).catch(() => "");
  const content = parsed(html);
  if (!content.querySelector(".turn")) return;
  conversation = last;
  decorate(content);
  byId("turns").replaceChildren(content);
  byId("welcome").hidden = true;
  time.refresh();
  const files = await part(`${FILES}?conversation_id=${last}`).catch(() => "");
  if (files) attachments.showAll(JSON.parse(files).results);
  const running = byId("turns").querySelector(".turn[data-state=running]");
  if (running) follow(running);
  main.scrollTop = main.scrollHeight;
}

function forget() {
  evidence.close();
  popover.close();
  attachments.clear();
  connection.reset(); // it is of the person before
  turn = null;
  conversation = "";
  byId("turns").replaceChildren();
  byId("welcome").hidden = false;
  composer.setRunning(false);
  remember();
}

function follow(element) {
  turn = new RunningTurn(element, element.querySelector(".question").textContent);
  composer.setRunning(true);
  resume();
}

function ask(question, { fresh = false, instead = null } = {}) {
  takenBack = null;
  if (instead) {
    const gone = [...byId("turns").children];
    takenBack = gone.slice(gone.indexOf(instead));
    for (const element of takenBack) element.remove();
  }
  const after = byId("turns").lastElementChild?.dataset.message;
  turn = RunningTurn.begin(question, {});
  composer.setRunning(true);
  turn.sent = {
    type: "ask",
    id: newId(),
    question,
    ...(conversation && { conversation_id: conversation }),
    attachments: attachments.chosen(),
    ...(fresh && { cache: false }),
    ...(instead ? { instead_of: instead.dataset.message } : after && { after }),
  };
  connection.send(turn.sent);
}

/** A question waits in its field while a file is being read; it goes when the file is ready. */
function askWhenRead() {
  toast(words("attach_wait"));
  attachments.whenRead(() => byId("composer").requestSubmit());
  return false;
}

/** A random UUID, also where the page is served without TLS and has no `crypto.randomUUID`. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20)].join("-");
}

async function received(event) {
  if (event.type === "problem") return refused(event);
  if (!turn) return;
  if (event.type === "turn") {
    turn.identify(event.message_id);
    attachments.taken(turn.sent?.attachments ?? []);
    takenBack = null;
    conversation = event.conversation_id;
    remember();
    if (turn.isStopped) stop();
  } else if (await turn.apply(event)) {
    turn = null;
    composer.setRunning(false);
  }
}

function refused({ code: problem, message }) {
  if (problem === "not_authenticated") return ended();
  if (!turn) return say(message);
  if (problem === "not_found" && turn.sent?.conversation_id && !turn.messageId) {
    // it goes on elsewhere, or was deleted: a new one begins here
    const { conversation_id: _gone, after: _after, instead_of: _instead, ...rest } = turn.sent;
    conversation = "";
    for (const element of [...byId("turns").children]) if (element !== turn.element) element.remove();
    turn.sent = rest;
    return connection.send(rest);
  }
  if (turn.messageId && problem !== "not_found") return say(message);
  if (takenBack) {
    turn.element.replaceWith(...takenBack);
    say(message);
  } else turn.refuse({ code: problem, message });
  takenBack = null;
  turn = null;
  composer.setRunning(false);
}

function say(text) {
  byId("banner").querySelector("span").textContent = text;
  byId("banner").hidden = false;
  setTimeout(() => (byId("banner").hidden = true), 6000);
}

const resume = () => connection.send({ type: "resume", message_id: turn.messageId, after: turn.last });

function stop() {
  if (!turn) return;
  if (!turn.messageId && connection.withdraw(turn.sent)) {
    const { question, element } = turn;
    element.remove();
    turn = null;
    composer.setRunning(false);
    return composer.giveBack(question, null);
  }
  turn.isStopped = true;
  turn.stopping();
  if (turn.messageId) connection.send({ type: "stop", message_id: turn.messageId });
}

function connected(state) {
  if (state === "open") {
    clearTimeout(lost);
    byId("banner").hidden = true;
    if (wasLost && turn) {
      if (turn.messageId) resume();
      else connection.send(turn.sent); // it may never have arrived; its id makes it one
    }
    wasLost = false;
  } else if (!wasLost) {
    wasLost = true;
    lost = setTimeout(() => {
      byId("banner").querySelector("span").textContent = words("offline");
      byId("banner").hidden = false;
    }, LOST_AFTER_MS);
  }
}

// ── the reader ───────────────────────────────────────────────────────────────────────────────────

startTurns();
evidence.start();
time.start();
popover.start();
votes.start({ url: "/feedback" });
attachments.start({ conversation: () => conversation, url: FILES, isPassing: true });
composer.start({ mayAsk: () => !turn && bearer !== "" && (!attachments.isReading() || askWhenRead()), onAsk: (question) => ask(question), onStop: stop });
document.addEventListener("signed-out", ended);
document.addEventListener("turn-finished", () => {
  if (turn && !turn.element.isConnected) turn = null;
});
byId("barrier-again").addEventListener("click", open);
byId("new-chat").addEventListener("click", () => {
  if (turn) stop();
  forget();
  byId("question").focus();
});
byId("close-chat").addEventListener("click", () => tell("close"));
byId("veil").addEventListener("click", () => evidence.close());
document.addEventListener("click", ({ target }) => {
  const again = target.closest("[data-ask-again], [data-ask-fresh]");
  const element = again?.closest(".turn");
  if (!element || turn || !bearer) return;
  const question = element.querySelector(".question").textContent;
  if (element.dataset.message) ask(question, { fresh: true, instead: element });
  else {
    element.remove();
    ask(question);
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing) return;
  event.preventDefault();
  if (!popover.close() && !evidence.close()) tell("close");
});
showTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
