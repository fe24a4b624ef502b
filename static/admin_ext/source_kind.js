// A new source shows the settings of the kind that is chosen, and what its location is like; their names begin with it, and it may begin another kind.
(() => {
  const kind = document.querySelector("select[name=kind]");
  if (!kind) return;
  const kinds = [...kind.options].map((option) => option.value).sort((a, b) => b.length - a.length);
  const kindOf = (name) => kinds.find((value) => name.startsWith(`${value}_`));
  const show = () => {
    for (const group of document.querySelectorAll(".rs-kind")) group.hidden = kindOf(group.querySelector("[name]").name) !== kind.value;
    for (const help of document.querySelectorAll(".rs-location")) help.hidden = help.dataset.kind !== kind.value;
  };
  kind.addEventListener("change", show);
  show();
})();
