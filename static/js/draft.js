// A question that was not sent is kept for the next page of this tab, over signing in again too, for the same person.

import { byId, words } from "./dom.js";
import { toast } from "./toast.js";

const KEY = "ragsite-draft";
const user = byId("main").dataset.user;

/** Go to the sign-in, which says what happened, with what was written. */
export function signedOut(text) {
  if (text) sessionStorage.setItem(KEY, JSON.stringify({ user, text, path: location.pathname }));
  location.assign(`/sign-in?expired=1&next=${encodeURIComponent(location.pathname)}`);
}

/** Keep what was written for the next page of this tab. */
export function carry(text) {
  if (text) sessionStorage.setItem(KEY, JSON.stringify({ user, text, isCarried: true }));
}

/** The question that was kept, once; "" if there is none. */
export function restored() {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  sessionStorage.removeItem(KEY);
  if (!kept || kept.user !== user) return "";
  if (!kept.isCarried) toast(words("draft_kept"));
  return kept.text;
}
