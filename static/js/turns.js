// Turns on the page: new ones, running ones, finished ones.

import { announce, byId, formatted, fromTemplate, parsed, part, words } from "./dom.js";
import { ThinkingLine } from "./thinking.js";
import { refresh as refreshTimes } from "./time.js";

const NEAR_END_PX = 80;
const LAST_WORD = /(?:[\u2e80-\uffef]|[^\s\u2e80-\uffef]{1,24}) ?$/;
const SLOW_SECONDS = 3; // from which a wait is counted on the page
const FIRST_PAUSE_MS = 1000; // before a stored turn is asked for again
const LONGEST_PAUSE_MS = 30000;
const CLOSING = /^[.,;:!?)。，；：、！？）]/;

const main = byId("main");
const isCjk = (text) => /[\u3400-\u9fff]/.test(text);

const atEnd = () => main.scrollHeight - main.scrollTop - main.clientHeight < NEAR_END_PX;

let following = true; // the reader is at the end, or where the page went by itself
let held = null; // the turn whose question stays in view, until the reader goes to the end
let placed = 0; // where the page went by itself

/** Go along with the text, but never so far that the beginning of the answer leaves the view. */
function follow() {
  const end = main.scrollHeight - main.clientHeight;
  const margin = held ? parseFloat(getComputedStyle(held).scrollMarginTop) : 0;
  const start = held
    ? main.scrollTop + held.getBoundingClientRect().top - main.getBoundingClientRect().top - margin
    : Infinity;
  placed = Math.max(0, Math.min(end, start));
  main.scrollTop = placed;
}

function toEnd() {
  following = true;
  held = null;
  follow();
}

/** Run a change of the page; the view follows if the reader has not gone elsewhere. */
function change(action) {
  action();
  if (following) follow();
  byId("to-end").hidden = atEnd();
}

function scrolled() {
  const byPage = Math.abs(main.scrollTop - placed) < 2;
  following = byPage || atEnd();
  if (!byPage) held = null;
  byId("to-end").hidden = atEnd();
}

export function start() {
  main.addEventListener("scroll", scrolled, { passive: true });
  byId("to-end").addEventListener("click", toEnd);
  decorate(byId("turns"));
}

/** What only scripts can add: copy buttons, tables that scroll by keyboard, citations that stay with their word. */
export function decorate(root) {
  for (const table of root.querySelectorAll("table")) {
    if (table.closest(".table-box")) continue;
    const box = Object.assign(document.createElement("div"), { className: "table-box", tabIndex: 0 });
    table.replaceWith(box);
    box.append(table);
  }
  for (const chip of root.querySelectorAll(".cite")) keepTogether(chip);
  for (const pre of root.querySelectorAll("pre")) {
    if (pre.closest(".code-box")) continue;
    pre.tabIndex = 0;
    const box = Object.assign(document.createElement("div"), { className: "code-box" });
    pre.replaceWith(box);
    box.append(pre, fromTemplate("code-copy-template"));
  }
}

/** A citation stays on the line of the word before it, and a full stop on the line of the citation. */
function keepTogether(chip) {
  if (chip.parentElement.className === "nowrap") return;
  const { previousSibling: before, nextSibling: after } = chip;
  const box = Object.assign(document.createElement("span"), { className: "nowrap" });
  chip.before(box);
  const word = before?.nodeType === Node.TEXT_NODE && LAST_WORD.exec(before.data);
  if (word) box.append(before.splitText(word.index));
  box.append(chip);
  if (after?.nodeType === Node.TEXT_NODE && CLOSING.test(after.data)) {
    after.splitText(1);
    box.append(after);
  }
}

/** Unfinished Markdown as readable text; the finished block replaces it in a moment. */
function plain(markdown) {
  return markdown
    .replace(/^\|[-:| ]+\|?$\n?/gm, "")
    .replace(/^[ \t]*\|[ \t]*|[ \t]*\|[ \t]*$/gm, "")
    .replace(/ *\| */g, " · ")
    .replace(/^#{1,6} +|\*\*|`{1,3}|~~/gm, "")
    .replace(/^([ \t]*)[-*] /gm, "$1• ")
    .replace(/(?<!\\)\*(?=\S)|(?<=[^\s\\])\*/g, "")
    .replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

/** What became of a question, for those who do not see it; "" for a failure, which is an alert of its own. */
function outcome(turn) {
  const { notice } = turn.dataset;
  if (notice === "failed") return "";
  if (["stopped", "refused", "search_results", "conversation"].includes(notice)) return words(`answer_${notice}`);
  const sources = turn.querySelectorAll(".turn-sources > .sources > .source");
  return words("answer_complete", { n: formatted(sources.length) });
}

/** The citation in `fresh` that takes the place of the one in `old` that has the focus; null where none has it. */
function sameCitation(old, fresh) {
  const chip = old.contains(document.activeElement) && document.activeElement.closest(".cite");
  if (!chip) return null;
  const { cite, place } = chip.dataset;
  const same = [...fresh.querySelectorAll(`.cite[data-cite="${cite}"]`)];
  return same.find((one) => one.dataset.place === place) ?? same[0];
}

/** Resolves after a pause, or when the network comes back. */
const online = (pause) =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, pause);
    addEventListener("online", done);
  });

/** A question that is being answered. */
export class RunningTurn {
  constructor(element, question) {
    Object.assign(this, { element, question, messageId: element.dataset.message || null, last: 0, steps: {}, begun: new Set() });
    this.report = element.querySelector(".report");
    this.tail = element.querySelector(".tail");
    this.stages = element.querySelector(".stages-text");
    this.rounds = element.querySelector(".rounds");
    this.thinking = new ThinkingLine(element.querySelector(".thinking"));
    this.count();
  }

  static begin(question, filters) {
    const element = fromTemplate("turn-template");
    if (Object.keys(filters).length) element.dataset.filters = JSON.stringify(filters);
    const lang = isCjk(question) ? "zh-Hans" : "en";
    for (const part of element.querySelectorAll(".question, .report, .tail")) part.lang = lang;
    const heading = element.querySelector(".question");
    heading.textContent = question;
    heading.toggleAttribute("data-long", question.length > 140);
    const welcome = byId("welcome");
    if (welcome) welcome.hidden = true; // it comes back with a question that is taken back
    delete main.dataset.empty;
    byId("turns").append(element);
    toEnd();
    held = element;
    return new RunningTurn(element, question);
  }

  identify(messageId) {
    this.messageId = messageId;
    this.element.id = `turn-${messageId}`;
    this.element.dataset.message = messageId;
  }

  /** A wait of more than a moment shows its seconds. */
  count() {
    const place = this.element.querySelector(".stages-time");
    const began = new Date(place.dataset.since ?? Date.now()).getTime();
    const format = new Intl.NumberFormat(document.documentElement.lang, { style: "unit", unit: "second" });
    this.counting = setInterval(() => {
      const seconds = Math.floor((Date.now() - began) / 1000);
      if (!place.isConnected) clearInterval(this.counting);
      else if (seconds >= SLOW_SECONDS) place.textContent = format.format(seconds);
    }, 1000);
  }

  /** Apply one event of the stream. Returns true when it was the last one. */
  async apply({ id, type, data }) {
    if (id <= this.last) return false;
    this.last = id;
    if (type === "step") change(() => this.step(data));
    if (type === "thought") change(() => this.thinking.add(data));
    if (type === "block") change(() => this.addBlock(data));
    if (type === "tail") change(() => this.showTail(data.text));
    if (type === "citations") this.element.dataset.citations = JSON.stringify(data.citations);
    if (type === "error") await this.finish(() => change(() => this.fail(data)));
    if (type === "done") await this.finish(() => this.finishLater());
    return type === "done" || type === "error";
  }

  say(text) {
    if (!text || this.stages.textContent === text) return;
    this.stages.textContent = text;
    announce(text);
  }

  /** What is being done; steps of a way in rounds (they have a `round`) stay on the page until the text begins. */
  step(data) {
    const inRounds = data.round !== undefined;
    const key = `${data.name} ${data.round}`;
    if (this.begun.has(key)) return; // its end: what the reader waits for has been said when it began
    if (data.data?.begins) this.begun.add(key);
    if (this.doing) this.keep(this.doing);
    this.doing = inRounds ? data.detail : "";
    this.say(inRounds ? data.detail : this.stepWords(data));
  }

  /** What the reader asked for is on its way. */
  stopping() {
    this.say(words("stopping"));
  }

  keep(text) {
    this.rounds.append(Object.assign(document.createElement("li"), { textContent: text }));
    this.rounds.hidden = this.rounds.childElementCount < 2 || this.hasText;
  }

  /** "12,431 passages searched… 80 ranked… writing…": each step adds its part to the line. */
  stepWords({ name, detail, count }) {
    const n = count === undefined ? "" : formatted(count);
    const known = { search: "searching", searched: "searched_n", rerank: "reranked_n", write: "writing" };
    if (!(name in known)) return typeof detail === "string" ? detail : "";
    this.steps[name] = words(known[name], { n });
    const { search, searched = search, rerank, write } = this.steps;
    return [searched, rerank, write].filter(Boolean).join(" ");
  }

  get hasText() {
    return Boolean(this.report.childElementCount || this.tail.textContent);
  }

  addBlock({ html }) {
    const block = parsed(html);
    decorate(block);
    this.report.append(block);
    this.showTail("");
  }

  showTail(text) {
    if (text) this.thinking.end();
    this.tail.textContent = plain(text);
    this.rounds.hidden ||= this.hasText;
  }

  /** Show the turn as it is stored, or do `otherwise` where it cannot be fetched now. */
  async finish(otherwise) {
    if (!(await this.showStored())) otherwise();
    this.element.dispatchEvent(new CustomEvent("turn-finished", { bubbles: true }));
  }

  /** The stored turn takes the place of the streamed one: same text, with support marks, sources and actions. */
  async showStored() {
    const html = await part(`/messages/${this.messageId}`).catch((error) => {
      this.isGone = error.status === 404;
      return "";
    });
    const fresh = parsed(html).querySelector(".turn");
    if (!fresh || fresh.dataset.state === "running") return false;
    decorate(fresh);
    if (held === this.element) held = fresh;
    const chip = sameCitation(this.element, fresh);
    const opened = this.thinking.element?.contains(document.activeElement) && document.activeElement;
    this.thinking.moveTo(fresh);
    change(() => this.element.replaceWith(fresh));
    if (opened) opened.focus({ preventScroll: true });
    chip?.focus({ preventScroll: true });
    announce(outcome(fresh));
    this.element = fresh;
    refreshTimes();
    return true;
  }

  /** The text is there, sources and actions are not: ask for them until they come, or the turn has left the page. */
  async finishLater() {
    this.element.querySelector(".stages").hidden = true;
    this.thinking.end();
    this.element.setAttribute("aria-busy", "false");
    for (let pause = FIRST_PAUSE_MS; this.element.isConnected && !this.isGone; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      await online(pause);
      if (this.element.isConnected && (await this.showStored())) {
        this.element.dispatchEvent(new CustomEvent("turn-finished", { bubbles: true }));
        return;
      }
    }
  }

  fail({ code = "", message = "" }) {
    this.element.querySelector(".stages")?.remove();
    this.rounds.remove();
    this.thinking.end();
    this.showTail("");
    const notice = fromTemplate("failed-template");
    notice.querySelector(".failed-text").textContent = message || words("failed_safe");
    notice.querySelector("code").textContent = code;
    this.report.after(notice);
    this.element.dataset.state = "failed";
    this.element.setAttribute("aria-busy", "false");
  }

  /** The server did not take it, or has it no more. */
  refuse(problem) {
    this.fail(problem);
    this.element.dispatchEvent(new CustomEvent("turn-finished", { bubbles: true }));
  }
}
