/* What the admin theme and its widgets leave out for people who do not see the page: names of fields in rows, of search
   fields in lists of choices, of scrolled regions. Runs after the widgets have made their elements. */

function nameRows() {
  for (const field of document.querySelectorAll("#content td :is(input, select, textarea):not([type=hidden])")) {
    if (field.labels?.length || field.ariaLabel) continue;
    const cell = field.closest("td");
    const head = cell.closest("table")?.tHead?.rows[0]?.cells[cell.cellIndex];
    const name = cell.dataset.label || head?.textContent.trim() || field.name;
    field.ariaLabel = name;
  }
}

function nameChoices() {
  for (const container of document.querySelectorAll(".select2-container")) {
    const label = container.previousElementSibling?.labels?.[0];
    const search = container.querySelector(".select2-search__field");
    if (label && search) search.ariaLabel = label.textContent.trim();
    for (const list of container.querySelectorAll("ul.select2-selection__rendered")) {
      list.setAttribute("role", "presentation");
      for (const item of list.children) item.setAttribute("role", "presentation");
    }
  }
  for (const tip of document.querySelectorAll(".help-tooltip")) tip.setAttribute("role", "img");
}

function nameRegions() {
  document.querySelectorAll(".simplebar-content-wrapper[role=region]").forEach((region, number) => {
    const table = region.querySelector("table");
    region.ariaLabel = (region.closest("nav, #nav-sidebar") ? document.querySelector("#nav-sidebar")?.dataset.name : table?.ariaLabel) || `${region.ariaLabel} ${number + 1}`;
  });
  for (const cell of document.querySelectorAll("thead th")) {
    if (!cell.textContent.trim() && !cell.children.length) cell.replaceWith(Object.assign(document.createElement("td"), { className: cell.className }));
  }
}

/* Regions that scroll are reached by keyboard. */
function focusRegions() {
  for (const region of document.querySelectorAll(".rs-left, .rs-markdown, .rs-scroll, .rs-card pre, pre")) {
    const scrolls = region.scrollHeight > region.clientHeight + 1 || region.scrollWidth > region.clientWidth + 1;
    if (scrolls && !region.hasAttribute("tabindex")) region.tabIndex = 0;
  }
}

addEventListener("resize", focusRegions);
addEventListener("load", () =>
  setTimeout(() => {
    // after the other listeners of this event, which make the widgets
    nameRows();
    nameChoices();
    nameRegions();
    focusRegions();
  }),
);

/* The theme gives every file field a listener that writes the file's name into the disabled text field of its own widget,
   and fails where there is none. It asks this property before it does, and leaves fields alone that have one already. */
Object.defineProperty(HTMLInputElement.prototype, "hasChangeListener", {
  configurable: true,
  get() {
    const beside = this.parentNode?.parentNode?.parentNode?.querySelector("input[type=text]");
    return this.isHeardByTheme || !beside?.disabled;
  },
  set(value) {
    this.isHeardByTheme = value;
  },
});
