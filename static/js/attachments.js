// Files for this conversation: chosen, dropped or pasted; sent, read by the server, shown above the question.

import { announce, byId, fromTemplate, part, post, words } from "./dom.js";
import { toast } from "./toast.js";

const KEY = "ragsite-attached"; // ids of files that were attached in this tab and that no question has named yet
const MOST_FILES = 10; // of a conversation, as on the server
const FIRST_PAUSE_MS = 400;
const LONGEST_PAUSE_MS = 3000;

const list = byId("attached");
const input = byId("attach-input");
let conversation = () => "";
let address = ""; // under which files are sent and asked for
let passing = null; // what a frame remembers in place of the tab: browsers may give frames no storage

const items = () => [...list.children];

// A file waits for the first question of the tab that it was attached in: another new chat neither shows nor takes it.
const waiting = () => passing ?? JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
const remember = (ids) => (passing ? (passing = ids) : sessionStorage.setItem(KEY, JSON.stringify(ids)));
const wait = (id) => remember([...waiting(), id]);
const forget = (id) => remember(waiting().filter((one) => one !== id));
const state = (item) => item.dataset.state;

/** Whether a file is still being sent or read. */
export const isReading = () => items().some((item) => ["sending", "reading"].includes(state(item)));

let held = null; // what is done once all files have been read

/** Do something once no file is being sent or read any more; not at all where one could not be read. */
export const whenRead = (action) => (held = action);

function goOn() {
  if (!held || isReading()) return;
  const action = held;
  held = null;
  if (!items().some((item) => state(item) === "failed")) action();
}

/** Files that the next question brings along. */
export const chosen = () =>
  items()
    .filter((item) => state(item) === "ready" && !("bound" in item.dataset))
    .map((item) => item.dataset.id);

/** The question with the files of these ids was taken: they belong to the conversation from now on. */
export function taken(ids) {
  for (const item of items()) {
    if (ids.includes(item.dataset.id)) {
      item.dataset.bound = "";
      forget(item.dataset.id);
    }
    if (state(item) === "failed") removed(item);
  }
}

function show(item, file) {
  item.dataset.state = file.state;
  if (file.id) item.dataset.id = file.id;
  item.querySelector(".attached-name").textContent = file.name;
  const { done = 0, total = 0 } = file.progress ?? {};
  item.querySelector("[data-read-again]").hidden = !file.can_retry;
  const said = {
    sending: words("attach_sending"),
    reading: file.error?.message || (total ? words("attach_reading_n", { n: done, total }) : words("attach_reading")),
    ready: "",
    failed: file.error?.message || words("attach_failed"),
  }[file.state];
  item.querySelector(".attached-state").textContent = said;
  item.querySelector(".pulse").hidden = !["sending", "reading"].includes(file.state);
  const remove = item.querySelector(".chip-remove");
  remove.setAttribute("aria-label", words("attach_remove", { name: file.name }));
  remove.title = remove.getAttribute("aria-label");
  list.hidden = false;
  goOn();
}

function gone(item) {
  item.remove();
  list.hidden = !list.childElementCount;
  goOn();
}

/** Ask until the file has been read. */
async function follow(item) {
  for (let pause = FIRST_PAUSE_MS; item.isConnected && state(item) === "reading"; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    const answer = await part(`${address}/${item.dataset.id}`).catch((error) => error);
    if (answer?.status === 404) return gone(item);
    if (typeof answer !== "string") continue; // the network is away: ask again
    const file = JSON.parse(answer);
    show(item, file);
    if (file.state === "ready") announce(words("attach_ready", { name: file.name }));
    if (file.state === "failed") announce(`${file.name}: ${file.error?.message ?? ""}`);
  }
}

async function readAgain(item) {
  try {
    const file = await (await post(`${address}/${item.dataset.id}/retry`)).json();
    show(item, file);
    follow(item);
  } catch {
    toast(words("attach_retry_failed"));
  }
}

async function send(file) {
  const item = fromTemplate("attached-template");
  list.append(item);
  show(item, { name: file.name, state: "sending" });
  const form = new FormData();
  form.set("file", file, file.name);
  if (conversation()) form.set("conversation_id", conversation());
  try {
    const stored = await (await post(address, { form })).json();
    if (!item.isConnected) return void remove(stored.id);
    show(item, stored);
    if (stored.conversation_id) item.dataset.bound = "";
    else wait(stored.id);
    follow(item);
  } catch (error) {
    const message = await error.response?.json().then(
      (body) => body.error?.message ?? body.message,
      () => "",
    );
    show(item, { name: file.name, state: "failed", error: { message: message || words("attach_failed") } });
  }
}

const remove = (id) => post(`${address}/${id}`, { method: "DELETE" });

async function removed(item) {
  gone(item);
  if (!item.dataset.id) return;
  forget(item.dataset.id);
  try {
    await remove(item.dataset.id);
  } catch (error) {
    if (error.status === 404) return;
    list.append(item);
    list.hidden = false;
    toast(words("attach_remove_failed"));
  }
}

function add(files) {
  const room = Math.max(MOST_FILES - items().length, 0);
  const chosen = [...files];
  if (chosen.length > room) toast(words("attach_most", { n: MOST_FILES }));
  chosen.slice(0, room).forEach(send);
}

const hasFiles = (event) => event.dataTransfer?.types.includes("Files");

/** Show files that the server knows: those of the conversation, and those that were attached here and wait. */
export function showAll(files) {
  const mine = new Set(waiting());
  for (const file of files) {
    if (!file.conversation_id && !mine.has(file.id)) continue;
    const item = fromTemplate("attached-template");
    list.append(item);
    show(item, file);
    if (file.conversation_id) item.dataset.bound = "";
    follow(item);
  }
}

/** Another conversation is shown: its files are others. Those that wait for a question are given up. */
export function clear() {
  for (const item of items()) {
    if (item.dataset.id && !("bound" in item.dataset)) removed(item);
    else gone(item);
  }
}

/** `conversation()`: the open one; `url`: of files; `files`: those to be shown; `isPassing`: nothing outlives the page. */
export function start({ conversation: current, url = "/api/v1/rag/attachments", files = [], isPassing = false }) {
  conversation = current;
  address = url;
  if (isPassing) passing = [];
  byId("attach").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    add(input.files);
    input.value = "";
  });
  list.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ("readAgain" in button.dataset) return void readAgain(button.closest("li"));
    removed(button.closest("li"));
    byId("question").focus();
  });
  byId("question").addEventListener("paste", (event) => {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    add(event.clipboardData.files);
  });
  const main = byId("main");
  main.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    byId("composer").dataset.drop = "";
  });
  main.addEventListener("dragleave", (event) => {
    if (!main.contains(event.relatedTarget)) delete byId("composer").dataset.drop;
  });
  main.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    delete byId("composer").dataset.drop;
    add(event.dataTransfer.files);
  });
  showAll(files);
}
