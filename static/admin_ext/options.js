/* The settings page: basic or all settings, and a search over names, help and values. Settings with a value of their own
   or an error are always there. What is hidden is still sent: nothing is lost by hiding it. */

const LEVEL = "options-level";
const bar = document.querySelector("[data-filter]");
const search = document.getElementById("options-search");
const told = bar.querySelector("[data-count]");
const radios = [...bar.querySelectorAll("input[name=level]")];
const lines = [...document.querySelectorAll(".rs-option")];
const words = new Map(lines.map((line) => [line, line.textContent.toLowerCase()]));

function show() {
  const wanted = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const isBasic = radios.find((radio) => radio.checked).value === "basic";
  for (const line of lines) {
    const fits = wanted.every((word) => words.get(line).includes(word));
    const isListed = wanted.length || !isBasic || "basic" in line.dataset || "own" in line.dataset;
    line.hidden = !("wrong" in line.dataset) && !(fits && isListed);
  }
  for (const group of document.querySelectorAll(".rs-options")) {
    group.hidden = !group.querySelector(".rs-option:not([hidden])");
    const link = document.querySelector(`.rs-option-groups a[href="#${group.id}"]`);
    if (link) link.hidden = group.hidden;
  }
  const shown = lines.filter((line) => !line.hidden).length;
  told.textContent = told.dataset.count.replace("N", shown).replace("M", lines.length);
}

radios.find((radio) => radio.value === localStorage.getItem(LEVEL))?.click();
for (const radio of radios) {
  radio.addEventListener("change", () => {
    localStorage.setItem(LEVEL, radio.value);
    show();
  });
}
search.addEventListener("input", show);
document.getElementById(LEVEL).addEventListener("submit", (event) => event.preventDefault());
bar.hidden = false;
show();
