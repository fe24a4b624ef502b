/* File fields of forms: names of the chosen files are listed; files may be dropped, too. The form sends them. */

const field = (event) => event.target.closest?.("[data-file-field]");

function listNames(drop) {
  const names = [...drop.querySelector("input").files].map((file) => file.name);
  const items = names.map((name) => Object.assign(document.createElement("li"), { textContent: name }));
  drop.querySelector("[data-names]").replaceChildren(...items);
  drop.dispatchEvent(new CustomEvent("files-listed", { bubbles: true }));
}

document.addEventListener("change", (event) => field(event) && listNames(field(event)));
document.addEventListener("dragover", (event) => {
  if (!field(event)) return;
  event.preventDefault();
  field(event).dataset.over = "";
});
document.addEventListener("dragleave", (event) => {
  if (field(event) && !field(event).contains(event.relatedTarget)) delete field(event).dataset.over;
});
document.addEventListener("drop", (event) => {
  const drop = field(event);
  if (!drop) return;
  event.preventDefault();
  delete drop.dataset.over;
  const input = drop.querySelector("input");
  const transfer = new DataTransfer();
  const dropped = [...event.dataTransfer.files];
  for (const file of input.multiple ? dropped : dropped.slice(0, 1)) transfer.items.add(file);
  if (transfer.files.length) input.files = transfer.files; // what was dropped takes the place of what was chosen
  listNames(drop);
});
addEventListener("pageshow", () => document.querySelectorAll("[data-file-field]").forEach(listNames)); // Back keeps the files
