// One exam: which cell is chosen, and what follows from it: the moment, the reply, the address.
"use strict";

{
  const { make } = SIMING;
  const main = document.querySelector("main.viewer");
  const videoId = main.dataset.video;
  const player = main.querySelector("video");
  const detail = main.querySelector(".detail");
  const flip = main.querySelector(".flip");
  const tabs = main.querySelector(".tabs");
  const sheets = [...main.querySelectorAll(".sheet")];
  const phone = window.matchMedia("(max-width: 60rem)");
  const [judge, beside] = ["judge", "beside"].map((name) => main.querySelector(`select[name=${name}]`));
  const select = SIMING.tabs(tabs, "Settings", (place, focus) => choose(sheets[place].dataset.setting, focus));
  const table = () => main.querySelector(".sheet:not([hidden]) table");
  let stopAt = null;
  let chosen = null; // the open cell
  let turn = 0;

  const timeline = new SIMING.Timeline(main.querySelector(".lanes"), parseFloat(main.dataset.duration), (step, run) => {
    const row = rowOf(step);
    if (!row) return;
    const heads = [...table().tHead.rows[0].cells];
    const column = heads.findIndex((head) => head.dataset.run && head.dataset.run === (run ?? judge.value));
    const cell = column < 0 ? null : row.cells[column].querySelector("button");
    if (cell) open(cell); else { mark(row, null); seek(row, false); }
  });
  timeline.seek = (time) => { if (player) { stopAt = null; player.currentTime = time; } };

  const rowOf = (step) => table().querySelector(`tr[data-step="${CSS.escape(step)}"]`);
  const headOf = (cell) => cell.closest("table").tHead.rows[0].cells[cell.closest("td").cellIndex];
  const runOf = (cell) => headOf(cell).dataset.run;

  function seek(row, play) {
    if (!player || row.dataset.start === undefined) return;
    stopAt = play ? parseFloat(row.dataset.end) : null;
    player.currentTime = parseFloat(row.dataset.start);
    if (play) player.play().catch(() => {}); else player.pause();
  }

  function mark(row, run) {
    for (const other of main.querySelectorAll(".cells tr.on")) other.classList.remove("on");
    for (const same of main.querySelectorAll(`tr[data-step="${CSS.escape(row.dataset.step)}"]`)) same.classList.add("on");
    timeline.mark(row.dataset.step, run);
  }

  // The cell in the middle of what scrolls around it, if it is not in view there; the page itself does not move.
  function reveal(cell) {
    const [own, around] = [cell.closest(".pane"), cell.closest(".judged")];
    const pane = [own, around].find((part) => getComputedStyle(part).overflowY !== "visible");
    if (!pane) { cell.closest("tr").scrollIntoView({ behavior: "instant" }); return; } // on phones, below the video
    const [box, here] = [pane.getBoundingClientRect(), cell.getBoundingClientRect()];
    const head = own.querySelector("thead").offsetHeight;
    if (here.top < box.top + head || here.bottom > box.bottom - 32) pane.scrollTop += here.top - (box.top + box.bottom) / 2;
    const side = own.querySelector("tbody th").offsetWidth;
    if (here.left < box.left + side || here.right > box.right) pane.scrollLeft += here.left - (box.left + side + box.right) / 2;
  }

  function sheetUp(up) {
    detail.classList.toggle("up", up);
    flip.setAttribute("aria-expanded", String(up));
    flip.textContent = up ? "Back to the grid" : "Reply";
  }

  const headFor = (run) => [...table().tHead.rows[0].cells].find((head) => head.dataset.run === run);

  // The columns and lanes of the chosen judge, and of one beside it.
  function show() {
    const wanted = { mine: judge.value, beside: beside.value };
    for (const [name, run] of Object.entries(wanted)) {
      for (const cell of main.querySelectorAll(`.cells .${name}`)) cell.classList.remove(name);
      const column = headFor(run)?.cellIndex;
      if (column) for (const row of table().rows) row.cells[column].classList.add(name);
    }
    table().classList.toggle("chosen", Boolean(headFor(judge.value)));
    timeline.show(table(), Object.values(wanted));
    if (player) timeline.play(player.currentTime);
  }

  // The judges of the open sheet to choose from, the one chosen before first if it is there.
  function offer() {
    const heads = [...table().tHead.rows[0].cells].filter((head) => head.dataset.run);
    const options = heads.map((head) => make("option", head.dataset.name, { value: head.dataset.run, dir: "auto" }));
    const before = [judge.value, beside.value];
    judge.replaceChildren(...options.map((option) => option.cloneNode(true)));
    beside.replaceChildren(make("option", "none", { value: "" }), ...options);
    for (const [place, select] of [judge, beside].entries()) if (heads.some((head) => head.dataset.run === before[place])) select.value = before[place];
    judge.closest(".choose").hidden = heads.length < 2;
  }

  async function open(cell, { focus = false, play = false } = {}) {
    const mine = ++turn;
    const row = cell.closest("tr");
    const sheet = cell.closest("table");
    const [setting, run, step] = [sheet.dataset.setting, runOf(cell), row.dataset.step];
    if (judge.value !== run) {
      if (beside.value === run) beside.value = judge.value;
      judge.value = run;
      show();
    }
    for (const other of main.querySelectorAll("button[aria-pressed=true]")) other.setAttribute("aria-pressed", "false");
    cell.setAttribute("aria-pressed", "true");
    chosen = cell;
    history.replaceState(null, "", `#${setting}/${run}/${step}`);
    rove(cell, focus);
    reveal(cell);
    mark(row, run);
    seek(row, play);
    const other = beside.value && beside.value !== run ? row.cells[headFor(beside.value).cellIndex].querySelector("button") : null;
    const cells = other ? [cell, other] : [cell];
    const spoke = cells.filter((one) => headOf(one).dataset.silent === undefined);
    const files = ["../rubric.js", ...spoke.map((one) => `../data/${runOf(one)}/${videoId}.js`)];
    if (main.dataset.frames === "listed") files.push(`../frames/${videoId}.js`);
    await Promise.all(files.map(SIMING.load));
    if (mine !== turn) return; // another cell was opened meanwhile
    const request = sheet.dataset.scope === "clip" ? `${setting}/${videoId}/${step}` : `${setting}/${videoId}`;
    const judges = cells.map((one) => ({ cell: one, entry: SIMING.entry(runOf(one), request), name: headOf(one).dataset.name }));
    const title = row.cells[0].textContent.trim();
    const why = main.querySelector(`tr[data-step="${CSS.escape(step)}"][data-lost]`); // stated once, in the first sheet
    if (why) row.dataset.lost = why.dataset.lost;
    const go = player && { length: timeline.length, play: (time) => { stopAt = null; player.currentTime = time; player.play().catch(() => {}); } };
    if (phone.matches) sheetUp(true);
    const times = SIMING.showReply(detail, { row, table: sheet, player, play: () => seek(row, true), go, frames: main.dataset.frames, judges, title });
    const media = judges[0].entry?.media;
    timeline.frames(times, media?.range ? [media.start, media.end] : null);
    if (phone.matches) {
      flip.hidden = false;
      const watch = main.querySelector(".watch");
      if (watch.getBoundingClientRect().top > 1) watch.scrollIntoView({ behavior: "instant" });
      reveal(cell);
    }
  }

  // One stop for the Tab key in each sheet; arrows move inside it.
  function rove(cell, focus) {
    for (const other of cell.closest("table").querySelectorAll("button[tabindex='0']")) other.tabIndex = -1;
    cell.tabIndex = 0;
    if (focus) cell.focus();
  }

  // Another judge was chosen: the open step as that one judged it.
  function again() {
    const row = chosen?.closest("table") === table() ? chosen.closest("tr") : null;
    const cell = row?.cells[headFor(judge.value).cellIndex].querySelector("button");
    show();
    if (cell) open(cell);
  }

  const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  for (const sheet of main.querySelectorAll("table.cells")) {
    const cells = [...sheet.tBodies[0].querySelectorAll("button")];
    sheet.tHead.addEventListener("click", (event) => {
      const head = event.target.closest("th[data-run]");
      if (head) { judge.value = head.dataset.run; again(); }
    });
    for (const cell of cells) cell.tabIndex = -1;
    if (cells.length) cells[0].tabIndex = 0;
    sheet.addEventListener("click", (event) => {
      const cell = event.target.closest("td button");
      if (cell) open(cell);
    });
    sheet.addEventListener("keydown", (event) => {
      const cell = event.target.closest("td button");
      if (!cell) return;
      if (event.key === " ") { event.preventDefault(); open(cell, { play: true }); return; }
      const move = MOVES[event.key];
      if (!move) return;
      event.preventDefault();
      step(cell, move);
    });
  }

  // From a cell to the next one in a direction.
  function step(cell, [down, right]) {
    let row = cell.closest("tr");
    let column = cell.closest("td").cellIndex;
    for (;;) {
      row = down ? (down < 0 ? row.previousElementSibling : row.nextElementSibling) : row;
      column += right;
      const target = row && row.cells[column];
      if (!target) return;
      const next = target.querySelector("button");
      if (next) { rove(next, true); reveal(next); return; }
    }
  }

  // Disagreements of the open sheet, judge by judge; `from` is a cell or null.
  const differing = (run) => {
    const heads = [...table().tHead.rows[0].cells];
    return heads.flatMap((head, column) => (head.dataset.run && (!run || head.dataset.run === run)
      ? [...table().tBodies[0].rows].map((row) => row.cells[column].querySelector("button[data-d]:not([data-d=none])")).filter(Boolean) : []));
  };

  // On to the next disagreement: of this judge, then of the judge beside it, then in the next exam.
  function walk(step) {
    const all = differing();
    const place = (cell) => { const td = cell.closest("td"); return td.cellIndex * 1e5 + td.parentNode.rowIndex; };
    const inside = chosen && chosen.closest("table") === table();
    const here = inside ? place(chosen) : step > 0 ? -1 : Infinity;
    const next = step > 0 ? all.find((cell) => place(cell) > here) : all.reverse().find((cell) => place(cell) < here);
    if (next) { open(next); return; }
    const other = step > 0 ? main.dataset.after : main.dataset.before;
    if (other) location.assign(`${encodeURIComponent(other)}.html#${table().dataset.setting}/${step > 0 ? "first" : "last"}`);
    else detail.prepend(make("p", "No further disagreement.", { class: "note" }));
  }

  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const stop = event.target === document.body || event.target === main ? table()?.querySelector("td button[tabindex='0']") : null;
    if (stop && (MOVES[event.key] || event.key === "Enter")) { // nothing has the focus yet: from the open cell, or to the first
      event.preventDefault();
      if (event.key === "Enter") open(stop, { focus: true });
      else if (chosen === stop) step(stop, MOVES[event.key]);
      else { rove(stop, true); reveal(stop); }
      return;
    }
    if (event.key === "j" || event.key === "k") { event.preventDefault(); walk(event.key === "j" ? 1 : -1); return; }
    if (!player || (event.key !== "p" && (event.key !== " " || event.target.closest("button, video, a, pre, summary")))) return;
    event.preventDefault();
    if (player.paused) player.play().catch(() => {}); else player.pause();
  });

  function choose(setting, focus) {
    for (const sheet of sheets) sheet.hidden = sheet.dataset.setting !== setting;
    select(sheets.findIndex((sheet) => !sheet.hidden), focus);
    offer();
    show();
  }
  if (sheets.length) {
    for (const list of [judge, beside]) list.addEventListener("change", again);
    tabs.hidden = false;
  }

  flip.addEventListener("click", () => sheetUp(!detail.classList.contains("up")));

  new ResizeObserver(([watch]) => {
    main.style.setProperty("--watch", `${watch.target.offsetHeight}px`);
    if (player) timeline.play(player.currentTime);
  }).observe(main.querySelector(".watch"));

  if (player) {
    const now = main.querySelector(".now");
    const tell = () => {
      const time = player.currentTime;
      if (stopAt !== null && time >= stopAt) { player.pause(); stopAt = null; }
      timeline.play(time);
      const here = [...table().querySelectorAll("tr[data-start]")].filter((row) => time >= parseFloat(row.dataset.start) && time < parseFloat(row.dataset.end));
      const row = here.find((one) => one.classList.contains("on")) || here[0];
      const text = row ? row.cells[0].textContent.trim() : "";
      const spoken = SIMING.spoken(time);
      if (now.dataset.text !== text + spoken) { now.dataset.text = text + spoken; now.replaceChildren(text, ...(spoken ? [" ", make("q", spoken)] : [])); }
    };
    player.addEventListener("timeupdate", tell);
    player.addEventListener("seeked", tell);
    SIMING.watch(player, main.querySelector(".player-error"));
    if (main.dataset.transcript !== undefined) SIMING.load(`../transcripts/${videoId}.js`).then(tell);
  }

  // #setting, #setting/step, #setting/run, #setting/run/step; `first` and `last` are the disagreements at the ends.
  function follow() {
    const parts = decodeURIComponent(location.hash.slice(1)).split("/");
    const sheet = sheets.find((item) => item.dataset.setting === parts[0]) || sheets[0];
    if (!sheet) return;
    choose(sheet.dataset.setting);
    const heads = [...sheet.querySelectorAll("thead th")];
    const run = heads.find((head) => head.dataset.run && parts.includes(head.dataset.run, 1));
    const row = [...sheet.querySelectorAll("tbody tr")].find((item) => parts.includes(item.dataset.step, 1));
    if (!run && !row && (parts[1] === "first" || parts[1] === "last")) {
      const ends = differing();
      if (ends.length) open(parts[1] === "first" ? ends[0] : ends[ends.length - 1]);
    } else if (run) {
      const cell = (row || sheet.querySelector("tbody tr")).cells[run.cellIndex].querySelector("button");
      if (cell) open(cell);
    } else if (row) { mark(row, null); reveal(row.cells[0]); seek(row, false); }
  }
  window.addEventListener("hashchange", follow);
  if (player && player.readyState < 1) player.addEventListener("loadedmetadata", () => { // where it was to go before it could
    const row = main.querySelector(".sheet:not([hidden]) tr.on");
    if (row) seek(row, false);
    if (chosen && phone.matches) reveal(chosen);
  }, { once: true });
  follow();
}
