// Sections of which one is shown at a time, chosen by tabs or by the address. Without scripts, and on paper, all are.
"use strict";

for (const holder of document.querySelectorAll(".tabbed")) {
  const sections = [...holder.querySelectorAll(":scope > section")];
  if (sections.length < 2) continue;
  const bar = document.createElement("div");
  bar.className = "tabs";
  for (const section of sections) {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${section.id}`;
    tab.textContent = section.querySelector("h2").textContent;
    tab.setAttribute("aria-controls", section.id);
    section.setAttribute("role", "tabpanel");
    bar.append(tab);
  }
  const choose = (place, focus) => {
    sections.forEach((section, at) => { section.hidden = at !== place; });
    mark(place, focus);
  };
  const mark = SIMING.tabs(bar, holder.dataset.label, choose);
  const follow = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    const inside = document.getElementById(name) || document.getElementById(name.split("/")[0]);
    const wanted = sections.findIndex((section) => section.contains(inside));
    if (wanted >= 0 || sections.every((section) => !section.hidden)) choose(Math.max(wanted, 0));
    if (wanted >= 0 && !name.includes("/")) inside.scrollIntoView({ behavior: "instant" });
  };
  holder.prepend(bar);
  window.addEventListener("hashchange", follow);
  follow();
}
