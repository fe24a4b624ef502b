// What a model thinks before it writes: a closed line with the seconds, the text on request, on this page only.

import { words } from "./dom.js";

const TICK_MS = 1000;
const NEAR_END_PX = 24;

/** The line of one turn. Its element stays on the page when the stored turn takes the place of the running one. */
export class ThinkingLine {
  constructor(element) {
    this.element = element;
    this.said = element?.querySelector(".thinking-words");
    this.text = element?.querySelector(".thinking-text");
  }

  /** One event: the text that is new, and the seconds of thinking until then. */
  add({ content = "", seconds = 0, is_over: isOver = false }) {
    if (!this.element) return;
    const isAtEnd = this.text.scrollHeight - this.text.scrollTop - this.text.clientHeight < NEAR_END_PX;
    this.text.append(content); // as text, never as markup
    if (isAtEnd) this.text.scrollTop = this.text.scrollHeight;
    this.element.hidden = false;
    this.seconds = seconds;
    this.since = Date.now();
    if (isOver) this.end();
    else this.run();
  }

  run() {
    this.show("thinking_time", this.seconds);
    this.ticking ??= setInterval(() => {
      if (!this.element.isConnected) this.stop();
      else this.show("thinking_time", this.seconds + (Date.now() - this.since) / 1000);
    }, TICK_MS);
  }

  /** The text begins, or the answer is over. */
  end() {
    this.stop();
    if (this.seconds !== undefined) this.show("thought_time", this.seconds);
  }

  stop() {
    clearInterval(this.ticking);
    this.ticking = undefined;
  }

  show(name, seconds) {
    const format = new Intl.NumberFormat(document.documentElement.lang, { style: "unit", unit: "second" });
    this.said.textContent = words(name, { time: format.format(Math.max(1, Math.floor(seconds))) });
  }

  /** Into the stored turn, before its text. */
  moveTo(turn) {
    if (this.seconds === undefined) return;
    this.end();
    turn.querySelector(".report")?.before(this.element);
  }
}
