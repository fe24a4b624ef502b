// Announcements above the chat: dismissed by each person for themselves.

import { byId, post, words } from "./dom.js";
import { toast } from "./toast.js";

async function dismiss(button) {
  button.disabled = true;
  try {
    await post(button.dataset.dismiss);
  } catch (error) {
    if (error.status !== 404) {
      button.disabled = false;
      toast(words("dismiss_failed"));
      return;
    }
  }
  button.closest(".announcement").remove();
  const box = byId("announcements");
  if (box.querySelector(".announcement")) box.querySelector("[data-dismiss]")?.focus();
  else {
    box.remove();
    byId("question").focus();
  }
}

export function start() {
  byId("announcements")?.addEventListener("click", (event) => {
    const button = event.target.closest("[data-dismiss]");
    if (button) dismiss(button);
  });
}
