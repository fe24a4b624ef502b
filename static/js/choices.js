// The theme buttons, wherever they are.

export function start() {
  const show = () => {
    for (const button of document.querySelectorAll("[data-theme-choices] button")) {
      button.setAttribute("aria-pressed", String(button.value === document.documentElement.dataset.themeChoice));
    }
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-theme-choices] button");
    if (!button) return;
    window.chooseTheme(button.value);
  });
  document.addEventListener("theme:applied", show);
  show();
}
