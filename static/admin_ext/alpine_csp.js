/* The admin theme under a policy without eval: static/unfold/js/alpine/alpine.js is the build of Alpine that reads
   expressions itself. It knows no global functions, no statements and no arrow functions: what the templates of the
   theme have of these is replaced here, before Alpine starts. */

const REPLACED = new Map([
  ["sidebarDesktopOpen = !sidebarDesktopOpen; localStorage.setItem('sidebarDesktopOpen', sidebarDesktopOpen ? '1' : '0');", "sidebarDesktopOpen = !sidebarDesktopOpen"],
  ["activeTab && activeTab !== 'general' ? window.location.pathname + window.location.search + '#' + activeTab : window.location.pathname + window.location.search", "formAction()"],
  ["if (!$event.metaKey && !$event.ctrlKey) selectItem(false, false)", "!$event.metaKey && !$event.ctrlKey && selectItem(false, false)"],
  ["if (!$event.metaKey && !$event.ctrlKey) selectItem(true, false)", "!$event.metaKey && !$event.ctrlKey && selectItem(true, false)"],
]);
const CHANGED = ["x-bind:action", "x-on:click", "x-on:keydown.enter.prevent"];
const SIDEBAR = "sidebarDesktopOpen";

/** The state of the page's body: the open tab of a form, and the side bar, which the browser remembers. */
function adminLayout(firstTab) {
  return {
    activeTab: firstTab === null ? "" : getCurrentTab() || firstTab,
    sidebarMobileOpen: false,
    sidebarDesktopOpen: (localStorage.getItem(SIDEBAR) ?? "1") === "1",
    init() {
      this.$watch(SIDEBAR, (isOpen) => localStorage.setItem(SIDEBAR, isOpen ? "1" : "0"));
    },
    formAction() {
      const { pathname, search } = window.location;
      return this.activeTab && this.activeTab !== "general" ? `${pathname}${search}#${this.activeTab}` : pathname + search;
    },
  };
}

/** The theme's state with the choice of all pages (static/js/theme.js) in the place of one of its own. */
function sharedTheme(fixed) {
  const state = theme(fixed);
  const { init, themeBindings } = state;
  const { themeChoice, theme: shade } = document.documentElement.dataset;
  return {
    ...state,
    adminTheme: fixed ?? themeChoice,
    shade,
    init() {
      init.call(this);
      if (fixed) return;
      document.addEventListener("theme:applied", ({ detail }) => {
        this.adminTheme = detail;
        this.shade = document.documentElement.dataset.theme;
      });
      this.$watch("adminTheme", (choice) => choice === document.documentElement.dataset.themeChoice || window.chooseTheme(choice));
    },
    themeBindings: {
      ...themeBindings,
      ["x-bind:class"]() {
        return fixed ?? this.shade;
      },
    },
  };
}

document.addEventListener("alpine:init", () => {
  const { body } = document;
  const firstTab = body.getAttribute("x-data")?.match(/activeTab: '([^']*)'/)?.[1] ?? null;
  if (body.hasAttribute("x-init")) {
    body.setAttribute("x-data", "adminLayout");
    body.removeAttribute("x-init");
  }
  window.Alpine.data("adminLayout", () => adminLayout(firstTab));
  window.Alpine.data("theme", sharedTheme);
  for (const make of [searchForm, searchCommand]) window.Alpine.data(make.name, make);
  for (const name of CHANGED) {
    for (const element of document.querySelectorAll(`[${CSS.escape(name)}]`)) {
      const expression = REPLACED.get(element.getAttribute(name));
      if (expression) element.setAttribute(name, expression);
    }
  }
});
