/* Uploads dropped files and folders one by one through the public API; live.js follows what became of them. */

import { chooseForAll, choiceOf, isStored, knownDocuments } from "./known_names.js";
import { refreshAnew } from "./live.js";

const SENDING_AT_ONCE = 2;
const WORTH_ANOTHER_TRY = new Set([429, 500, 502, 503, 504]); // the others say that the file itself is refused
const NOT_MEANT = /^(\.|~\$)|^(Thumbs\.db|desktop\.ini)$/i; // what systems leave in folders

const form = document.querySelector("[data-upload]");
const words = form.querySelector("[data-words]").dataset;
const setsHint = form.querySelector("[data-sets-hint]");
const hint = form.querySelector("[data-hint]");
const drop = form.querySelector("[data-drop]");
const input = drop.querySelector("input");
const list = form.querySelector("[data-files]");
const questions = form.querySelector("[data-questions]");
const unanswered = []; // files of known names, with the list of choices of each
const waiting = [];
const withoutSets = []; // files that were chosen before a knowledge set
let sending = 0;

/** A size for people: 3.4 MB. */
function readableSize(bytes) {
  const units = ["B", "kB", "MB", "GB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const value = (bytes / 1000 ** power).toFixed(power ? 1 : 0);
  return `${value} ${units[power]}`;
}

const LAST_SETS = `upload-sets-${form.dataset.person}`;

/** Ticks the sets of this person's last upload in this browser, where nothing is ticked. */
function tickLast() {
  if (form.querySelector("input[name=sets]:checked")) return;
  let last = [];
  try {
    last = JSON.parse(localStorage.getItem(LAST_SETS) ?? "[]");
  } catch {
    return; // storage is switched off
  }
  for (const box of form.querySelectorAll("input[name=sets]")) box.checked = last.includes(box.value);
}

function rememberSets(sets) {
  try {
    localStorage.setItem(LAST_SETS, JSON.stringify(sets));
  } catch {
    // storage is switched off: the next upload begins without
  }
}

function chosenSets() {
  const chosen = [...form.querySelectorAll("input[name=sets]:checked")].map((box) => box.value);
  const leading = form.elements.leading?.value;
  return chosen.includes(leading) ? [leading, ...chosen.filter((id) => id !== leading)] : chosen;
}

/** The row of a file until the server has it, with the functions that change it. */
function addRow(file) {
  const row = form.querySelector("[data-row]").content.firstElementChild.cloneNode(true);
  const part = (name) => row.querySelector(`.rs-item-${name}`);
  const [bar, again] = [row.querySelector("progress"), row.querySelector("[data-again]")];
  part("name").textContent = file.name;
  part("facts").textContent = readableSize(file.size);
  list.append(row);
  return {
    again,
    /** What the file is must be said before it is sent. */
    ask(select) {
      part("words").textContent = words.known;
      part("trouble").before(select);
      bar.hidden = true;
    },
    show(text, share) {
      row.querySelector("select")?.remove();
      row.dataset.state = "working";
      part("words").textContent = text;
      bar.value = share;
      bar.hidden = false;
      again.hidden = true;
      part("trouble").hidden = true;
    },
    done(text, documentId) {
      row.dataset.state = "live";
      part("icon").textContent = "check_circle";
      part("words").textContent = text;
      bar.hidden = true;
      const href = `${form.dataset.documentPage}${documentId}/change/`;
      part("facts").append(" ", Object.assign(document.createElement("a"), { className: "rs-link", href, textContent: words.open }));
    },
    fail(message, code, canRetry) {
      row.dataset.state = "failed";
      part("icon").textContent = "error";
      part("words").textContent = words.failed;
      part("trouble").textContent = message;
      part("trouble").hidden = false;
      if (code) part("trouble").dataset.code = code;
      bar.hidden = true;
      again.hidden = !canRetry;
    },
    /** Some files of an archive were not taken; the report of the job names them and says why. */
    keep(refused, jobId) {
      row.dataset.state = "failed";
      part("icon").textContent = "error";
      part("words").textContent = words.partly;
      bar.hidden = true;
      const href = `${form.dataset.jobPage}${jobId}/change/`;
      const link = Object.assign(document.createElement("a"), { className: "rs-link", href, textContent: words.open });
      part("trouble").replaceChildren(`${words.notTaken} ${refused} `, link);
      part("trouble").hidden = false;
    },
    remove: () => row.remove(),
  };
}

function enqueue(files) {
  if (files.length && !chosenSets().length) {
    withoutSets.push(...files);
    hint.textContent = withoutSets.map((file) => file.name).join(", ");
    setsHint.textContent = words.chooseSets;
    form.querySelector("input[name=sets]")?.focus();
    return;
  }
  hint.textContent = files.length ? "" : words.nothing;
  if (files.length) rememberSets(chosenSets());
  const common = { sets: chosenSets(), clearance: form.elements.clearance.value, unpack: form.elements.unpack.checked };
  const items = files.map((file) => ({ file, row: addRow(file), ...common }));
  const small = items.filter((item) => item.file.size <= Number(form.dataset.maxBytes));
  for (const item of items) {
    if (small.includes(item)) item.row.again.addEventListener("click", () => begin([item]));
    else item.row.fail(words.tooLarge, "", false);
  }
  begin(small);
}

/* The set whose settings decide is asked for where several are chosen, and is one of them. */
function leadingShow() {
  const choice = form.elements.leading;
  if (!choice) return;
  const chosen = chosenSets();
  for (const option of choice.options) option.hidden = option.disabled = !chosen.includes(option.value);
  if (!chosen.includes(choice.value)) choice.value = chosen[0] ?? "";
  choice.closest("[data-leading]").hidden = chosen.length < 2;
}

tickLast();
leadingShow();
form.addEventListener("change", (event) => {
  if (event.target.name === "sets") leadingShow();
  if (event.target.name !== "sets" || !withoutSets.length || !chosenSets().length) return;
  setsHint.textContent = "";
  enqueue(withoutSets.splice(0));
});

const isUnpacked = (item) => item.unpack && /\.zip$/i.test(item.file.name);

/** Sends what has no known name; asks about the others. */
async function begin(items) {
  const open = items.filter((item) => item.version === undefined && !isUnpacked(item));
  let known;
  try {
    for (const item of items) item.row.show(words.queued, 0);
    known = open.length ? await knownDocuments(form.dataset.knownUrl, open.map((item) => item.file.name), items[0].sets) : new Map();
  } catch {
    for (const item of items) item.row.fail(words.network, "", true);
    return;
  }
  for (const item of items) {
    const documents = open.includes(item) ? known.get(item.file.name) : null;
    if (documents && !(await isStored(item.file, documents))) ask(item, documents);
    else push(item);
  }
}

function ask(item, documents) {
  const select = choiceOf(item.file.name, documents, words);
  item.row.ask(select);
  unanswered.push({ item, select });
  showQuestions();
}

function showQuestions() {
  questions.hidden = !unanswered.length;
  for (const part of questions.querySelectorAll("[data-several]")) part.hidden = unanswered.length < 2;
  for (const part of questions.querySelectorAll("[data-one]")) part.hidden = unanswered.length > 1;
}

questions.addEventListener("click", (event) => {
  const { all, go } = event.target.closest("button")?.dataset ?? {};
  const selects = unanswered.map(({ select }) => select);
  if (all !== undefined) chooseForAll(selects, all === "version");
  if (go === undefined) return;
  for (const { item, select } of unanswered.splice(0)) {
    if (go === "upload") push({ ...item, version: select.value });
    else item.row.remove();
  }
  showQuestions();
});

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

/** The request with progress of the sending, which `fetch` does not tell. */
function post(body, onShare) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", form.dataset.documentsUrl);
    request.setRequestHeader("X-CSRFToken", form.elements.csrfmiddlewaretoken.value);
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && onShare((100 * event.loaded) / event.total);
    request.onload = () => resolve({ status: request.status, data: request.response ?? {} });
    request.onerror = reject;
    request.send(body);
  });
}

/** Sends one file. What was accepted is shown by the list of the server from then on. */
async function send({ file, row, sets, clearance, unpack, version }) {
  row.show(words.sending, 0);
  const body = new FormData();
  body.append("file", file);
  sets.forEach((id) => body.append("sets", id));
  body.append("clearance", clearance);
  if (version) body.append("new_version_of", version);
  if (unpack && /\.zip$/i.test(file.name)) body.append("unpack", "true");
  let answer;
  try {
    answer = await post(body, (share) => row.show(words.sending, share));
  } catch {
    row.fail(words.network, "", true);
    return;
  }
  const { status, data } = answer;
  if (status >= 400 || status === 0) {
    row.fail(data.error?.message ?? words.failed, data.error?.code, WORTH_ANOTHER_TRY.has(status));
  } else if (data.refused) {
    row.keep(data.refused, data.job_id);
    refreshAnew();
  } else if (data.duplicate || !data.job_id) {
    row.done(words.duplicate, data.document_id);
  } else {
    row.show(words.accepted, 100);
    refreshAnew().then(row.remove);
  }
}

// ── files and folders ───────────────────────────────────────────────────────────────────────────

/** All files below an entry of a drop, depth first. */
async function filesBelow(entry) {
  if (NOT_MEANT.test(entry.name)) return [];
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // some at a time
    if (!entries.length) return found;
    for (const one of entries) found.push(...(await filesBelow(one)));
  }
}

async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files];
  return (await Promise.all(entries.map(filesBelow))).flat();
}

input.addEventListener("change", () => {
  enqueue([...input.files]);
  input.value = "";
});
form.querySelector("[data-folder]").addEventListener("click", () => {
  const chooser = Object.assign(document.createElement("input"), { type: "file", webkitdirectory: true, multiple: true });
  chooser.addEventListener("change", () => enqueue([...chooser.files].filter((file) => !NOT_MEANT.test(file.name))));
  chooser.click();
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
drop.addEventListener("drop", async (event) => {
  event.preventDefault();
  enqueue(await dropped(event.dataTransfer));
});
