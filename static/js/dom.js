// Small helpers that every module uses.

export const byId = (id) => document.getElementById(id);

export function fromTemplate(id) {
  return byId(id).content.firstElementChild.cloneNode(true);
}

const strings = JSON.parse(byId("strings")?.textContent ?? "{}");

/** The words `key` in the reader's language, `{name}` filled in. */
export function words(key, values = {}) {
  return (strings[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

export const formatted = (number) => new Intl.NumberFormat(document.documentElement.lang).format(number);

/** In the chat on another page: addresses begin with `prefix`, and `headers` say who asks; cookies never go along. */
export const access = { prefix: "", headers: {} };

const csrfToken = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";

/** The response; rejects with `status` 401 where it is the sign-in page, and says that the session has ended. */
function signedIn(response) {
  if (access.prefix && response.status === 401) document.dispatchEvent(new CustomEvent("signed-out"));
  if (!response.redirected || new URL(response.url).pathname !== "/sign-in") return response;
  document.dispatchEvent(new CustomEvent("signed-out"));
  throw Object.assign(new Error(response.url), { status: 401 });
}

/** POST a form or JSON; resolves to the response, rejects with it where it is not a success. */
export async function post(url, { form, json, keepalive = false, method = "POST" } = {}) {
  const headers = access.prefix ? { ...access.headers } : { "X-CSRFToken": csrfToken() };
  if (json) headers["Content-Type"] = "application/json";
  const body = json ? JSON.stringify(json) : form;
  const credentials = access.prefix ? "omit" : "same-origin";
  const response = signedIn(await fetch(`${access.prefix}${url}`, { method, headers, body, keepalive, credentials }));
  if (!response.ok) throw Object.assign(new Error(`${response.status}`), { status: response.status, response });
  return response;
}

/** An HTML part of a page as text. Rejects with `status`; people who were signed out go to the sign-in page. */
export async function part(url) {
  const credentials = access.prefix ? "omit" : "same-origin";
  const headers = { Accept: "text/html", ...access.headers };
  const response = signedIn(await fetch(`${access.prefix}${url}`, { headers, credentials }));
  if (!response.ok) throw Object.assign(new Error(url), { status: response.status });
  return response.text();
}

export function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

let announcing;

/** Tell screen readers without showing anything. */
export function announce(text) {
  clearTimeout(announcing);
  announcing = setTimeout(() => (byId("announce").textContent = text), 100);
}

export const isNarrow = () => matchMedia("(max-width: 59.99rem)").matches;

/** Place a floating box beside an anchor, inside the window. */
export function place(box, anchor, { above = false, gap = 6 } = {}) {
  const at = anchor.getClientRects()[0] ?? anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = box;
  const fitsAbove = at.top - gap - height >= 8;
  const fitsBelow = at.bottom + gap + height <= innerHeight - 8;
  const up = above ? fitsAbove || !fitsBelow : !fitsBelow && fitsAbove;
  const top = up ? at.top - gap - height : at.bottom + gap;
  box.style.top = `${Math.max(8, Math.min(top, innerHeight - height - 8))}px`;
  box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
}
