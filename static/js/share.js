// A link to an answer for colleagues: made in a dialog, which stays open so that it can be copied.

import { byId, post, words } from "./dom.js";
import { toast } from "./toast.js";

const dialog = byId("share-dialog");
const form = dialog.querySelector("form");
let message = "";
let shared = null; // the button of the answer that is shared

function show(link) {
  byId("share-made").hidden = byId("share-copy").hidden = !link;
  byId("share-make").hidden = Boolean(link);
  byId("share-link").value = link;
}

/** What colleagues will not see, before a link is made: whatever rests on files that this person attached. */
function warn() {
  const buttons = [...document.querySelectorAll("[data-share]")];
  const wanted = form.elements.whole.value === "1" ? buttons.slice(0, buttons.indexOf(shared) + 1) : [shared];
  const total = (name) => wanted.reduce((sum, button) => sum + Number(button.dataset[name]), 0);
  const [n, m] = [total("files"), total("sources")];
  byId("share-warning").hidden = !n;
  byId("share-warning").querySelector("span").textContent = n === m ? words("share_nothing") : words("share_partly", { n, m });
}

async function make() {
  const json = { message_id: message, whole: form.elements.whole.value === "1", days: Number(form.elements.days.value) };
  try {
    const { path } = await (await post("/api/v1/rag/shares", { json })).json();
    show(new URL(path, location.href).href);
    byId("share-link").select();
  } catch (error) {
    toast(words(error.status === 401 ? "signed_out" : "share_failed"));
  }
}

async function copy() {
  try {
    await navigator.clipboard.writeText(byId("share-link").value);
    toast(words("copied"));
  } catch {
    toast(words("copy_failed"));
  }
}

export function start() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-share]");
    if (!button) return;
    message = button.closest("[data-message]").dataset.message;
    shared = button;
    form.reset();
    show("");
    warn();
    dialog.showModal();
  });
  form.addEventListener("change", () => {
    show("");
    warn();
  });
  byId("share-make").addEventListener("click", make);
  byId("share-copy").addEventListener("click", copy);
}
