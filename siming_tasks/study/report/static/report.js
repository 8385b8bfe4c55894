// Tables that sort, filter and page. Everything is readable without this file.
"use strict";

window.SIMING = window.SIMING || {};

// A bar of tabs with roles, clicks and arrow keys; returns what marks the chosen one.
SIMING.tabs = (bar, label, choose) => {
  const tabs = [...bar.children];
  bar.setAttribute("role", "tablist");
  bar.setAttribute("aria-label", label);
  for (const tab of tabs) tab.setAttribute("role", "tab");
  bar.addEventListener("click", (event) => { const at = tabs.indexOf(event.target.closest("button")); if (at >= 0) choose(at); });
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) choose((tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length, true);
  });
  return (wanted, focus) => tabs.forEach((tab, at) => {
    tab.setAttribute("aria-selected", String(at === wanted));
    tab.tabIndex = at === wanted ? 0 : -1;
    if (focus && at === wanted) tab.focus();
  });
};

const number = (cell) => {
  const text = cell.textContent.trim().replace(/^< /, "").replace(/\u2212/g, "-").replace(/,/g, "");
  const found = text.match(/^[-+]?\d*\.?\d+/);
  return found ? parseFloat(found[0]) : NaN;
};

function sortBy(table, column, header) {
  const body = table.tBodies[0];
  const down = header.getAttribute("aria-sort") !== "descending";
  const numeric = header.classList.contains("num");
  const rows = [...body.rows].filter((row) => row.cells.length > column);
  rows.sort((a, b) => {
    const [x, y] = [a.cells[column], b.cells[column]];
    if (!numeric) return x.textContent.trim().localeCompare(y.textContent.trim(), undefined, { numeric: true }) * (down ? 1 : -1);
    const [m, n] = [number(x), number(y)];
    if (Number.isNaN(m) || Number.isNaN(n)) return Number.isNaN(m) - Number.isNaN(n);
    return down ? n - m : m - n;
  });
  for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...rows);
  table.dispatchEvent(new Event("rows"));
}

for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    if (!header.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...[...header.childNodes].filter((node) => node.nodeName !== "A"));
    header.prepend(button);
    button.addEventListener("click", () => sortBy(table, column, header));
  });
}

const PAGE = 100;
for (const table of document.querySelectorAll("table.paged")) {
  const input = document.querySelector(`input[data-table="${table.id}"]`);
  const pager = document.querySelector(".pager");
  let page = 0;
  const show = () => {
    const wanted = (input ? input.value : "").toLowerCase();
    const rows = [...table.tBodies[0].rows];
    const hits = rows.filter((row) => row.textContent.toLowerCase().includes(wanted));
    const pages = Math.max(1, Math.ceil(hits.length / PAGE));
    page = Math.min(page, pages - 1);
    const shown = new Set(hits.slice(page * PAGE, (page + 1) * PAGE));
    for (const row of rows) row.hidden = !shown.has(row);
    pager.hidden = pages < 2;
    pager.replaceChildren(...[-1, 1].map((step) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = step < 0 ? "Previous" : "Next";
      button.disabled = page + step < 0 || page + step >= pages;
      button.addEventListener("click", () => { page += step; show(); });
      return button;
    }), ` page ${page + 1} of ${pages}`);
  };
  if (input) input.addEventListener("input", () => { page = 0; show(); });
  table.addEventListener("rows", show);
  show();
}
