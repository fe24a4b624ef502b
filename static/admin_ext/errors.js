/* Above a form that was refused: which fields, each a link to it. The first one is scrolled to and has the focus. */

const FIELD = "input:not([type=hidden]):not([disabled]), textarea, select";

function faultyFields(form) {
  const places = [...form.querySelectorAll(".errors")];
  return places.filter((place) => !place.querySelector(".errors") && place.querySelector(FIELD));
}

function link(place) {
  const control = place.querySelector(FIELD);
  const name = (place.querySelector("label, legend") ?? control.labels?.[0])?.textContent.replace("*", "").trim() || control.ariaLabel || control.name;
  const made = Object.assign(document.createElement("a"), { href: `#${control.id}`, className: "rs-link", textContent: name });
  made.addEventListener("click", (event) => {
    event.preventDefault();
    show(control);
  });
  return made;
}

function show(control) {
  const fold = control.closest("details:not([open])");
  if (fold) fold.open = true;
  control.scrollIntoView({ block: "center" });
  control.focus({ preventScroll: true });
}

addEventListener("load", () => {
  const note = document.querySelector("#content form .errornote");
  const places = note ? faultyFields(note.closest("form")) : [];
  if (!places.length) return;
  places.forEach((place, number) => note.append(number ? ", " : " ", link(place)));
  show(places[0].querySelector(FIELD));
});
