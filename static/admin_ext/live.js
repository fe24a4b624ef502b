/* Keeps parts of a page true without reloading it. An element with [data-live] is fetched again from that address
   (empty: the page's own) and brought in line: lists with [data-rows] row by row, other parts with [data-part] whole.
   One request at a time for the whole page, often while [data-open] says that something is in work. */

const QUICK_MS = 1500;
const SLOW_MS = 15000;
const TOLD_MS = 10000;
const STEPS = [
  [60, "second", 1],
  [3600, "minute", 60],
  [86400, "hour", 3600],
  [Infinity, "day", 86400],
];

const sources = new WeakMap(); // element → the markup that the server sent for it
const ages = new Intl.RelativeTimeFormat(document.documentElement.lang || "en", { numeric: "always", style: "short" });
let timer = 0;
let silence = 0;
let running = null;

function tellAges() {
  for (const element of document.querySelectorAll("time[data-ago]")) {
    const seconds = (Date.now() - new Date(element.dateTime)) / 1000;
    const [, unit, size] = STEPS.find(([limit]) => Math.abs(seconds) < limit);
    const words = ages.format(-Math.round(seconds / size), unit).replace(/(\d)(?=[\u4e00-\u9fff])/g, "$1 ");
    if (element.textContent !== words) element.textContent = words;
  }
}

/** What identifies a control, so that the focus can be given back to the one that takes its place. */
function nameOf(element) {
  return element?.getAttribute?.("formaction") ? `${element.getAttribute("formaction")} ${element.value}` : element?.href;
}

function replace(old, fresh) {
  const focused = old.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  old.replaceWith(fresh);
  if (focused) [...fresh.querySelectorAll("a, button")].find((control) => nameOf(control) === focused)?.focus();
}

function markupOf(element) {
  const known = sources.get(element);
  return known ?? element.outerHTML;
}

/** Rows keep their element while their markup stays the same; new ones are put where the server has them. */
function patchRows(list, fresh) {
  const old = new Map([...list.children].map((row) => [row.dataset.key, row]));
  let before = null;
  for (const row of [...fresh.children]) {
    const markup = row.outerHTML;
    let shown = old.get(row.dataset.key);
    old.delete(row.dataset.key);
    if (!shown) {
      shown = row;
      list.insertBefore(shown, before ? before.nextSibling : list.firstChild);
    } else if (markupOf(shown) !== markup) {
      replace(shown, row);
      shown = row;
    }
    sources.set(shown, markup);
    if (shown.previousElementSibling !== before) list.insertBefore(shown, before ? before.nextSibling : list.firstChild);
    before = shown;
  }
  for (const row of old.values()) row.remove();
}

function patchPart(part, fresh) {
  if (part.querySelector("[data-rows]")) return;
  const markup = fresh.outerHTML;
  if (markupOf(part) === markup) return;
  sources.set(fresh, markup);
  replace(part, fresh);
}

/** Parts that came or went since the page was made. */
function patchParts(live, fresh) {
  const names = new Set([...fresh.querySelectorAll("[data-part]")].map((part) => part.dataset.part));
  for (const part of live.querySelectorAll("[data-part]")) {
    const name = part.dataset.part;
    if (names.has(name)) patchPart(part, fresh.querySelector(`[data-part="${name}"]`));
    else part.remove();
  }
}

function patch(live, fresh) {
  live.dataset.open = fresh.dataset.open;
  patchParts(live, fresh);
  const lists = live.querySelectorAll("[data-rows]");
  fresh.querySelectorAll("[data-rows]").forEach((rows, place) => lists[place] && patchRows(lists[place], rows));
}

/** The page has no such part any more: what it told about is over, and the rest of the page may be out of date. */
function over(live) {
  if (!live.dataset.over) return;
  const link = Object.assign(document.createElement("a"), { className: "rs-link", textContent: live.dataset.over });
  link.href = location.href;
  live.replaceChildren(link);
  live.removeAttribute("data-live");
}

async function fetchAll() {
  const all = [...document.querySelectorAll("[data-live]")];
  for (const address of new Set(all.map((live) => live.dataset.live))) {
    const answer = await fetch(address || location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) continue; // signed out or gone: what is shown stays
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const live of all.filter((one) => one.dataset.live === address)) {
      const fresh = page.getElementById(live.id);
      if (fresh) patch(live, fresh);
      else over(live);
    }
  }
  tellAges();
}

function isBusy() {
  return [...document.querySelectorAll("[data-live]")].some((live) => Number(live.dataset.open) > 0);
}

function plan() {
  clearTimeout(timer);
  timer = setTimeout(() => (document.hidden ? plan() : refresh()), isBusy() ? QUICK_MS : SLOW_MS);
}

/** Bring the page in line now; calls during a request share it. */
export function refresh() {
  running ??= fetchAll()
    .catch(() => {}) // the server may be restarting; the work goes on without us
    .finally(() => {
      running = null;
      plan();
    });
  return running;
}

/** The same with a request that begins after this call. */
export async function refreshAnew() {
  await running;
  await refresh();
}

/** Words for everyone on the page; they go away when they have been read. */
function tell(words) {
  const told = document.querySelector("[data-told]");
  if (!told) return;
  told.textContent = words;
  clearTimeout(silence);
  silence = setTimeout(() => (told.textContent = ""), TOLD_MS);
}

/** Buttons with [data-act] call their address and stay on the page; the answer says in words what came of it. */
async function act(button) {
  const body = new FormData();
  if (button.name) body.append(button.name, button.value);
  const token = button.form.elements.csrfmiddlewaretoken;
  button.disabled = true;
  try {
    const answer = await fetch(button.formAction, {
      method: "POST",
      body,
      headers: { Accept: "application/json", "X-CSRFToken": (token[0] ?? token).value },
    });
    tell((await answer.json()).message);
  } catch (error) {
    tell(String(error.message ?? error));
  }
  button.disabled = false;
  await refreshAnew();
}

document.addEventListener("submit", (event) => {
  if (!event.submitter?.hasAttribute("data-act")) return;
  event.preventDefault();
  act(event.submitter);
});
document.addEventListener("visibilitychange", () => document.hidden || refresh());
for (const row of document.querySelectorAll("[data-rows] > *, [data-part]")) sources.set(row, row.outerHTML);
setInterval(tellAges, 1000);
tellAges();
plan();
