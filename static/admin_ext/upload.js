/* Uploads dropped files one by one through the public API and follows each ingestion job until it is over. */

const STAGES = ["received", "parsed", "cleaned", "chunked", "represented", "embedded", "indexed", "live"];
const SENDING_AT_ONCE = 2;
const POLL_MS = 1000;
const SLOWEST_POLL_MS = 8000;
const WORTH_ANOTHER_TRY = new Set([429, 500, 502, 503, 504]); // the others say that the file itself is refused

const form = document.querySelector("[data-upload]");
const words = form.querySelector("[data-words]").dataset;
const hint = form.querySelector("[data-hint]");
const drop = form.querySelector("[data-drop]");
const input = drop.querySelector("input");
const list = form.querySelector("[data-files]");
const waiting = [];
let sending = 0;
input.hasChangeListener = true; // the theme would add one that looks for a text field of its own

/** A size for people: 3.4 MB. */
function readableSize(bytes) {
  const units = ["B", "kB", "MB", "GB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const value = (bytes / 1000 ** power).toFixed(power ? 1 : 0);
  return `${value} ${units[power]}`;
}

function chosenSets() {
  return [...form.querySelectorAll("input[name=sets]:checked")].map((box) => box.value);
}

function openLink(documentId) {
  const href = `${form.dataset.documentPage}${documentId}/change/`;
  return Object.assign(document.createElement("a"), { className: "rs-link", href, textContent: words.open });
}

/** One row of the list, with the functions that change it. */
function addRow(file) {
  const row = form.querySelector("[data-row]").content.firstElementChild.cloneNode(true);
  const state = row.querySelector(".rs-file-state");
  const progress = row.querySelector("progress");
  const again = row.querySelector("button");
  row.querySelector(".rs-file-name").textContent = file.name;
  row.querySelector(".rs-file-size").textContent = readableSize(file.size);
  list.append(row);
  return {
    again,
    show(text, step) {
      row.dataset.state = "working";
      again.hidden = true;
      state.textContent = text;
      progress.value = step;
    },
    done(text, documentId) {
      row.dataset.state = "done";
      progress.value = STAGES.length;
      state.textContent = `${text} `;
      state.append(openLink(documentId));
    },
    fail(message, code, canRetry, documentId) {
      row.dataset.state = "failed";
      state.textContent = message;
      if (code) state.append(" ", Object.assign(document.createElement("code"), { textContent: code }));
      if (documentId) state.append(" ", openLink(documentId));
      again.hidden = !canRetry;
    },
  };
}

function enqueue(files) {
  if (!chosenSets().length) {
    hint.textContent = words.chooseSets;
    form.querySelector("input[name=sets]")?.focus();
    return;
  }
  hint.textContent = "";
  for (const file of files) {
    const row = addRow(file);
    if (file.size > Number(form.dataset.maxBytes)) {
      row.fail(words.tooLarge, "", false);
      continue;
    }
    const item = { file, row, sets: chosenSets(), clearance: form.elements.clearance.value };
    row.again.addEventListener("click", () => push(item));
    push(item);
  }
}

function push(item) {
  item.row.show(words.queued, 0);
  waiting.push(item);
  next();
}

function next() {
  while (sending < SENDING_AT_ONCE && waiting.length) {
    sending += 1;
    send(waiting.shift()).finally(() => {
      sending -= 1;
      next();
    });
  }
}

/** Sends one file; following its job happens aside, so that the next file need not wait. */
async function send({ file, row, sets, clearance }) {
  row.show(words.sending, 0);
  const body = new FormData();
  body.append("file", file);
  sets.forEach((id) => body.append("sets", id));
  body.append("clearance", clearance);
  let answer;
  let data;
  try {
    answer = await fetch(form.dataset.documentsUrl, {
      method: "POST",
      body,
      headers: { "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
    });
    data = await answer.json();
  } catch {
    row.fail(words.network, "", true);
    return;
  }
  if (!answer.ok) {
    row.fail(data.error?.message ?? words.failed, data.error?.code, WORTH_ANOTHER_TRY.has(answer.status));
  } else if (data.duplicate || !data.job_id) {
    row.done(words.duplicate, data.document_id);
  } else {
    follow(data, row);
  }
}

/** Asks for the job until it is over, less often while nothing changes. */
async function follow({ job_id: jobId, document_id: documentId }, row) {
  let pause = POLL_MS;
  let lastStage = "";
  for (;;) {
    let job;
    try {
      const answer = await fetch(`${form.dataset.jobsUrl}${jobId}`);
      job = answer.ok ? await answer.json() : null;
    } catch {
      job = null; // the server may be restarting; the job goes on without us
    }
    if (job?.state === "succeeded") {
      row.done(words.live, documentId);
      return;
    }
    if (job && ["failed", "partial"].includes(job.state)) {
      const [error] = job.errors;
      row.fail(error?.message ?? words.failed, error?.code, false, documentId);
      return;
    }
    const stage = job?.stage ?? lastStage;
    row.show(job ? (words[stage] ?? stage) : words.network, Math.max(STAGES.indexOf(stage), 0));
    pause = stage === lastStage ? Math.min(pause * 1.5, SLOWEST_POLL_MS) : POLL_MS;
    lastStage = stage;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

input.addEventListener("change", () => {
  enqueue([...input.files]);
  input.value = "";
});
for (const kind of ["dragenter", "dragover"]) {
  drop.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.dataset.over = "";
  });
}
for (const kind of ["dragleave", "drop"]) {
  drop.addEventListener(kind, () => delete drop.dataset.over);
}
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  enqueue([...event.dataTransfer.files]);
});
