// What readers do with an answer: copy it, rate it, report a source (D35).

import { byId, post, words } from "./dom.js";
import { close as closePopover } from "./popover.js";
import { tell } from "./tabs.js";
import { toast } from "./toast.js";
import * as votes from "./votes.js";
import { askWhy, messageOf, saidOf, turnOf, vote } from "./votes.js";

const POOR = 2; // up to which a rating is a complaint

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

async function clicked(event) {
  const copyAnswer = event.target.closest("[data-copy-answer]");
  const copyCode = event.target.closest(".code-copy");
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
  askWhy(message, button, { source: number, named: words("wrong_source", { n: number, title }) });
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
    const { rating } = saidOf(messageOf(rated));
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
  votes.start({
    url: "/api/v1/feedback",
    onChange: (message) => tell("changed", { conversation: byId("main").dataset.conversation, message }),
    onWrongSource: (message, number) => signal(message, "wrong_source", number),
  });
}
