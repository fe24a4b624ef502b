// Short messages at the bottom, perhaps with a way back.

import { byId } from "./dom.js";

const SHOWN_MS = 6000;

/**
 * Show `text`. With `undo`, a button calls it; `done` runs when the time for undoing is over.
 * Returns a function that ends the toast at once (and runs `done`).
 */
export function toast(text, { undoWords, undo, done } = {}) {
  const box = document.createElement("div");
  box.className = "toast";
  box.append(Object.assign(document.createElement("span"), { textContent: text }));
  let timer;
  const end = (after) => {
    if (!box.isConnected) return;
    clearTimeout(timer);
    box.remove();
    after?.();
  };
  if (undo) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: undoWords });
    button.addEventListener("click", () => end(undo));
    box.append(button);
  }
  const wait = () => (timer = setTimeout(() => end(done), SHOWN_MS));
  box.addEventListener("pointerenter", () => clearTimeout(timer));
  box.addEventListener("pointerleave", wait);
  box.addEventListener("focusin", () => clearTimeout(timer));
  box.addEventListener("focusout", wait);
  const above = innerHeight - byId("composer").closest(".dock").getBoundingClientRect().top;
  byId("toasts").style.bottom = `${above}px`; // nothing that is being written or attached is covered
  byId("toasts").append(box);
  wait();
  return () => end(done);
}
