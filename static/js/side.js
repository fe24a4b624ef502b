// The side bar: a sheet on small screens; search, pin, rename, delete with undo.

import { announce, byId, part, post, words } from "./dom.js";
import * as folders from "./folders.js";
import { close as closePopover, openerReplaced } from "./popover.js";
import { tell } from "./tabs.js";
import { toast } from "./toast.js";

const SEARCH_AFTER_MS = 200;
const side = byId("side");
const list = byId("side-list");
const menu = byId("conversation-menu");

let item = null; // whose menu is open
let isArchive = false; // which list is shown
let asked = 0; // the number of the latest list: earlier ones come too late
let isOutdated = false; // a list came while a name was being written
const deleting = new Map(); // conversation id → function that deletes at once

/** Links of the list that are shown: conversations, and places in them that a search found. */
const results = () => [...list.querySelectorAll("li a[href]")].filter((link) => link.offsetParent);

const rowOf = (id) => list.querySelector(`.side-item[data-id="${id}"]`);

export const isOpen = () => "open" in side.dataset;

export function openSheet() {
  side.dataset.open = "";
  byId("veil").hidden = false;
  byId("side-open").setAttribute("aria-expanded", "true");
  byId("side-close").focus();
}

export function closeSheet() {
  if (!isOpen()) return false;
  delete side.dataset.open;
  byId("veil").hidden = true;
  byId("side-open").setAttribute("aria-expanded", "false");
  byId("side-open").focus();
  return true;
}

/** What finds the focused element of the list again in another list; "" where the focus is elsewhere. */
function focused() {
  const element = document.activeElement;
  if (!list.contains(element)) return "";
  const row = element.closest(".side-item");
  if (row) return `.side-item[data-id="${row.dataset.id}"] ${element.matches("a") ? "a" : ".icon-button"}`;
  if (element.matches("a")) return `a[href="${CSS.escape(element.getAttribute("href"))}"]`;
  const folder = element.closest("[data-folder]");
  return folder ? `[data-folder="${CSS.escape(folder.dataset.folder)}"] > summary` : "[data-archive]";
}

/** Fetch the list again; `current` is the conversation that is open. */
export async function refresh(current) {
  const number = ++asked;
  const query = byId("side-query").value.trim();
  const wanted = query ? { q: query } : isArchive ? { archived: 1 } : {};
  const html = await part(`${list.dataset.url}?${new URLSearchParams(wanted)}`);
  if (number !== asked) return;
  isOutdated = Boolean(list.querySelector(".side-rename"));
  if (isOutdated) return; // what is being written stays; the list is fetched when the name is stored or left
  const focus = focused();
  const closed = new Set([...list.querySelectorAll("details:not([open])")].map((one) => one.dataset.folder));
  list.innerHTML = html;
  for (const one of list.querySelectorAll("details")) one.open = !closed.has(one.dataset.folder);
  for (const row of list.querySelectorAll(".side-item")) {
    if (deleting.has(row.dataset.id)) row.hidden = true;
    if (row.dataset.id !== current) continue;
    row.dataset.current = "";
    row.querySelector("a").setAttribute("aria-current", "page");
  }
  if (focus) list.querySelector(focus)?.focus({ preventScroll: true });
  if (!menu.hidden) openerReplaced(rowOf(item.dataset.id)?.querySelector(".icon-button"));
}

const kept = new Map(); // conversation → what brings it back while its deletion can be undone
let leave = () => location.assign("/");
let retitle = () => {};

/** Somebody asks in a conversation that is about to be deleted: it is wanted. */
export function keep(id) {
  if (deleting.has(id)) kept.get(id)?.();
}

/** Each takes a row and what returns the id of the open conversation. */
const actions = {
  move: (row, current) => folders.move(row, () => refresh(current())),
  archive: (row, current) => folders.archive(row, () => refresh(current())),
  async pin(row, current) {
    const form = new FormData();
    if (row.dataset.pinned !== "true") form.set("pinned", "on");
    try {
      await post(`/c/${row.dataset.id}/pin`, { form });
    } catch {
      return void toast(words("pin_failed"));
    }
    tell("list");
    await refresh(current());
  },
  rename(row, current) {
    const link = row.querySelector("a");
    const input = Object.assign(document.createElement("input"), {
      className: "side-rename",
      value: link.textContent,
      maxLength: 200,
      ariaLabel: words("rename"),
    });
    link.hidden = true;
    link.after(input);
    input.select();
    let over = false;
    const end = async (save) => {
      if (over) return;
      over = true;
      const title = input.value.trim();
      input.remove();
      link.hidden = false;
      link.focus();
      const later = () => isOutdated && refresh(current());
      if (!save || !title || title === link.textContent) return void later();
      const before = link.textContent;
      link.textContent = link.title = title;
      const form = new FormData();
      form.set("title", title);
      await post(`/c/${row.dataset.id}/rename`, { form })
        .then(() => {
          if (row.dataset.id === current()) retitle(title);
          tell("list", { conversation: row.dataset.id, title });
        })
        .catch(() => {
          link.textContent = before;
          toast(words("rename_failed"));
        });
      later();
    };
    input.addEventListener("blur", () => end(true));
    input.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") {
        event.stopPropagation();
        end(false);
      }
    });
  },
  /** Hidden now, deleted when the time for undoing is over or the page is left. */
  delete(row, current) {
    const { id } = row.dataset;
    row.hidden = true;
    const now = () => {
      if (!deleting.delete(id)) return;
      post(`/c/${id}/delete`, { keepalive: true })
        .then(() => {
          tell("deleted", { conversation: id });
          if (id === current()) leave();
        })
        .catch(() => {
          (rowOf(id) ?? row).hidden = false;
          toast(words("delete_failed"));
        });
    };
    const undo = ({ focus = true } = {}) => {
      deleting.delete(id);
      const shown = rowOf(id); // the list may have been fetched anew
      if (!shown) return;
      shown.hidden = false;
      if (focus) shown.querySelector("a").focus();
    };
    deleting.set(id, now);
    const done = toast(words("deleted", { title: row.querySelector("a").textContent }), {
      undoWords: words("undo"),
      undo,
      done: now,
    });
    kept.set(id, () => (undo({ focus: false }), done()));
  },
};

/** `conversation()` returns the id of the one that is open, or ""; `leave()` for a new chat; `retitle(title)` of it. */
export function start({ conversation, leave: left, retitle: renamed }) {
  leave = left;
  retitle = renamed;
  byId("side-open").addEventListener("click", openSheet);
  byId("side-close").addEventListener("click", closeSheet);
  menu.addEventListener("popover-open", (event) => {
    item = event.detail.opener.closest(".side-item");
    for (const text of menu.querySelectorAll("[data-when]")) text.hidden = text.dataset.when !== item.dataset.pinned;
    for (const text of menu.querySelectorAll("[data-archived-when]")) {
      text.hidden = text.dataset.archivedWhen !== item.dataset.archived;
    }
  });
  menu.addEventListener("click", (event) => {
    const action = event.target.closest("[data-action]")?.dataset.action;
    if (!action) return;
    closePopover({ focus: action !== "rename" });
    actions[action](rowOf(item.dataset.id) ?? item, conversation);
  });
  folders.start();
  list.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-archive]");
    if (!button) return;
    isArchive = Boolean(button.dataset.archive);
    await refresh(conversation());
    list.querySelector("a, button")?.focus();
  });
  let timer = 0;
  byId("side-query").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => refresh(conversation()), SEARCH_AFTER_MS);
  });
  const query = byId("side-query");
  byId("side-search").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!query.value.trim()) return;
    clearTimeout(timer);
    await refresh(conversation());
    const first = results()[0];
    if (first) location.assign(first.href);
    else announce(list.textContent.trim());
  });
  query.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" || event.isComposing || !results().length) return;
    event.preventDefault();
    results()[0].focus();
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const links = results();
    const at = links.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    (links[at + step] ?? (step < 0 ? query : links[at])).focus();
  });
  addEventListener("pagehide", () => {
    for (const now of [...deleting.values()]) now();
  });
}
