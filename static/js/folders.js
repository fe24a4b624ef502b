// Folders and the archive of conversations.

import { byId, post, words } from "./dom.js";
import { toast } from "./toast.js";

const dialog = byId("folder-dialog");
const field = byId("folder-name");

async function send(row, act, values, again) {
  const form = new FormData();
  for (const [name, value] of Object.entries(values)) form.set(name, value);
  try {
    await post(`/c/${row.dataset.id}/${act}`, { form });
    await again();
    return true;
  } catch {
    toast(words("move_failed"));
    return false;
  }
}

/** `again()` fetches the list. */
export function move(row, again) {
  const folders = [...document.querySelectorAll("[data-folder]")].map((one) => one.dataset.folder).filter(Boolean);
  byId("folder-names").replaceChildren(...[...new Set(folders)].map((name) => new Option(name, name)));
  field.value = row.dataset.folder;
  dialog.returnValue = "";
  dialog.showModal();
  field.select();
  dialog.onclose = () => dialog.returnValue === "move" && send(row, "move", { folder: field.value.trim() }, again);
}

export async function archive(row, again) {
  const isArchived = row.dataset.archived === "true";
  const title = row.querySelector("a").textContent;
  const done = await send(row, "archive", isArchived ? {} : { archived: "on" }, again);
  if (!done || isArchived) return;
  const undo = () => send(row, "archive", {}, again);
  toast(words("archived", { title }), { undoWords: words("undo"), undo });
}

export function start() {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault(); // the first button of the form would be the one that cancels
    dialog.close("move");
  });
}
