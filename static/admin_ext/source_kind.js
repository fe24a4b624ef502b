/* The form of a source: cards in the place of the select of systems, and only the fields of the chosen one. Names of
   settings begin with their kind, which may begin another kind. What has an error is always shown. */

const made = (tag, attributes = {}, ...content) => {
  const element = Object.assign(document.createElement(tag), attributes);
  element.append(...content);
  return element;
};

const row = (name) => document.querySelector(`[name="${name}"]`)?.closest(".field-line");

function cards(select) {
  const label = document.querySelector(`label[for="${select.id}"]`);
  const group = made("div", { className: "rs-kinds" });
  group.setAttribute("role", "radiogroup");
  if (label) {
    label.id ||= `${select.id}-label`;
    group.setAttribute("aria-labelledby", label.id);
    label.removeAttribute("for");
  }
  for (const options of select.querySelectorAll("optgroup")) {
    const box = made("div", { className: "rs-kind-cards" });
    for (const option of options.children) {
      const radio = made("input", { type: "radio", name: "_card", value: option.value, checked: option.selected });
      radio.addEventListener("change", () => {
        select.value = radio.value;
        select.dispatchEvent(new Event("change", { bubbles: true }));
      });
      const words = made("span", {}, made("strong", { textContent: option.textContent }), made("small", { textContent: option.dataset.summary }));
      box.append(made("label", { className: "rs-kind-card" }, radio, words));
    }
    const isOpen = !group.childElementCount || matchMedia("(width >= 48rem)").matches || options.contains(select.selectedOptions[0]);
    group.append(made("details", { open: isOpen }, made("summary", { textContent: options.label }), box));
  }
  const frame = select.parentElement.matches(".field-line, td, form") ? select : select.parentElement; // with the arrow of the theme
  frame.after(group);
  frame.hidden = true;
  select.tabIndex = -1;
  return group;
}

function start(select) {
  const kinds = [...select.options].map((option) => option.value).sort((a, b) => b.length - a.length);
  const kindOf = (name) => kinds.find((value) => name.startsWith(`${value}_`));
  const group = cards(select);
  const toggle = (element, isShown) => {
    if (element) element.hidden = !isShown && !element.querySelector(".errors, .errorlist, .text-red-600 li");
  };
  const show = () => {
    const takes = (select.selectedOptions[0]?.dataset.takes ?? "").split(" ");
    const is = (name) => takes.includes(name);
    for (const part of document.querySelectorAll(".rs-kind")) part.hidden = kindOf(part.querySelector("[name]").name) !== select.value;
    for (const help of document.querySelectorAll(".rs-location")) help.hidden = help.dataset.kind !== select.value;
    for (const radio of group.querySelectorAll("input")) radio.checked = radio.value === select.value;
    toggle(row("location"), is("listed"));
    toggle(row("schedule"), is("listed"));
    toggle(row("login"), is("login"));
    toggle(row("secret"), is("secret"));
    toggle(row("webhook_secret"), is("webhook"));
    toggle(row("allow_private"), is("host"));
    const signIn = document.querySelector(".rs-sign-in");
    if (signIn) signIn.hidden = !["login", "secret", "webhook_secret", "allow_private"].some((name) => row(name) && !row(name).hidden);
  };
  select.addEventListener("change", show);
  addEventListener("pageshow", show); // a browser may fill the form in again
  show();
}

const select = document.querySelector("select[name=kind]");
if (select) start(select);
