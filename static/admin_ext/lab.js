/* The retrieval lab works without this. It keeps addresses short, shows the same passage on both sides, counts ticks. */

const lab = document.querySelector("[data-lab]");
const form = lab.querySelector("[data-lab-form]");
const TOLD_MS = 4000;

// ── the address says only what was chosen ───────────────────────────────────────────────────────

form.addEventListener("formdata", (event) => {
  const compares = event.formData.has("compare");
  for (const [name, value] of [...event.formData.entries()]) {
    if (value === "" || (!compares && name.startsWith("b-"))) event.formData.delete(name);
  }
  if (!event.formData.has("q")) event.formData.set("q", "");
});

form.querySelector("[name=q]").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

// ── the same passage elsewhere ──────────────────────────────────────────────────────────────────

function mark(chunk) {
  for (const row of lab.querySelectorAll(".lab-row[data-chunk]")) row.toggleAttribute("data-same", row.dataset.chunk === chunk);
}

if (lab.hasAttribute("data-comparison") || lab.querySelector(".lab-stored")) {
  for (const kind of ["pointerover", "focusin"]) {
    lab.addEventListener(kind, (event) => mark(event.target.closest("[data-chunk]")?.dataset.chunk ?? null));
  }
}

// ── ticks ───────────────────────────────────────────────────────────────────────────────────────

const ticks = [...lab.querySelectorAll("[data-relevant]")];
const ticked = lab.querySelector("[data-ticked]");

/** A document is relevant or not, whatever passage of it was ticked. */
lab.addEventListener("change", (event) => {
  if (!event.target.matches("[data-relevant]")) return;
  for (const tick of ticks) if (tick.value === event.target.value) tick.checked = event.target.checked;
  const count = new Set(ticks.filter((tick) => tick.checked).map((tick) => tick.value)).size;
  if (ticked) ticked.textContent = count || "";
});

// ── copying ─────────────────────────────────────────────────────────────────────────────────────

const copy = lab.querySelector("[data-copy]");
if (copy && navigator.clipboard) {
  const told = lab.querySelector("[data-told]");
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(location.href);
    told.textContent = copy.dataset.copy;
    setTimeout(() => (told.textContent = ""), TOLD_MS);
  });
}
