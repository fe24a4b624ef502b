// The question field: grows with its text, Enter sends, stop stands where send was.

import { byId, formatted, words } from "./dom.js";

const field = byId("question");
const limit = Number(field.dataset.max);

let running = false;
let asking = { mayAsk: () => false, onAsk: () => {} };

export const text = () => field.value.trim();

let edited = null; // the turn whose question is in the field, to be asked in other words
let draft = ""; // what was being written when the editing began

/** Put the question of a turn into the field; what is asked then is another version of the turn. */
export function edit(turn) {
  begin(turn, turn.querySelector(".question").textContent);
}

function begin(turn, question) {
  if (!edited) draft = field.value;
  edited = turn;
  byId("editing").hidden = false;
  field.value = question;
  refresh();
  field.focus();
  field.setSelectionRange(question.length, question.length);
}

/** Leave the earlier question as it is; false where none was being edited. What was written before comes back. */
export function stopEditing() {
  if (!edited) return false;
  edited = null;
  byId("editing").hidden = true;
  field.value = draft;
  draft = "";
  refresh();
  field.focus();
  return true;
}

/** A question that was sent and not taken; `turn`: the one whose place it was to take. What is in the field is kept. */
export function giveBack(question, turn) {
  const written = unsent();
  stopEditing();
  field.value = turn ? written : joined(question, written);
  if (turn) return begin(turn, question);
  refresh();
  field.focus();
}

const joined = (...texts) => texts.filter((text) => text.trim()).join("\n");

/** Everything that was written and is sent nowhere: a question on its way, the field, and what stood there before. */
export function unsent(question = "") {
  const isUnchanged = edited && text() === edited.querySelector(".question").textContent.trim();
  return joined(question, isUnchanged ? "" : field.value, edited ? draft : "");
}

/** Put a text into the field that was written earlier, unless there is one. */
export function restore(kept) {
  if (!kept || field.value) return;
  field.value = kept;
  refresh();
  field.focus();
}

/** Ask a question that somebody else has written, as a new one. What the reader has begun to write stays in the field. */
export function send(question) {
  if (running || !asking.mayAsk()) return;
  const isChanged = edited && text() !== edited.querySelector(".question").textContent.trim();
  const written = edited && !isChanged ? draft : field.value;
  stopEditing();
  field.value = written;
  ask(question, null);
  field.focus();
}

function ask(question, turn) {
  field.placeholder = field.dataset.nextPlaceholder;
  refresh();
  asking.onAsk(question, turn);
}

export function setRunning(value) {
  running = value;
  const stopHadFocus = document.activeElement === byId("stop");
  byId("stop").hidden = !value;
  byId("send").hidden = value;
  if (stopHadFocus && !value) field.focus();
  refresh();
}

function refresh() {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
  const over = text().length - limit;
  const count = byId("count");
  count.hidden = over <= 0;
  count.toggleAttribute("data-over", over > 0);
  count.textContent = over > 0 ? words("too_long", { n: formatted(over) }) : "";
  byId("send").disabled = running || !text() || over > 0;
}

/** `onAsk(question, turn)`, with the turn whose question was edited, or null, if `mayAsk()`; and `onStop()`. */
export function start({ mayAsk, onAsk, onStop }) {
  asking = { mayAsk, onAsk };
  const submit = () => {
    if (byId("send").disabled || !mayAsk()) return;
    const question = text();
    const turn = edited?.isConnected ? edited : null;
    const kept = edited ? draft : "";
    edited = null;
    draft = "";
    byId("editing").hidden = true;
    field.value = kept;
    ask(question, turn);
  };
  byId("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  field.addEventListener("input", refresh);
  field.addEventListener("keydown", (event) => {
    // 229 and isComposing: Enter chooses a candidate of the input method, it does not send
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    submit();
  });
  byId("stop").addEventListener("click", onStop);
  byId("editing-cancel").addEventListener("click", stopEditing);
  refresh();
}
