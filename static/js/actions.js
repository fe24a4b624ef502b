// What readers do with an answer: copy it, judge it (D35).

import { byId, post, words } from "./dom.js";
import { close as closePopover, open as openPopover } from "./popover.js";
import { tell } from "./tabs.js";
import { toast } from "./toast.js";

const POOR = 2; // up to which a rating is a complaint
const form = byId("vote");
const messageOf = (element) => element.closest("[data-message]")?.dataset.message;

export function signal(message, kind, value = null) {
  if (!message) return;
  post("/api/v1/signals", { json: { message_id: message, kind, value }, keepalive: true }).catch((error) =>
    console.warn("signal not sent", error),
  );
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return void toast(words("copy_failed"));
  }
  const use = button.querySelector("use");
  const [file, name] = use.getAttribute("href").split("#");
  use.setAttribute("href", `${file}#check`);
  setTimeout(() => use.setAttribute("href", `${file}#${name}`), 1500);
  toast(words("copied"));
}

function showVote(turn, vote) {
  for (const button of turn?.querySelectorAll("[data-vote]") ?? []) {
    button.setAttribute("aria-pressed", String(button.dataset.vote === vote));
  }
}

let lastVote = Promise.resolve();

/** Votes are sent one after the other. What `more` does not say stays as it was; a rating needs no direction. */
function vote(message, direction, more = {}) {
  lastVote = lastVote.catch(() => {}).then(() => sendVote(message, direction, more));
  return lastVote;
}

/** The turn on the page; null where another branch is shown meanwhile. */
const turnOf = (message) => document.querySelector(`.turn[data-message="${message}"]`);

async function sendVote(message, direction, more) {
  const before = turnOf(message)?.querySelector("[data-vote][aria-pressed=true]")?.dataset.vote;
  if (direction) showVote(turnOf(message), direction);
  const given = direction ? { vote: direction } : {};
  try {
    const stored = await post("/api/v1/feedback", { json: { message_id: message, ...given, ...more } });
    const { vote: counted, reasons, comment, rating } = await stored.json();
    showVote(turnOf(message), counted);
    const actions = turnOf(message)?.querySelector(".turn-actions");
    if (actions) {
      actions.dataset.said = JSON.stringify({ reasons, comment, rating });
      actions.querySelector(".rate-number").textContent = rating ?? "";
    }
    tell("changed", { conversation: byId("main").dataset.conversation, message });
    return true;
  } catch (error) {
    showVote(turnOf(message), before);
    toast(words(error.status === 401 ? "signed_out" : "vote_failed"));
    return false;
  }
}

async function clicked(event) {
  const copyAnswer = event.target.closest("[data-copy-answer]");
  const copyCode = event.target.closest(".code-copy");
  const voted = event.target.closest("[data-vote]");
  const given = event.target.closest("[data-rate]");
  const found = event.target.closest(".found-summary");
  const copySources = event.target.closest("[data-copy-sources]");
  const wrong = event.target.closest("[data-wrong-source]");
  if (wrong) {
    event.stopPropagation();
    reportSource(wrong);
  } else if (copySources) {
    const turn = copySources.closest(".turn");
    const [answer, sources] = ["answer-markdown", "answer-sources"].map(
      (name) => turn.querySelector(`.${name}`).content.textContent.trim(),
    );
    await copy(`${answer}\n\n${words("sources")}\n${sources}\n`, copySources);
    signal(messageOf(copySources), "copy", "answer_with_sources");
  } else if (copyAnswer) {
    await copy(copyAnswer.closest(".turn").querySelector(".answer-markdown").content.textContent, copyAnswer);
    signal(messageOf(copyAnswer), "copy", "answer");
  } else if (copyCode) {
    await copy(copyCode.parentElement.querySelector("pre").textContent, copyCode);
    signal(messageOf(copyCode), "copy", "code");
  } else if (voted) {
    event.stopPropagation();
    await judged(voted);
  } else if (given) {
    event.stopPropagation();
    await rate(Number(given.dataset.rate));
  } else if (found) {
    const isOpen = found.getAttribute("aria-expanded") === "true";
    found.setAttribute("aria-expanded", String(!isOpen));
    const steps = byId(found.getAttribute("aria-controls"));
    steps.hidden = isOpen;
    if (!isOpen) showAboveDock(steps);
  }
}

/** Scroll to what has just opened, as far as it takes: the composer lies above the end of the page. */
function showAboveDock(element) {
  element.style.scrollMarginBottom = `${document.querySelector(".dock")?.offsetHeight ?? 0}px`;
  element.scrollIntoView({ block: "nearest" });
}

/** "Helpful" counts at once; "not helpful" asks what was wrong, and counts when that is sent. */
async function judged(button) {
  const message = messageOf(button);
  if (button.dataset.vote === "up") {
    if (await vote(message, "up")) toast(words("thanks"));
    return;
  }
  askWhy(message, button);
}

/** The form for reasons and comment, with what was said before. */
function askWhy(message, opener) {
  const { reasons = [], comment = "" } = saidOf(opener);
  form.reset();
  for (const box of form.elements.reasons) box.checked = reasons.includes(box.value);
  form.elements.comment.value = comment;
  form.dataset.target = message;
  delete form.dataset.source;
  openPopover(form, opener, { above: true });
}

const saidOf = (button) => JSON.parse(button.closest(".turn-actions")?.dataset.said || "{}");

let rated = null; // the button whose menu of ratings is open

/** A rating counts at once; a poor one also asks what was wrong. */
async function rate(value) {
  const message = messageOf(rated);
  closePopover();
  if (!(await vote(message, null, { rating: value }))) return;
  if (value > POOR) return void toast(words("thanks"));
  const opener = turnOf(message)?.querySelector(".rate"); // the turn may have been shown anew meanwhile
  if (opener) askWhy(message, opener);
}

/** A vote down with the source named, for a reviewer; it counts when it is sent. */
function reportSource(button) {
  const { wrongSource: number, title } = button.dataset;
  const message = byId("evidence").querySelector("[data-of-message]").dataset.ofMessage;
  const { reasons = [], comment = "" } = JSON.parse(turnOf(message)?.querySelector(".turn-actions")?.dataset.said || "{}");
  const named = words("wrong_source", { n: number, title });
  form.reset();
  for (const box of form.elements.reasons) box.checked = reasons.includes(box.value) || box.value === "bad_source";
  form.elements.comment.value = [comment, comment.includes(named) ? "" : named].filter(Boolean).join("\n");
  form.dataset.target = message;
  form.dataset.source = number;
  openPopover(form, button, { above: true });
}

/** Where the files of an answer or a conversation are. */
function exportsOf(menu, opener) {
  const address = opener.closest("[data-export]").dataset.export;
  for (const link of menu.querySelectorAll("[data-kind]")) link.href = `${address}?kind=${link.dataset.kind}`;
}

export function start() {
  for (const menu of [byId("export-menu"), byId("conversation-menu")]) {
    menu.addEventListener("popover-open", (event) => exportsOf(menu, event.detail.opener));
    menu.addEventListener("click", (event) => event.target.closest("[data-kind]") && closePopover());
  }
  byId("rate-menu").addEventListener("popover-open", (event) => {
    rated = event.detail.opener;
    const { rating } = saidOf(rated);
    for (const item of byId("rate-menu").querySelectorAll("[data-rate]")) {
      item.setAttribute("aria-checked", String(Number(item.dataset.rate) === rating));
    }
  });
  document.addEventListener("click", clicked);
  document.addEventListener("copy", () => {
    const node = getSelection()?.anchorNode?.parentElement;
    const report = node?.closest(".turn .report");
    const source = node?.closest("#evidence [data-of-message]");
    if (source) signal(source.dataset.ofMessage, "copy", Number(source.dataset.number));
    else if (report) signal(messageOf(report), "copy", "selection");
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = new FormData(form);
    const { target, source } = form.dataset;
    closePopover();
    if (source) signal(target, "wrong_source", Number(source));
    const more = { reasons: values.getAll("reasons"), comment: values.get("comment").trim() };
    if (await vote(target, "down", more)) toast(words("thanks_down"));
  });
}
