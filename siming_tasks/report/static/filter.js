// Above a table: all its intervals, and a filter for each column: text, or a bound such as "> 0.4" where the column is of numbers.
"use strict";

function fits(cell, wanted, numeric) {
  const bound = numeric && wanted.match(/^([<>]=?|=)\s*([-\u2212+]?\d*\.?\d+)$/);
  if (!bound) return cell.textContent.toLowerCase().includes(wanted);
  const value = number(cell);
  const limit = parseFloat(bound[2].replace("\u2212", "-"));
  return { "<": value < limit, "<=": value <= limit, ">": value > limit, ">=": value >= limit, "=": value === limit }[bound[1]];
}

for (const table of document.querySelectorAll("table.filtered")) {
  const frame = table.closest(".scroll");
  const heads = [...table.tHead.rows[0].cells];
  const row = document.createElement("tr");
  row.className = "filters";
  row.hidden = true;
  const inputs = heads.map((head) => {
    const cell = document.createElement("td");
    const input = document.createElement("input");
    input.type = "search";
    input.autocomplete = "off";
    input.placeholder = head.classList.contains("num") ? "> 0.4" : "text";
    input.setAttribute("aria-label", `Filter ${head.textContent.trim()}`);
    cell.append(input);
    row.append(cell);
    return input;
  });
  table.tHead.append(row);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "filter-columns";
  button.textContent = "Filter columns";
  button.setAttribute("aria-expanded", "false");
  const told = document.createElement("span");
  told.className = "sub";
  told.setAttribute("role", "status");
  const bar = document.createElement("p");
  bar.className = "filter-bar";
  bar.append(button, " ", told);
  frame.before(bar);
  if (table.classList.contains("lines")) { // rows have one line; all intervals on demand
    const all = button.cloneNode();
    all.textContent = "All intervals";
    all.addEventListener("click", () => all.setAttribute("aria-expanded", String(table.classList.toggle("all"))));
    bar.prepend(all, " ");
  }
  const show = () => {
    const wanted = inputs.map((input) => input.value.trim().toLowerCase());
    const rows = [...table.tBodies[0].rows];
    let shown = 0;
    for (const line of rows) {
      line.hidden = wanted.some((text, k) => text && !fits(line.cells[k], text, heads[k].classList.contains("num")));
      shown += !line.hidden;
    }
    told.textContent = wanted.some(Boolean) ? `${shown} of ${rows.length} rows` : "";
  };
  row.addEventListener("input", show);
  button.addEventListener("click", () => {
    row.hidden = !row.hidden;
    button.setAttribute("aria-expanded", String(!row.hidden));
    if (row.hidden) for (const input of inputs) input.value = "";
    else inputs[0].focus();
    show();
  });
}
