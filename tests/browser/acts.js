// What a person may do on a page: post a form, choose a file, press a button. An act is a page and one of its controls.
(() => {
  // an id is "#"; a conversation is the same page as the first one
  const kind = (path) =>
    path
      .replace(/\/(?:\d+|[0-9a-f]{16,}|[0-9a-f]{8}-[0-9a-f-]{27,})(?=\/|$)/g, "/#")
      .replace(/^\/c\/#$/, "/");
  const word = (text) => (/^[a-z][a-z-]*$/.test(text) ? `=${text}` : "");
  const id = (element) => element.id.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "#").replace(/\d+/g, "#");
  const attribute = (control) => {
    const data = [...control.attributes].find((each) => each.name.startsWith("data-"));
    if (control.id) return id(control);
    if (data) return `[${data.name}${word(data.value)}]`;
    if (control.name) return control.name + word(control.value);
    const around = control.closest("[id]"); // a button without a name of its own has that of its dialog
    return [around && id(around), control.classList[0] && `.${control.classList[0]}`, control.value].filter(Boolean).join(" ");
  };
  const CHROME = "#nav-sidebar, #header-inner, #side, .topbar, [id^=command], [x-data*=openCommand]";
  const place = (control) => (control.closest(CHROME) ? "every page" : kind(location.pathname));
  const formAct = (form, submitter) => {
    const address = submitter?.getAttribute("formaction") || form.getAttribute("action") || location.href;
    const action = kind(new URL(address, location.href).pathname);
    const target = action === kind(location.pathname) ? "form" : `form to ${action}`;
    const name = submitter?.name && submitter.name !== "index" ? submitter.name : "";
    const hidden = form.querySelector("input[type=hidden][name=act], input[type=hidden][name=state]");
    if (hidden && !name) return `${target} ${hidden.name}=${hidden.value}`;
    return name ? `${target} ${name}${name.startsWith("_") ? "" : word(submitter.value)}` : target;
  };

  /** The acts of pressing this button, as [page, act]. */
  const actsOf = (button) => {
    if (button.id === "command-submit") return [];
    const form = button.form;
    if (!form || button.type !== "submit" || form.method === "dialog") return [[place(button), `button ${attribute(button)}`]];
    if (form.method !== "post") return [];
    const chosen = form.querySelector("select[name=action]");
    if (chosen && (!button.name || button.name === "index")) return chosen.value ? [[place(button), `action ${chosen.value}`]] : [];
    return [[place(button), formAct(form, button)]];
  };

  const BUTTONS = "button, input[type=submit], input[type=button]";
  window.actsOnPage = () => [
    ...[...document.querySelectorAll(BUTTONS)].filter((button) => !button.disabled).flatMap(actsOf),
    ...[...document.querySelectorAll("input[type=file]")].map((field) => [place(field), `file ${field.name || field.id}`]),
    ...[...document.querySelectorAll("select[name=action] option")]
      .filter((option) => option.value)
      .map((option) => [place(option), `action ${option.value}`]),
  ];

  const tell = (acts) => acts.forEach((act) => window.actDone(act));
  let picker = null; // the file field whose picker was opened by a press
  addEventListener(
    "click",
    (event) => {
      const label = event.target.closest?.("label");
      const field = event.target.closest?.("input[type=file]") ?? (label?.control?.type === "file" ? label.control : null);
      if (field) picker = field; // also the press that a script passes on to a hidden field
      const button = event.isTrusted && event.target.closest?.(BUTTONS);
      if (button && !(button.type === "submit" && button.form && button.form.method !== "dialog")) tell(actsOf(button));
    },
    true,
  );
  addEventListener(
    "change",
    (event) => {
      const field = event.target;
      if (field.type === "file" && picker === field && field.files.length) tell([[place(field), `file ${field.name || field.id}`]]);
    },
    true,
  );
  addEventListener(
    "submit",
    (event) => {
      if (!event.isTrusted || event.target.method !== "post") return;
      tell(event.submitter ? actsOf(event.submitter) : [[place(event.target), formAct(event.target, null)]]);
    },
    true,
  );
})();
