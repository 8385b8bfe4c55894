// A link to a cell: #setting/judge/metric, as #setting/judge/step leads to a cell of an exam.
"use strict";

const tables = [...document.querySelectorAll("table.linked")];
const copier = document.createElement("button");
copier.type = "button";
copier.className = "copy-link";
copier.textContent = "Copy link";

function place(cell) {
  const table = cell.closest("table");
  const head = table.tHead.rows[0].cells[cell.cellIndex];
  const setting = head.dataset.setting || table.dataset.setting;
  return head.dataset.metric && setting ? `#${setting}/${cell.parentNode.dataset.judge}/${head.dataset.metric}` : null;
}

function pick(cell) {
  for (const other of document.querySelectorAll("td.picked")) other.classList.remove("picked");
  cell.classList.add("picked");
  copier.textContent = "Copy link";
  cell.append(copier);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea"); // pages from disk may have no clipboard of their own
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

copier.addEventListener("click", async (event) => {
  event.stopPropagation();
  const where = place(copier.closest("td"));
  history.replaceState(null, "", where);
  copier.textContent = (await copy(location.href)) ? "Copied" : "The address bar has it";
  copier.focus();
});

for (const table of tables) {
  const cells = [...table.querySelectorAll("tbody td")].filter(place);
  cells.forEach((cell, k) => {
    cell.tabIndex = k ? -1 : 0;
    cell.classList.add("pickable");
  });
  table.addEventListener("click", (event) => {
    const cell = event.target.closest("td.pickable");
    if (cell && !event.target.closest("a, button, summary")) pick(cell);
  });
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td.pickable");
    if (!cell || event.target !== cell) return;
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (event.key === "Enter") { event.preventDefault(); pick(cell); copier.focus(); return; }
    if (!move) return;
    event.preventDefault();
    let row = cell.parentNode;
    do { row = move[0] < 0 ? row.previousElementSibling : move[0] > 0 ? row.nextElementSibling : row; } while (move[0] && row && row.hidden);
    const next = row && row.cells[cell.cellIndex + move[1]];
    if (next && next.classList.contains("pickable")) { cell.tabIndex = -1; next.tabIndex = 0; next.focus(); }
  });
}

function arrive() {
  const wanted = decodeURIComponent(location.hash);
  if (!wanted.includes("/")) return;
  const found = tables.flatMap((table) => [...table.querySelectorAll("td.pickable")]).reverse().find((cell) => place(cell) === wanted);
  if (found) { pick(found); found.scrollIntoView({ block: "center", inline: "center", behavior: "instant" }); }
}
window.addEventListener("hashchange", arrive);
arrive();
