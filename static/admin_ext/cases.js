/* Keys of the triage desk: a letter goes to the control that shows it. They rest while somebody types, with modifier
   keys, and where they are switched off, which this browser remembers. On the list j and k go from row to row. */

const STORED = "case-shortcuts";
const desk = document.querySelector("[data-shortcuts]");
const onOff = document.querySelector("[data-shortcuts-on]");
const fields = { w: "right_answer" };

function isOn() {
  return localStorage.getItem(STORED) !== "off";
}

function show() {
  onOff.checked = isOn();
  desk.toggleAttribute("data-shortcuts-off", !isOn());
}

function isTyping(target) {
  return Boolean(target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]"));
}

function goTo(control) {
  const fold = control.closest("details:not([open])");
  if (fold) fold.open = true;
  if (control.matches("a, button")) return void control.click();
  control.focus();
  control.scrollIntoView({ block: "center" });
}

/** The search for the document with the right answer, or its plain field where the search is missing. */
function markSearch() {
  const field = desk?.querySelector("[name=passage]");
  return field?.nextElementSibling?.querySelector("[role=combobox]") ?? field;
}

/** A golden case is offered for what should be, or was rightly, refused. */
function offerGoldenCase() {
  for (const label of document.querySelectorAll("[data-for-refusals]")) {
    const chosen = label.closest("form").querySelector("[name=resolution]:checked")?.value;
    label.hidden = !["right_refusal", "should_refuse"].includes(chosen);
    if (label.hidden) label.querySelector("select").value = "";
  }
}

function alongRows(step) {
  const rows = [...document.querySelectorAll("#result_list tbody th a, #result_list .field-question a")];
  if (!rows.length) return false;
  const at = rows.indexOf(document.activeElement);
  rows[Math.max(0, Math.min(rows.length - 1, at + step))].focus();
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (!isOn()) return;
  const key = event.key.toLowerCase();
  const control = key === "m" ? markSearch() : desk?.querySelector(`[data-key="${CSS.escape(key)}"], [name="${fields[key] ?? ""}"]`);
  if (control) goTo(control);
  else if (desk || !["j", "k"].includes(key) || !alongRows(key === "j" ? 1 : -1)) return;
  event.preventDefault();
});

onOff?.addEventListener("change", () => {
  localStorage.setItem(STORED, onOff.checked ? "on" : "off");
  show();
});
document.addEventListener("click", (event) => {
  const mark = event.target.closest("[data-mark]");
  if (!mark) return;
  const field = desk.querySelector("[name=passage]");
  field.dispatchEvent(new CustomEvent("picker:set", { detail: { value: mark.dataset.mark, label: mark.dataset.markLabel } }));
  markSearch().focus();
});
document.addEventListener("change", (event) => {
  if (event.target.name === "resolution") offerGoldenCase();
});
offerGoldenCase();
if (onOff) show();
document.getElementById("again")?.scrollIntoView();
