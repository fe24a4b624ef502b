/* Links a page of the original with its passages, and previews a text that is being written. */

const spread = document.querySelector("[data-spread]");

function partsOf(ordinal) {
  return spread.querySelectorAll(`[data-passage="${ordinal}"]`);
}

/** Marks a passage on both sides and brings the other side into view. */
function choose(ordinal, { from, scroll = true }) {
  spread.querySelectorAll("[data-chosen]").forEach((part) => delete part.dataset.chosen);
  for (const part of partsOf(ordinal)) {
    part.dataset.chosen = "";
    const isLeft = part.closest(".rs-left") !== null;
    if (scroll && isLeft !== (from === "left")) part.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }
}

/** The smallest box under a point: boxes of neighbouring passages may overlap. */
function boxAt(event) {
  const boxes = [...spread.querySelectorAll(".rs-left rect")].filter((box) => {
    const { left, right, top, bottom } = box.getBoundingClientRect();
    return event.clientX >= left && event.clientX <= right && event.clientY >= top && event.clientY <= bottom;
  });
  const area = (box) => box.width.baseVal.value * box.height.baseVal.value;
  return boxes.sort((a, b) => area(a) - area(b))[0];
}

async function preview(editor) {
  const shown = editor.querySelector("[data-preview]");
  const body = new FormData();
  body.append("text", editor.querySelector("[data-text]").value);
  body.append("version", spread.dataset.version);
  const headers = { "X-CSRFToken": editor.elements.csrfmiddlewaretoken.value };
  const answer = await fetch(spread.dataset.previewUrl, { method: "POST", body, headers });
  if (!answer.ok) return;
  shown.innerHTML = await answer.text(); // sanitised by the server
  shown.hidden = false;
}

/** An editor opens where it is seen, ready for typing; closing it goes back to its passage. */
function toolToggled(tool) {
  const card = tool.closest(".rs-passage-card");
  if (!tool.open) {
    const othersOpen = card.querySelector(".rs-tool[open]");
    if (!othersOpen) card.scrollIntoView({ block: "nearest" });
    return;
  }
  const field = tool.querySelector("textarea");
  field.focus({ preventScroll: true });
  const form = tool.querySelector("form");
  form.scrollIntoView({ block: form.offsetHeight > innerHeight ? "start" : "nearest" });
}

if (spread) {
  for (const tool of spread.querySelectorAll(".rs-tool")) {
    tool.addEventListener("toggle", () => toolToggled(tool));
    tool.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      tool.open = false;
      tool.querySelector("summary").focus({ preventScroll: true });
    });
  }
  spread.addEventListener("click", (event) => {
    if (event.target.closest(".rs-left")) {
      const part = boxAt(event) ?? event.target.closest("[data-passage]");
      if (part && !event.target.closest("a")) choose(part.dataset.passage, { from: "left" });
    } else if (event.target.closest("[data-show], .rs-passage-text") && !event.target.closest("a")) {
      choose(event.target.closest("[data-passage]").dataset.passage, { from: "right" });
    }
  });
  for (const button of spread.querySelectorAll("[data-preview-button]")) {
    button.hidden = false;
    button.addEventListener("click", () => preview(button.form));
  }
  const wanted = /^#passage-(\d+)$/.exec(location.hash);
  if (wanted) choose(wanted[1], { from: "right" });
}
