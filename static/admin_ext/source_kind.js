// A new source shows the settings of the kind that is chosen; their names begin with it.
(() => {
  const kind = document.querySelector("select[name=kind]");
  if (!kind) return;
  const show = () => {
    for (const group of document.querySelectorAll(".rs-kind")) group.hidden = !group.querySelector("[name]").name.startsWith(`${kind.value}_`);
  };
  kind.addEventListener("change", show);
  show();
})();
