/* Turns fields marked by evaluation/admin/picker.py into a search for documents and passages (a combobox, as ARIA
   describes it). The field itself is hidden and keeps the value that is sent. */

const WAIT_MS = 200;
const QUOTATION_LENGTH = 400; // characters
let number = 0;

const made = (tag, attributes = {}, text = "") => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
};

/** The values of a field: one a line, or a single one. */
const valuesOf = (field) => field.value.split("\n").map((line) => line.trim()).filter(Boolean);

/** The beginning of a passage, in one line: enough to know it by. */
const quotationOf = (text) => text.split(/\s*\n\s*/).join(" ").trim().slice(0, QUOTATION_LENGTH).replace(/\s+\S*$/, (end) => (text.length > QUOTATION_LENGTH ? "" : end));

function enhance(field) {
  const { picker: kind, pickerUrl, pickerSearch, pickerNone, pickerGone, pickerRemove, pickerPassages } = field.dataset;
  const labels = JSON.parse(field.dataset.pickerLabels);
  const id = `pick-${(number += 1)}`;
  const box = made("span", { class: "pick" });
  const chosen = made("ul", { class: "pick-chosen" });
  const search = made("input", {
    type: "text", id: `${id}-search`, class: field.className, role: "combobox", autocomplete: "off",
    "aria-expanded": "false", "aria-controls": `${id}-list`, "aria-autocomplete": "list", "aria-label": pickerSearch, placeholder: pickerSearch,
  });
  const list = made("ul", { class: "pick-list", id: `${id}-list`, role: "listbox", "aria-label": pickerSearch, hidden: "" });
  let choices = [];
  let at = -1;
  let waiting = 0;
  let asked = 0;

  function write(values) {
    field.value = values.join("\n");
    field.dispatchEvent(new Event("change", { bubbles: true }));
    show();
  }

  function show() {
    chosen.replaceChildren(
      ...valuesOf(field).map((value) => {
        const item = made("li", value in labels ? {} : { "data-gone": "" });
        const remove = made("button", { type: "button", "aria-label": `${pickerRemove}: ${labels[value] ?? value}`, title: pickerRemove }, "×");
        remove.addEventListener("click", (event) => {
          event.preventDefault();
          write(valuesOf(field).filter((other) => other !== value));
          search.focus();
        });
        item.append(made("span", {}, labels[value] ?? `${value} – ${pickerGone}`), remove);
        return item;
      }),
    );
  }

  function close() {
    list.hidden = true;
    at = -1;
    search.setAttribute("aria-expanded", "false");
    search.removeAttribute("aria-activedescendant");
  }

  function mark(next) {
    const items = [...list.querySelectorAll("[role=option]")];
    if (!items.length) return;
    at = (next + items.length) % items.length;
    items.forEach((item, place) => item.setAttribute("aria-selected", String(place === at)));
    search.setAttribute("aria-activedescendant", items[at].id);
    items[at].scrollIntoView({ block: "nearest" });
  }

  function choose(choice) {
    const value = kind === "documents" ? choice.document : choice.value;
    labels[value] = kind === "documents" && choice.text ? choice.label.replace(/[,，][^,，]*$/, "") : choice.label;
    write(kind === "passage" ? [value] : [...new Set([...valuesOf(field), value])]);
    const quotations = choice.text && pickerPassages ? field.form.elements[pickerPassages] : null;
    if (quotations) quotations.value = [quotations.value.trim(), quotationOf(choice.text)].filter(Boolean).join("\n");
    search.value = "";
    close();
    search.focus();
  }

  async function find() {
    const turn = (asked += 1);
    const response = await fetch(`${pickerUrl}?q=${encodeURIComponent(search.value)}`, { headers: { "X-Requested-With": "fetch" } });
    const found = await response.json();
    if (turn !== asked || !search.value.trim()) return;
    ({ choices } = found);
    list.replaceChildren(
      ...choices.map((choice, place) => {
        const item = made("li", { role: "option", id: `${id}-${place}`, "aria-selected": "false" }, choice.label);
        item.append(made("small", {}, choice.detail));
        item.addEventListener("mousedown", (event) => event.preventDefault());
        item.addEventListener("click", () => choose(choice));
        return item;
      }),
    );
    if (!choices.length) list.append(made("li", { role: "presentation" }, found.error ?? pickerNone));
    list.hidden = false;
    search.setAttribute("aria-expanded", "true");
    at = -1;
  }

  search.addEventListener("input", () => {
    clearTimeout(waiting);
    if (!search.value.trim()) return void close();
    waiting = setTimeout(find, WAIT_MS);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") mark(at + (event.key === "ArrowDown" ? 1 : -1));
    else if (event.key === "Enter") {
      if (choices[at]) choose(choices[at]);
      else if (search.value.trim() && list.hidden) find();
    } else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
  });
  search.addEventListener("blur", close);
  field.addEventListener("picker:set", (event) => {
    labels[event.detail.value] = event.detail.label;
    write([event.detail.value]);
  });
  field.hidden = true;
  if (field.tagName === "INPUT") field.type = "hidden";
  for (const label of field.labels ?? []) if (label.htmlFor) label.htmlFor = search.id;
  box.append(chosen, search, list);
  field.after(box);
  show();
}

document.querySelectorAll("[data-picker]").forEach(enhance);
