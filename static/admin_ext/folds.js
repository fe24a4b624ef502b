/* What a person folds or unfolds stays so on the next page: details[data-keep], by its name. One with data-active shows
   where the person is and is open all the same. */

addEventListener("DOMContentLoaded", () => {
  for (const fold of document.querySelectorAll("details[data-keep]")) {
    const key = `fold-${fold.dataset.keep}`;
    if (!("active" in fold.dataset)) fold.open = localStorage.getItem(key) === "open";
    // a click is also what the keyboard sends; the state changes after it
    fold.querySelector("summary").addEventListener("click", () => {
      localStorage.setItem(key, fold.open ? "closed" : "open");
    });
  }
});
