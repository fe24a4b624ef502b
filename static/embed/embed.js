/* The chat of some knowledge sets on this page, for whom this page vouches. Documentation: docs/embedding.md.
   <script src="https://SITE/embed.js" data-embed="CODE" data-token-url="/my-token" async></script> */
(() => {
  "use strict";
  const script = document.currentScript;
  const { embed: code, token, tokenUrl, lang, theme = "auto", position, label } = script?.dataset ?? {};
  if (!code) return void console.error("embed.js: data-embed is missing");
  const marker = `ragsite-embed-${code}`;
  if (document.getElementById(marker)) return; // the script stands on the page twice

  const site = new URL(script.src).origin;
  const SILENCE_MS = 4000; // after which a loaded frame that says nothing counts as refused
  const FETCH_MS = 15000;
  const pageLanguage = lang || document.documentElement.lang || navigator.language || "en";
  const isChinese = /^zh/i.test(pageLanguage);
  const words = isChinese
    ? {
        open: "打开问答",
        close: "关闭问答",
        chat: "问答",
        opening: "正在打开问答…",
        refused: "无法在此页面显示问答。请联系页面维护者。",
      }
    : {
        open: "Open the chat",
        close: "Close the chat",
        chat: "Chat",
        opening: "Opening the chat…",
        refused: "The chat cannot be shown on this page. Please tell the people who keep the page.",
      };
  const STYLE = `
    :host { all: initial; }
    button { position: fixed; bottom: 20px; right: 20px; z-index: 2147483000; display: grid; place-items: center;
      width: 56px; height: 56px; padding: 0; border: 0; border-radius: 50%; background: #0b6b6f; color: #fff;
      cursor: pointer; box-shadow: 0 2px 6px rgb(16 24 32 / .2), 0 8px 24px rgb(16 24 32 / .22); }
    button:hover { background: #085558; }
    button:focus-visible { outline: 3px solid #fff; outline-offset: -6px; box-shadow: 0 0 0 3px #0b6b6f; }
    svg { width: 26px; height: 26px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round;
      stroke-linejoin: round; }
    section { box-sizing: border-box; position: fixed; right: 20px; bottom: 88px; z-index: 2147483001; display: flex;
      flex-direction: column;
      width: min(420px, calc(100vw - 40px)); height: min(680px, calc(100vh - 120px)); overflow: hidden;
      border: 1px solid #c6cbcf; border-radius: 14px; background: #fff; color: #1a1d1f;
      box-shadow: 0 2px 6px rgb(16 24 32 / .1), 0 16px 48px rgb(16 24 32 / .22); }
    section[hidden] { display: none; }
    section[data-theme="dark"] { background: #15181a; color: #e7e9ea; border-color: #41484d; }
    iframe { flex: 1; width: 100%; border: 0; color-scheme: normal; }
    section:not([data-started]) iframe { position: absolute; visibility: hidden; }
    section[data-started] .note { display: none; }
    .note { display: flex; align-items: flex-start; justify-content: space-between; gap: 12px; padding: 16px; }
    .note button { position: static; flex: none; width: 44px; height: 44px; background: transparent; color: inherit;
      box-shadow: none; font: 24px/1 system-ui, sans-serif; }
    .note button:focus-visible { outline: 3px solid currentColor; }
    .edge { position: absolute; width: 1px; height: 1px; overflow: hidden; outline: 0; }
    p { margin: 8px; font: 15px/1.5 system-ui, "PingFang SC", "Microsoft YaHei", sans-serif; }
    .left { right: auto; left: 20px; }
    @media (max-width: 480px) {
      section, section.left { inset: 0; width: auto; height: 100vh; height: 100dvh; border: 0; border-radius: 0; }
      section:not([hidden]) + button { display: none; }
    }
    @media print { button, section { display: none; } }`;

  const make = (name, attributes = {}, space = null) => {
    const element = space ? document.createElementNS(space, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const side = position === "left" ? "left" : "";
  const box = make("div", { id: marker });
  const root = box.attachShadow({ mode: "open" }); // the styles of the page stay out
  const sheet = new CSSStyleSheet(); // no inline style: pages forbid those by their policy
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];
  const panel = make("section", { id: "panel", role: "dialog", "aria-label": label || words.chat, hidden: "", class: side });
  const button = make("button", {
    type: "button",
    class: side,
    "aria-label": label || words.open,
    "aria-haspopup": "dialog",
    "aria-expanded": "false",
    "aria-controls": "panel",
  });
  const SVG = "http://www.w3.org/2000/svg";
  const icon = make("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, SVG);
  icon.append(make("path", { d: "M21 12a8 8 0 0 1-8 8H4l2.2-3A8 8 0 1 1 21 12Z M9 11h8 M9 14h5" }, SVG));
  button.append(icon);
  root.append(panel, button);
  const narrow = matchMedia("(max-width: 480px)"); // the panel covers the page: it is all there is to be reached
  /** Text in the place of the frame, with a button that closes: the page's own is covered on a telephone. */
  const note = make("div", { class: "note" });
  const said = make("p", { role: "status" });
  const away = make("button", { type: "button", "aria-label": words.close });
  away.textContent = "×";
  note.append(said, away);
  /** Before and behind the frame: where the panel covers the page, the focus goes on at its other end. */
  const edges = ["last", "first"].map((end) => {
    const edge = make("div", { class: "edge", tabindex: "-1", "aria-hidden": "true" });
    edge.addEventListener("focus", () => reenter(end));
    return edge;
  });
  function reenter(end) {
    if (!isStarted) return away.focus();
    frame.focus();
    tell("focus", { end });
  }
  function applyWidth() {
    const covers = narrow.matches;
    panel.setAttribute("aria-modal", String(covers));
    for (const edge of edges) edge.tabIndex = covers ? 0 : -1;
  }
  narrow.addEventListener("change", applyWidth);
  applyWidth();

  let frame = null;
  let isStarted = false;
  let silence = 0;
  let unused = token || null; // each token begins one session

  const post = (kind, more = {}) => frame?.contentWindow?.postMessage({ ragsite: kind, ...more }, site);
  const tell = (kind, more) => isStarted && post(kind, more); // before that the window of the frame is an empty one

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const shown = () => (theme === "auto" ? (dark.matches ? "dark" : "light") : theme);
  function applyTheme() {
    panel.dataset.theme = shown();
    tell("theme", { theme: shown() });
  }
  dark.addEventListener("change", applyTheme);

  /** For the next page of this site: which conversation was shown. The frame asks whose it is before it shows it. */
  function keep(value) {
    try {
      sessionStorage.setItem(marker, JSON.stringify(value));
    } catch {
      // the next page begins anew
    }
  }
  function kept() {
    try {
      return JSON.parse(sessionStorage.getItem(marker));
    } catch {
      return null;
    }
  }

  /** A token from the page itself or from its server; null where there is none. */
  async function freshToken() {
    if (!tokenUrl) {
      const once = unused;
      unused = null;
      return once;
    }
    try {
      const stop = AbortSignal.timeout(FETCH_MS);
      const answer = await fetch(tokenUrl, { credentials: "same-origin", cache: "no-store", signal: stop });
      if (!answer.ok) throw new Error(`${answer.status}`);
      const text = (await answer.text()).trim();
      return text.startsWith("{") ? JSON.parse(text).token : text;
    } catch (error) {
      console.error(`embed.js: no token from ${tokenUrl}:`, error.message);
      return null;
    }
  }

  function refuse() {
    console.error(`embed.js: ${site} does not let ${location.origin} show this chat. Is it among its origins, and enabled?`);
    frame.remove();
    frame = null;
    isStarted = false;
    delete panel.dataset.started;
    said.setAttribute("role", "alert");
    said.textContent = words.refused;
    panel.replaceChildren(edges[0], note, edges[1]);
    if (!panel.hidden) away.focus();
  }

  function load() {
    const path = `embed/${encodeURIComponent(code)}${script.dataset.preview === undefined ? "" : "/preview"}`;
    frame = make("iframe", { title: label || words.chat, allow: "clipboard-write", referrerpolicy: "no-referrer" });
    frame.src = `${site}/${path}?lang=${encodeURIComponent(pageLanguage)}`;
    frame.addEventListener("load", () => {
      isStarted = false;
      post("hello", { theme: shown(), kept: kept() });
      clearTimeout(silence);
      silence = setTimeout(refuse, SILENCE_MS);
    });
    said.setAttribute("role", "status");
    said.textContent = words.opening;
    panel.replaceChildren(edges[0], note, frame, edges[1]); // the frame is seen once it has said that it is ours
  }

  addEventListener("message", async ({ source, origin, data }) => {
    if (!frame || source !== frame.contentWindow || origin !== site) return;
    if (data?.ragsite === "started") {
      clearTimeout(silence);
      isStarted = true;
      panel.dataset.started = "";
      if (panel.hidden) return;
      frame.focus();
      tell("focus");
    } else if (data?.ragsite === "token") tell("token", { token: await freshToken() });
    else if (data?.ragsite === "keep") keep(data.kept);
    else if (data?.ragsite === "close") close();
  });

  function open() {
    applyTheme();
    panel.hidden = false;
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-label", words.close);
    if (!frame) load();
    if (!isStarted) return away.focus();
    frame.focus();
    tell("focus");
  }

  function close() {
    panel.hidden = true;
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", label || words.open);
    button.focus();
  }

  away.addEventListener("click", close);
  button.addEventListener("click", () => (panel.hidden ? open() : close()));
  panel.addEventListener("keydown", ({ key }) => key === "Escape" && close());
  const place = () => document.body.append(box);
  if (document.body) place();
  else addEventListener("DOMContentLoaded", place);
})();
