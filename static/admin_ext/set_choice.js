/* Sets to tick: a search above the box where there are many of them. What is ticked stays in sight. */

const SEARCHED_FROM = 9;

function enhance(choice) {
  const search = choice.querySelector("[data-set-search]");
  const labels = [...choice.querySelectorAll("label")];
  for (const label of labels) label.classList.toggle("rs-ticked-before", label.querySelector("input").checked);
  if (labels.length < SEARCHED_FROM) return;
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const label of labels) {
      const text = label.textContent.toLowerCase();
      label.hidden = !words.every((word) => text.includes(word)) && !label.querySelector("input").checked;
    }
    for (const axis of choice.querySelectorAll("[data-axis]")) {
      let next = axis.nextElementSibling;
      while (next?.matches("label[hidden]")) next = next.nextElementSibling;
      axis.hidden = !next?.matches("label");
    }
    choice.querySelector("[data-set-none]").hidden = labels.some((label) => !label.hidden);
  };
  search.hidden = false;
  search.addEventListener("input", show);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // a search is no end of the form: the only match is ticked
    const matches = labels.filter((label) => !label.hidden && !label.querySelector("input").checked);
    if (matches.length === 1) matches[0].click();
  });
}

document.querySelectorAll("[data-set-choice]").forEach(enhance);
