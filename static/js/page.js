// Pages other than the chat: theme, times, copying, asking before what cannot be undone.

import * as choices from "./choices.js";
import * as time from "./time.js";

choices.start();
time.start();

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent);
  button.querySelector("span").textContent = button.dataset.copied;
});

document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-confirm]");
  if (!form || form.dataset.confirmed) return;
  event.preventDefault();
  const dialog = document.getElementById("confirm");
  document.getElementById("confirm-text").textContent = form.dataset.confirm;
  document.getElementById("confirm-yes").textContent = form.dataset.confirmAction;
  dialog.returnValue = "";
  dialog.showModal();
  dialog.addEventListener(
    "close",
    () => {
      if (dialog.returnValue !== "yes") return;
      form.dataset.confirmed = "true";
      form.requestSubmit();
    },
    { once: true },
  );
});
