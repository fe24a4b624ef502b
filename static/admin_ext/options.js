/* The settings page: a search over names, help and values, in what is folded, too. What is hidden is still sent: nothing is
   lost by hiding it. */

const bar = document.querySelector("[data-filter]");
const search = document.getElementById("options-search");
const status = bar.querySelector("[data-count]");
const lines = [...document.querySelectorAll(".rs-option")];
const words = new Map(lines.map((line) => [line, line.textContent.toLowerCase()]));
const folds = [...document.querySelectorAll(".rs-options details")];
let openBefore = null; // the folds that were open when the search began

function show() {
  const wanted = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  for (const line of lines) line.hidden = !("wrong" in line.dataset) && !wanted.every((word) => words.get(line).includes(word));
  for (const group of document.querySelectorAll(".rs-options")) {
    group.hidden = !group.querySelector(".rs-option:not([hidden])");
    const link = document.querySelector(`.rs-option-groups a[href="#${group.id}"]`);
    if (link) link.hidden = group.hidden;
  }
  showFolds(wanted.length > 0);
  const shown = lines.filter((line) => !line.hidden).length;
  status.textContent = wanted.length ? status.dataset.count.replace("N", shown).replace("M", lines.length) : "";
}

/* While something is searched for, folds with a hit are open and the others are away. */
function showFolds(isSearching) {
  if (isSearching) openBefore ??= new Set(folds.filter((fold) => fold.open));
  for (const fold of folds) {
    fold.hidden = !fold.querySelector(".rs-option:not([hidden])");
    if (isSearching) fold.open = !fold.hidden;
    else if (openBefore) fold.open = openBefore.has(fold);
  }
  if (!isSearching) openBefore = null;
}

search.addEventListener("input", show);
document.getElementById("options-find").addEventListener("submit", (event) => event.preventDefault());
bar.hidden = false;
