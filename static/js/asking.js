// Style and depth of the answer: remembered for the person, on every device.

import { byId, post } from "./dom.js";

const box = byId("asking");
const radios = (name) => [...box.querySelectorAll(`input[name=${name}]`)];
const checked = (name) => radios(name).find((one) => one.checked);

export const chosen = () => ({ style: checked("style").value, depth: checked("depth").value });

function show() {
  const said = ["style", "depth"].map(checked).filter((one) => one.value).map((one) => one.dataset.name);
  byId("asking-label").textContent = said.join(" · ") || checked("style").dataset.name;
  byId("asking-button").toggleAttribute("data-active", said.length > 0);
}

/** Choose as if it had been clicked. */
export function choose(name, value) {
  const radio = radios(name).find((one) => one.value === value);
  if (!radio) return;
  radio.checked = true;
  changed();
}

function changed() {
  show();
  const form = new FormData();
  for (const [name, value] of Object.entries(chosen())) form.set(name, value);
  post("/preferences", { form }).catch((error) => console.warn("preferences not stored", error));
}

export function start() {
  box.addEventListener("change", changed);
  show();
}
