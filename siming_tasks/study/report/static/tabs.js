// Sections of which one is shown at a time, chosen by tabs or by the address. Without scripts, and on paper, all are.
"use strict";

for (const holder of document.querySelectorAll(".tabbed")) {
  const sections = [...holder.querySelectorAll(":scope > section")];
  if (sections.length < 2) continue;
  const bar = document.createElement("div");
  bar.className = "tabs";
  bar.setAttribute("role", "tablist");
  bar.setAttribute("aria-label", holder.dataset.label);
  const tabs = sections.map((section) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${section.id}`;
    tab.textContent = section.querySelector("h2").textContent;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", section.id);
    section.setAttribute("role", "tabpanel");
    return tab;
  });
  const choose = (wanted, focus) => {
    sections.forEach((section, k) => {
      section.hidden = section !== wanted;
      tabs[k].setAttribute("aria-selected", String(section === wanted));
      tabs[k].tabIndex = section === wanted ? 0 : -1;
      if (focus && section === wanted) tabs[k].focus();
    });
  };
  const follow = () => {
    const name = decodeURIComponent(location.hash.slice(1));
    const inside = document.getElementById(name) || document.getElementById(name.split("/")[0]);
    const wanted = sections.find((section) => section.contains(inside));
    if (wanted || !tabs.some((tab) => tab.getAttribute("aria-selected") === "true")) choose(wanted || sections[0]);
    if (wanted && !name.includes("/")) inside.scrollIntoView({ behavior: "instant" });
  };
  bar.append(...tabs);
  bar.addEventListener("click", (event) => { const at = tabs.indexOf(event.target.closest("button")); if (at >= 0) choose(sections[at]); });
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) choose(sections[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length], true);
  });
  holder.prepend(bar);
  window.addEventListener("hashchange", follow);
  follow();
}
