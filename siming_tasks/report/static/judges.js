// Judges that a reader hides: their rows, columns and choices go, here and on the report's other pages. Nothing is
// computed anew.
"use strict";

window.SIMING = window.SIMING || {};

{
  const menu = document.querySelector("details.judges");
  const boxes = [...menu.querySelectorAll("input")];
  const place = `siming-hidden-${document.body.dataset.report}`;
  let hidden = new Set();
  try { hidden = new Set(JSON.parse(localStorage.getItem(place)) || []); } catch { /* a browser that keeps nothing */ }
  SIMING.hidden = (slug) => hidden.has(slug);

  // What is hidden, said where the verdict is: that names the best of all judges, hidden or not.
  const note = document.createElement("p");
  note.className = "note hiding";
  note.setAttribute("role", "status");
  const words = document.createElement("span");
  const all = document.createElement("button");
  all.type = "button";
  all.textContent = "Show all";
  all.addEventListener("click", () => { choose([]); menu.querySelector("summary").focus(); });
  note.append(words, " ", all);
  if (!document.querySelector("main.viewer")) document.querySelector("header.top").after(note);

  function apply() {
    for (const row of document.querySelectorAll("tr[data-judge]")) row.classList.toggle("off", hidden.has(row.dataset.judge));
    for (const table of document.querySelectorAll("table:has(th[data-run])")) {
      const columns = [...table.tHead.rows[0].cells].filter((head) => head.dataset.run && (hidden.has(head.dataset.run) || head.classList.contains("off")));
      for (const head of columns) for (const row of table.rows) row.cells[head.cellIndex]?.classList.toggle("off", hidden.has(head.dataset.run));
    }
    const count = boxes.filter((box) => hidden.has(box.value)).length;
    for (const box of boxes) box.checked = !hidden.has(box.value);
    const names = boxes.filter((box) => hidden.has(box.value)).map((box) => box.parentNode.textContent.trim());
    note.hidden = !count;
    words.textContent = `Hidden in tables and lists: ${names.join(", ")}. The verdict, ranks and charts are of all judges.`;
    for (const link of document.querySelectorAll(".ruling a[data-run]")) link.classList.toggle("away", hidden.has(link.dataset.run));
    menu.querySelector("summary").textContent = count ? `Judges (${count} hidden)` : "Judges";
  }

  function choose(slugs) {
    hidden = new Set(slugs);
    try { localStorage.setItem(place, JSON.stringify([...hidden])); } catch { /* on this page alone */ }
    apply();
    document.dispatchEvent(new Event("judges"));
  }

  menu.addEventListener("change", () => choose(boxes.filter((box) => !box.checked).map((box) => box.value)));
  document.addEventListener("click", (event) => { if (!event.target.closest("details.judges")) menu.open = false; });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && menu.open) { menu.open = false; menu.querySelector("summary").focus(); } });
  menu.hidden = boxes.length < 2;
  apply();
}
