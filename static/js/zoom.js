// A picture of a page in a window of its own: as wide as the window, or as large as it was drawn.

import { byId } from "./dom.js";

function open(link) {
  const dialog = byId("page-zoom");
  const image = dialog.querySelector("img");
  image.src = link.href;
  image.alt = link.querySelector("img").alt;
  dialog.querySelector(".zoom-title").textContent = link.dataset.zoom;
  dialog.querySelector("[data-zoom-open]").href = link.href;
  delete dialog.dataset.large;
  dialog.dataset.waiting = "";
  image.onload = image.onerror = () => delete dialog.dataset.waiting;
  dialog.showModal();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-zoom]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && byId("page-zoom")) {
    event.preventDefault();
    open(link);
    return;
  }
  const image = event.target.closest("#page-zoom img");
  if (image) byId("page-zoom").toggleAttribute("data-large");
  if (event.target.id === "page-zoom") event.target.close(); // beside the picture
});

/** The place of a picture is kept free, and says so, until it is there. */
document.addEventListener(
  "load",
  ({ target }) => target instanceof HTMLImageElement && target.closest(".page-picture")?.setAttribute("data-loaded", ""),
  true, // loads of pictures do not bubble
);
