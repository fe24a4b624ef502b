// The page before the first question: examples that were checked meanwhile, sets to ask in.

import { byId, part, post } from "./dom.js";
import * as sets from "./sets.js";

async function fetchExamples(box) {
  box.style.minHeight = `${box.offsetHeight}px`; // fewer examples than awaited must not move what is below
  try {
    box.innerHTML = await part(box.dataset.url);
  } catch {
    box.replaceChildren();
  }
  box.removeAttribute("aria-busy");
  box.hidden = !box.childElementCount;
}

export function start() {
  byId("tips")?.querySelector("[data-tips-read]").addEventListener("click", () => {
    const form = new FormData();
    form.set("hints", "on");
    post("/preferences", { form }).catch((error) => console.warn("preferences not stored", error));
    byId("tips").remove();
    byId("question").focus();
  });
  const box = byId("examples");
  if (box) fetchExamples(box);
  const earlier = byId("examples-earlier"); // they stay as they are: they are checked for the next visit
  if (earlier) part(earlier.dataset.url).catch((error) => console.warn("examples not checked", error));
  byId("welcome")?.addEventListener("click", (event) => {
    const button = event.target.closest("[data-set]");
    if (!button) return;
    sets.only(Number(button.dataset.set));
    byId("question").focus();
  });
}
