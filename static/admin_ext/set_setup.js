/* The page for a new knowledge set: it is sent without leaving it, so that faults cost nothing that was entered or chosen. */

import { choiceOf, knownDocuments } from "./known_names.js";

const form = document.querySelector("[data-setup]");
const words = form.dataset;
const button = form.querySelector("button.rs-primary");
const questions = form.querySelector("[data-questions]");
form.elements.uploads.closest(".rs-form-row").after(questions);

function row(name) {
  const control = document.getElementById(`id_${name}`) ?? form.elements[name]?.[0] ?? form.elements[name];
  return { control, place: control?.closest(".rs-form-row") ?? form.querySelector("[data-faults]") };
}

function tell(place, text) {
  const fault = Object.assign(document.createElement("p"), { className: "rs-trouble", textContent: text, role: "alert" });
  place.append(fault);
  return fault;
}

function clear() {
  for (const fault of form.querySelectorAll("[role=alert]")) fault.remove();
}

function show(errors) {
  const names = Object.keys(errors);
  for (const name of names) for (const text of errors[name]) tell(row(name).place, text);
  const first = form.querySelector("[role=alert]").closest(".rs-form-row, [data-faults]");
  first.scrollIntoView({ block: "center" });
  first.querySelector("input:not([type=hidden]), textarea, select:not(.select2-hidden-accessible), .select2-search__field")?.focus({ preventScroll: true });
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  clear();
  button.disabled = true;
  try {
    const answer = await fetch(location.href, { method: "POST", body: new FormData(form), headers: { Accept: "application/json" } });
    const data = await answer.json();
    if (data.location) return void location.assign(data.location);
    show(data.errors);
  } catch {
    show({ "": [words.failed] });
  }
  button.disabled = false;
});

/** One choice for each file, in the order of the files. */
form.addEventListener("files-listed", async (event) => {
  const files = [...event.target.querySelector("input").files];
  const list = questions.querySelector("[data-list]");
  let known = new Map();
  try {
    if (files.length) known = await knownDocuments(words.knownUrl, [...new Set(files.map((file) => file.name))], []);
  } catch {
    known = new Map(); // the files become documents of their own
  }
  list.replaceChildren();
  for (const file of files) {
    const documents = known.get(file.name);
    if (!documents) {
      list.append(Object.assign(document.createElement("input"), { type: "hidden", name: "version_of" }));
      continue;
    }
    const label = Object.assign(document.createElement("label"), { textContent: file.name });
    const select = choiceOf(file.name, documents, words);
    select.name = "version_of";
    label.append(select);
    list.append(label);
  }
  questions.hidden = !known.size;
  questions.querySelector("[data-one]").hidden = known.size > 1;
  questions.querySelector("[data-several]").hidden = known.size < 2;
});
