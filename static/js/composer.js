// The question field: grows with its text, Enter sends, stop stands where send was.

import { byId, formatted, words } from "./dom.js";

const field = byId("question");
const limit = Number(field.dataset.max);

let running = false;

export const text = () => field.value.trim();

/** Put an earlier question into the field, to be asked in other words; the earlier turn stays. */
export function edit(question) {
  field.value = question;
  refresh();
  field.focus();
  field.setSelectionRange(question.length, question.length);
}

/** Put a text into the field that was written earlier, unless there is one. */
export function restore(kept) {
  if (!kept || field.value) return;
  field.value = kept;
  refresh();
  field.focus();
}

/** Ask a question that somebody else has written. */
export function send(question) {
  field.value = question;
  refresh();
  byId("composer").requestSubmit();
  field.focus();
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

/** `onAsk(question)` and `onStop()`. */
export function start({ onAsk, onStop }) {
  const submit = () => {
    if (byId("send").disabled) return;
    const question = text();
    field.value = "";
    field.placeholder = field.dataset.nextPlaceholder;
    refresh();
    onAsk(question);
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
  refresh();
}
