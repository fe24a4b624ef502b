// Menus and popovers: one open at a time; Escape and clicks outside close; arrows move in menus.

import { byId, place } from "./dom.js";

let current = null; // { box, opener, onClose, above }

export const isOpen = () => current !== null;

export function open(box, opener, { onClose, above = false } = {}) {
  close();
  box.hidden = false;
  place(box, opener, { above });
  opener.setAttribute("aria-expanded", "true");
  current = { box, opener, onClose, above };
  const first = box.querySelector("[autofocus]") ?? box.querySelector("input, button:not([disabled]), a[href]");
  first?.focus({ preventScroll: true });
}

export function close({ focus = true } = {}) {
  if (!current) return false;
  const { box, opener, onClose } = current;
  const hadFocus = box.contains(document.activeElement);
  current = null;
  box.hidden = true;
  opener.setAttribute("aria-expanded", "false");
  if (focus && hadFocus) opener.focus({ preventScroll: true });
  onClose?.();
  return true;
}

/** Another element has taken the place of the opener; null closes the popover. */
export function openerReplaced(opener) {
  if (!current) return;
  if (!opener) return void close({ focus: false });
  current.opener = opener;
  opener.setAttribute("aria-expanded", "true");
}

function move(event) {
  const items = [...current.box.querySelectorAll("[role=menuitem], [role=menuitemradio], input, button, a[href]")].filter(
    (item) => item.offsetParent && !item.disabled,
  );
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || event.target.matches("textarea, select, input:is([type=text], [type=number], [type=date])")) return;
  event.preventDefault();
  const at = items.indexOf(document.activeElement);
  items[(at + step + items.length) % items.length]?.focus();
}

export function start() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-menu]");
    if (opener) {
      const again = current?.opener === opener;
      close();
      if (!again) {
        const box = byId(opener.dataset.menu);
        const event = new CustomEvent("popover-open", { detail: { opener }, bubbles: true });
        box.dispatchEvent(event);
        open(box, opener, { above: opener.closest(".side-foot, .dock") !== null });
      }
    } else if (event.target.closest("[data-close]")) {
      close();
    } else if (current && !current.box.contains(event.target)) {
      close({ focus: false });
    }
  });
  document.addEventListener("keydown", (event) => {
    if (!current) return;
    if (event.key === "Tab" && !current.box.contains(event.target)) close({ focus: false });
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event);
  });
  let width = innerWidth;
  addEventListener("resize", () => {
    // the keyboard of a phone takes from the height alone: what is being typed stays open
    if (innerWidth !== width) close({ focus: false });
    else if (current) place(current.box, current.opener, current);
    width = innerWidth;
  });
}
