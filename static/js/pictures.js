// Pictures of pages that are not ready: the server says why, and when to ask again.

const TRIES = 6;
const LONGEST_PAUSE_S = 30;

/** A picture that failed is asked for again by script: only so its status and its words can be read. */
async function recover(image) {
  const address = image.src;
  const note = document.createElement("p");
  note.className = "picture-note";
  note.setAttribute("role", "status");
  image.closest("a, figure, div")?.before(note);
  image.hidden = true;
  for (let tried = 0; tried < TRIES && note.isConnected; tried += 1) {
    const answer = await fetch(address, { headers: { Accept: "image/*" }, credentials: "same-origin" }).catch(() => null);
    if (answer?.ok) {
      image.src = `${address}&again=${tried}`;
      image.hidden = false;
      note.remove();
      return;
    }
    const text = answer ? await answer.text() : "";
    note.textContent = answer?.headers.get("Content-Type")?.startsWith("text/plain") ? text : image.alt;
    if (answer && answer.status !== 503) return;
    const pause = Math.min(Number(answer?.headers.get("Retry-After")) || 3, LONGEST_PAUSE_S);
    await new Promise((resume) => setTimeout(resume, pause * 1000));
  }
}

document.addEventListener(
  "error",
  ({ target }) => {
    if (!(target instanceof HTMLImageElement) || !("picture" in target.dataset)) return;
    delete target.dataset.picture; // once
    recover(target);
  },
  true, // errors of pictures do not bubble
);
