// Runs before the first paint, in chat and admin: the stored theme, or the system's.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const choices = ["auto", "light", "dark"];
  const stored = () => {
    try {
      const choice = localStorage.getItem("theme");
      return choices.includes(choice) ? choice : "auto";
    } catch {
      return "auto"; // storage is switched off
    }
  };
  const apply = () => {
    const choice = stored();
    const dark = choice === "dark" || (choice === "auto" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.dataset.themeChoice = choice;
    document.dispatchEvent(new CustomEvent("theme:applied", { detail: choice }));
  };
  window.applyTheme = apply;
  window.chooseTheme = (choice) => {
    try {
      localStorage.setItem("theme", choice);
    } catch {
      return; // storage is switched off: the page stays as the system is
    }
    apply();
  };
  system.addEventListener("change", apply);
  addEventListener("storage", apply);
  apply();
})();
