// A new source shows the settings of the kind that is chosen.
(() => {
  const kind = document.querySelector("select[name=kind]");
  if (!kind) return;
  const show = () => {
    for (const group of document.querySelectorAll(".rs-kind")) group.hidden = !group.classList.contains(`rs-kind-${kind.value}`);
  };
  kind.addEventListener("change", show);
  show();
})();
