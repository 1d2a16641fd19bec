"use strict";
// Finds headings by their words. The index is a script beside this one, so that it works from a folder, too.
{
  const top = document.currentScript.dataset.top;
  const box = document.getElementById("find");
  const list = document.getElementById("found");
  const MOST = 12;

  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length
      ? HEADINGS.filter((each) => words.every((word) => `${each.page} ${each.text}`.toLowerCase().includes(word)))
      : [];
    list.replaceChildren(...hits.slice(0, MOST).map(row));
    list.hidden = hits.length === 0;
  };

  const row = (each) => {
    const item = document.createElement("li");
    const link = item.appendChild(document.createElement("a"));
    link.href = top + each.at;
    link.append(each.text);
    link.appendChild(document.createElement("small")).append(each.page);
    return item;
  };

  box.addEventListener("input", show);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") list.querySelector("a")?.click();
    if (event.key === "Escape") { box.value = ""; show(); }
  });
  document.addEventListener("click", (event) => { if (!event.target.closest("header")) list.hidden = true; });
  // On a narrow screen the list of pages would stand before the text.
  if (matchMedia("(max-width: 52rem)").matches) document.querySelector(".order details").open = false;
}
