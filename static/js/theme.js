// Runs before the first paint: the stored theme, or the system's.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try {
      return localStorage.getItem("theme") || "auto";
    } catch {
      return "auto"; // storage is switched off
    }
  };
  const apply = () => {
    const choice = stored();
    const dark = choice === "dark" || (choice === "auto" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.dataset.themeChoice = choice;
  };
  window.applyTheme = apply;
  system.addEventListener("change", apply);
  addEventListener("storage", apply);
  apply();
})();
