// Judging an answer: helpful at once, not helpful with reasons and a comment (D35).

import { byId, post, words } from "./dom.js";
import { close as closePopover, open as openPopover } from "./popover.js";
import { toast } from "./toast.js";

const form = byId("vote");
export const messageOf = (element) => element.closest("[data-message]")?.dataset.message;
let address = "";
let onJudged = () => {};

function showVote(turn, vote) {
  for (const button of turn?.querySelectorAll("[data-vote]") ?? []) {
    button.setAttribute("aria-pressed", String(button.dataset.vote === vote));
  }
}

let lastVote = Promise.resolve();

/** Votes are sent one after the other. What `more` does not say stays as it was; a rating needs no direction. */
export function vote(message, direction, more = {}) {
  lastVote = lastVote.catch(() => {}).then(() => sendVote(message, direction, more));
  return lastVote;
}

/** The turn on the page; null where another branch is shown meanwhile. */
export const turnOf = (message) => document.querySelector(`.turn[data-message="${message}"]`);

async function sendVote(message, direction, more) {
  const before = turnOf(message)?.querySelector("[data-vote][aria-pressed=true]")?.dataset.vote;
  if (direction) showVote(turnOf(message), direction);
  const given = direction ? { vote: direction } : {};
  try {
    const stored = await post(address, { json: { message_id: message, ...given, ...more } });
    const { vote: counted, reasons, comment, rating } = await stored.json();
    showVote(turnOf(message), counted);
    const actions = turnOf(message)?.querySelector(".turn-actions");
    if (actions) {
      actions.dataset.said = JSON.stringify({ reasons, comment, rating });
      const number = actions.querySelector(".rate-number");
      if (number) number.textContent = rating ?? "";
    }
    onJudged(message);
    return true;
  } catch (error) {
    showVote(turnOf(message), before);
    toast(words(error.status === 401 ? "signed_out" : "vote_failed"));
    return false;
  }
}

/** "Helpful" counts at once; "not helpful" asks what was wrong, and counts when that is sent. */
export async function judged(button) {
  const message = messageOf(button);
  if (button.dataset.vote === "up") {
    if (await vote(message, "up")) toast(words("thanks"));
    return;
  }
  askWhy(message, button);
}

/** What has been said of a turn before, by any element in it or by its message. */
export const saidOf = (message) => JSON.parse(turnOf(message)?.querySelector(".turn-actions")?.dataset.said || "{}");

/** The form for reasons and comment, with what was said before; `source`: the number of a wrong one, `named` in words. */
export function askWhy(message, opener, { source = null, named = "" } = {}) {
  const { reasons = [], comment = "" } = saidOf(message);
  form.reset();
  for (const box of form.elements.reasons) {
    box.checked = reasons.includes(box.value) || (source !== null && box.value === "bad_source");
  }
  form.elements.comment.value = [comment, comment.includes(named) ? "" : named].filter(Boolean).join("\n");
  form.dataset.target = message;
  if (source === null) delete form.dataset.source;
  else form.dataset.source = source;
  openPopover(form, opener, { above: true });
}

/** `url`: where judgements are sent; `onChange(message)` after each; `onWrongSource(message, number)`. */
export function start({ url, onChange = () => {}, onWrongSource = () => {} }) {
  address = url;
  onJudged = onChange;
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-vote]");
    if (!button) return;
    event.stopPropagation();
    judged(button);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const values = new FormData(form);
    const { target, source } = form.dataset;
    closePopover();
    if (source) onWrongSource(target, Number(source));
    const more = { reasons: values.getAll("reasons"), comment: values.get("comment").trim() };
    if (await vote(target, "down", more)) toast(words("thanks_down"));
  });
}
