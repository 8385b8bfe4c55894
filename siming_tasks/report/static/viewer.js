// One video: the player, the step spans, and what each judge said. Replies are data files that are loaded when a cell
// is opened; whatever a model wrote goes into the page as text and nothing else.
"use strict";

const main = document.querySelector("main.viewer");
const videoId = main.dataset.video;
const player = main.querySelector("video");
const detail = main.querySelector(".detail");
const timeline = main.querySelector(".timeline");
const stored = new Map();
const loading = new Map();
let stopAt = null;

let listed = null; // seconds of every frame of the video, where they are not evenly spaced

window.SIMING = {
  put: (run, request, entry) => stored.set(`${run} ${request}`, entry),
  frames: (times) => { listed = times; },
};

function load(folder) {
  if (!loading.has(folder)) {
    loading.set(folder, new Promise((done) => {
      const script = document.createElement("script");
      script.src = `../${folder}/${videoId}.js`;
      script.onload = script.onerror = done;
      document.head.append(script);
    }));
  }
  return loading.get(folder);
}

const make = (name, text, attributes = {}) => {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

const duration = () => (player && Number.isFinite(player.duration) ? player.duration : null);
const SVG = "http://www.w3.org/2000/svg";

// Seconds of the frames that were shown: as the file lists them, or evenly spaced between the first and the last.
function frameTimes(media) {
  if (media.start === undefined || media.end === undefined) return [];
  const indices = media.indices || [];
  if (listed && indices.every((index) => index < listed.length)) return indices.map((index) => listed[index]);
  if (indices.length < 2) return indices.length ? [media.start] : [];
  const [first, last] = [indices[0], indices[indices.length - 1]];
  return indices.map((index) => media.start + ((index - first) / (last - first || 1)) * (media.end - media.start));
}

function drawTicks(media) {
  const group = timeline.querySelector(".ticks");
  group.replaceChildren();
  const length = duration();
  if (!length || !media) return;
  const bottom = timeline.viewBox.baseVal.height;
  if (media.range) {
    const bar = document.createElementNS(SVG, "rect");
    for (const [key, value] of Object.entries({ x: (media.start / length) * 1000, width: ((media.end - media.start) / length) * 1000, y: bottom - 8, height: 5 })) bar.setAttribute(key, value);
    group.append(bar);
  }
  for (const time of frameTimes(media)) {
    const tick = document.createElementNS(SVG, "line");
    const x = (time / length) * 1000;
    for (const [key, value] of Object.entries({ x1: x, x2: x, y1: bottom - 10, y2: bottom - 1 })) tick.setAttribute(key, value);
    group.append(tick);
  }
}

function seek(row, play) {
  if (!player || row.dataset.start === undefined) return;
  stopAt = play ? parseFloat(row.dataset.end) : null;
  player.currentTime = parseFloat(row.dataset.start);
  if (play) player.play().catch(() => {}); else player.pause();
}

function mark(row) {
  for (const other of main.querySelectorAll(".cells tr.on, .span.on")) other.classList.remove("on");
  const step = row.dataset.step;
  for (const same of main.querySelectorAll(`[data-step="${CSS.escape(step)}"]`)) same.classList.add("on");
}

const WORDS = {
  ok: "every asked step was answered", empty: "the reply is empty", no_json: "no JSON in the reply", bad_json: "JSON that cannot be read",
  wrong_keys: "JSON that does not name all asked steps", off_scale: "points off the step’s scale", truncated: "cut off before its end",
  refused: "a refusal", request_failed: "no model answered: the request failed",
};

function facts(entry, setting, step) {
  const list = make("dl");
  const put = (name, value) => list.append(make("dt", name), make("dd", value));
  put("Read as", `${entry.status}: ${WORDS[entry.status] || ""}`);
  const answer = entry.answers[step];
  const said = setting.endsWith("error") ? (answer ? "incorrect" : "correct") : `${answer} points`;
  put("This step", answer === undefined ? `no answer (${entry.missing[step] || "not asked"})` : said);
  const others = Object.keys(entry.missing);
  if (others.length) put("Without answer", others.map((name) => `${name} (${entry.missing[name]})`).join(", "));
  const media = entry.media || {};
  if (media.mode && media.mode !== "unknown") {
    const speed = media.fps ?? media.file_fps;
    const rate = speed ? `, ${speed} frames/s` : "";
    put("Was shown", `${media.n_frames ?? media.file_frames} frames${media.mode === "frames" ? "" : " (as a file; its reader chose among them)"}, ${media.start} to ${media.end} s${rate}${media.density && media.density !== "native" ? `, ${media.density} density` : ""}`);
    if (media.reader) put("Reader", [media.reader, media.sampler, media.size && `at most ${media.size} px`].filter(Boolean).join(", "));
  } else put("Was shown", "not recorded");
  if (entry.prompt) put("Prompt", entry.prompt);
  return list;
}

async function thumbnails(times, holder, button) {
  button.disabled = true;
  const copy = document.createElement("video");
  Object.assign(copy, { src: player.src, muted: true, preload: "auto" });
  await new Promise((done) => { copy.onloadedmetadata = copy.onerror = done; });
  for (const time of times) {
    await new Promise((done) => { copy.onseeked = copy.onerror = done; copy.currentTime = Math.min(time + 0.001, copy.duration); });
    const canvas = make("canvas");
    canvas.width = 224;
    canvas.height = Math.round((224 * copy.videoHeight) / (copy.videoWidth || 1)) || 126;
    canvas.getContext("2d").drawImage(copy, 0, 0, canvas.width, canvas.height);
    const box = make("figure");
    box.append(canvas, make("figcaption", `${time.toFixed(1)} s`));
    holder.append(box);
  }
  copy.removeAttribute("src");
  button.remove();
}

async function open(cell, { focus = false, play = false } = {}) {
  const row = cell.closest("tr");
  const table = cell.closest("table");
  const setting = table.dataset.setting;
  const run = table.tHead.rows[0].cells[cell.closest("td").cellIndex].dataset.run;
  const name = table.tHead.rows[0].cells[cell.closest("td").cellIndex].textContent.trim();
  const step = row.dataset.step;
  for (const other of main.querySelectorAll("button[aria-pressed=true]")) other.setAttribute("aria-pressed", "false");
  cell.setAttribute("aria-pressed", "true");
  history.replaceState(null, "", `#${setting}/${run}/${step}`);
  rove(cell, focus);
  mark(row);
  seek(row, play);
  await Promise.all([load(`data/${run}`), main.dataset.frames === "listed" && load("frames")]);
  const request = table.dataset.scope === "clip" ? `${setting}/${videoId}/${step}` : `${setting}/${videoId}`;
  const entry = stored.get(`${run} ${request}`);
  const title = make("h2", `${name.replace(/^[●▲◆■]\s*/, "")}, ${row.cells[0].textContent.trim()}`);
  if (!entry) {
    detail.replaceChildren(title, make("p", "No reply to this question in the run."));
    drawTicks(null);
    return;
  }
  drawTicks(entry.media);
  const parts = [title, facts(entry, setting, step)];
  if (row.dataset.start !== undefined && player) {
    const button = make("button", "Play this step", { type: "button" });
    button.addEventListener("click", () => seek(row, true));
    parts.push(button);
  }
  const times = frameTimes(entry.media || {});
  if (times.length && player) {
    const holder = make("div", undefined, { class: "frames" });
    const button = make("button", `Show the ${times.length} frames`, { type: "button" });
    button.addEventListener("click", () => thumbnails(times, holder, button));
    parts.push(" ", button, holder);
    if (main.dataset.frames === "unknown") parts.push(make("p", "Their times are estimated: the video file could not be read when the report was made, so its frames are taken to be evenly spaced.", { class: "sub" }));
  }
  if (entry.reply === null) parts.push(make("p", "The file holds the parsed answers only, no raw reply."));
  else {
    parts.push(make("h3", `Raw reply (${entry.length.toLocaleString("en")} characters${table.dataset.scope === "full" ? ", about the whole video" : ""})`));
    parts.push(make("pre", entry.reply, { dir: "ltr", tabindex: "0", "aria-label": "Raw reply" }));
  }
  detail.replaceChildren(...parts);
}

// One stop for the Tab key in each sheet; arrows move inside it.
function rove(cell, focus) {
  const table = cell.closest("table");
  for (const other of table.querySelectorAll("button[tabindex='0']")) other.tabIndex = -1;
  cell.tabIndex = 0;
  if (focus) cell.focus();
}

const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
for (const table of main.querySelectorAll("table.cells")) {
  const cells = [...table.tBodies[0].querySelectorAll("button")];
  for (const cell of cells) cell.tabIndex = -1;
  if (cells.length) cells[0].tabIndex = 0;
  table.addEventListener("click", (event) => {
    const cell = event.target.closest("td button");
    if (cell) open(cell);
  });
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td button");
    if (!cell) return;
    if (event.key === " ") { event.preventDefault(); open(cell, { play: true }); return; }
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    let row = cell.closest("tr");
    let column = cell.closest("td").cellIndex;
    for (;;) {
      row = move[0] ? (move[0] < 0 ? row.previousElementSibling : row.nextElementSibling) : row;
      column += move[1];
      const target = row && row.cells[column];
      if (!target) return;
      const next = target.querySelector("button");
      if (next) { rove(next, true); return; }
    }
  });
}

const tabs = main.querySelector(".tabs");
const sheets = [...main.querySelectorAll(".sheet")];
function choose(setting, focus) {
  for (const sheet of sheets) sheet.hidden = sheet.dataset.setting !== setting;
  for (const tab of tabs.children) {
    const on = tab.dataset.setting === setting;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    if (on && focus) tab.focus();
  }
}
if (sheets.length) {
  tabs.hidden = false;
  tabs.setAttribute("role", "tablist");
  tabs.setAttribute("aria-label", "Settings");
  for (const tab of tabs.children) {
    tab.setAttribute("role", "tab");
    tab.addEventListener("click", () => choose(tab.dataset.setting));
  }
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const at = [...tabs.children].indexOf(document.activeElement);
    const next = tabs.children[(at + step + tabs.children.length) % tabs.children.length];
    choose(next.dataset.setting, true);
  });
}

timeline.addEventListener("click", (event) => {
  const span = event.target.closest(".span");
  if (span) {
    const row = main.querySelector(`.sheet:not([hidden]) tr[data-step="${CSS.escape(span.dataset.step)}"]`);
    if (row) { mark(row); seek(row, false); }
  } else if (duration()) {
    const box = timeline.getBoundingClientRect();
    player.currentTime = ((event.clientX - box.left) / box.width) * duration();
  }
});

if (player) {
  const head = timeline.querySelector(".playhead");
  const now = main.querySelector(".now");
  const tell = () => {
    const time = player.currentTime;
    if (stopAt !== null && time >= stopAt) { player.pause(); stopAt = null; }
    if (duration()) for (const key of ["x1", "x2"]) head.setAttribute(key, (time / duration()) * 1000);
    const here = [...main.querySelectorAll(".sheet:not([hidden]) tr[data-start]")].filter((r) => time >= parseFloat(r.dataset.start) && time < parseFloat(r.dataset.end));
    const row = here.find((r) => r.classList.contains("on")) || here[0];
    const text = row ? row.cells[0].textContent.trim() : "";
    if (now.dataset.text !== text) { now.dataset.text = text; now.textContent = text; }
  };
  player.addEventListener("timeupdate", tell);
  player.addEventListener("seeked", tell);
  player.addEventListener("error", () => { main.querySelector(".player-error").hidden = false; });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea, select, button, video, a, pre") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "k" || event.key === " ") { event.preventDefault(); if (player.paused) player.play().catch(() => {}); else player.pause(); }
  });
}

// #setting, #setting/step, #setting/run or #setting/run/step
function follow() {
  const parts = decodeURIComponent(location.hash.slice(1)).split("/");
  const sheet = sheets.find((item) => item.dataset.setting === parts[0]) || sheets[0];
  if (!sheet) return;
  choose(sheet.dataset.setting);
  const heads = [...sheet.querySelectorAll("thead th")];
  const run = heads.find((head) => head.dataset.run && parts.includes(head.dataset.run, 1));
  const row = [...sheet.querySelectorAll("tbody tr")].find((item) => parts.includes(item.dataset.step, 1));
  if (run) {
    const cell = (row || sheet.querySelector("tbody tr")).cells[run.cellIndex].querySelector("button");
    if (cell) open(cell);
  } else if (row) { mark(row); seek(row, false); }
}
window.addEventListener("hashchange", follow);
if (player && player.readyState < 1) player.addEventListener("loadedmetadata", follow, { once: true }); 
follow();
