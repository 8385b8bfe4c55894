// The rating station's page. The station is the one that knows: every act is sent to it, and what it answers is shown.
// Whatever comes from files or people goes into the page as text.
import { actionOf, describe } from "/keys.js";
import { Line, fresh } from "/line.js";
import { FramesPlayer, VideoPlayer } from "/player.js";
import { Sheet, clock } from "/sheet.js";

const $ = (id) => document.getElementById(id);
const SPEEDS = [0.25, 0.5, 1, 1.5, 2];
const TYPED_MS = 900; // digits typed within this time are one number

let work = null; // what the station told at the start
let number = 0; // the item on screen
let open = null; // what it told of the item
let player = null;
let turn = 0; // counts what the physician did, saved or not
let typed = { text: "", at: 0 };

const line = new Line(
  (count) => document.body.classList.toggle("saving", count > 0),
  (text) => {
    $("trouble").textContent = text;
    $("trouble").hidden = !text;
  },
);

const can = (kind) => {
  if (kind === "half") return can("points") && sheet.halves();
  return Boolean(work && work.kinds.includes(kind));
};

const sheet = new Sheet($("sheet"), {
  can,
  act: (step, kind, value) => act(step, kind, value),
  moment: (span) => playSpan(span),
  mark: (kind) => actions[kind](),
  chosen: () => drawMarks(),
});

// ---- acts

async function act(step, kind, value = null) {
  const at = number;
  const told = await line.send("/act", { item: at, id: fresh(), step, kind, value });
  if (!told) return null;
  work.items[at].left = told.left;
  if (at === number) show(told);
  else showProgress();
  return told;
}

// The step whose act was taken back comes to the screen, unless the physician has gone on meanwhile.
async function back(kind) {
  const then = turn;
  const told = await act(null, kind);
  const about = told && (kind === "undo" ? told.redo : told.undo);
  if (about && then === turn) sheet.choose(about[0], true);
}

const setStep = (kind, value) => sheet.current && act(sheet.current, kind, value);

function mark(kind) {
  if (!sheet.current || !player) return;
  player.pause();
  setStep(kind, player.frame);
}

function digit(text) {
  const now = performance.now();
  const longer = typed.text + text;
  const allowed = sheet.points();
  const both = now - typed.at < TYPED_MS && typed.step === sheet.current && allowed.includes(Number(longer));
  const points = Number(both ? longer : text);
  typed = { text: both ? longer : text, at: now, step: sheet.current };
  setStep("points", points);
}

function playSpan(span) {
  if (span && player) player.span(span[0], span[1]);
}

// ---- what keys and buttons do

const actions = {
  play: () => player.toggle(),
  previousFrame: () => player.step(-1),
  nextFrame: () => player.step(1),
  back: () => player.jump(player.time - 5),
  forward: () => player.jump(player.time + 5),
  slower: () => speed(-1),
  faster: () => speed(1),
  jump: () => $("jump").focus(),
  previousStep: () => sheet.move(-1),
  nextStep: () => sheet.move(1),
  start: () => mark("start"),
  end: () => mark("end"),
  moment: () => playSpan(sheet.span()),
  clearSpan: async () => {
    const { start, end } = sheet.state();
    if (start != null) setStep("start", null);
    if (end != null) setStep("end", null);
  },
  digit: (key) => digit(key),
  half: () => setStep("points", Math.floor(sheet.state().points ?? 0) + 0.5),
  correct: () => setStep("verdict", "correct"),
  incorrect: () => setStep("verdict", "incorrect"),
  notApplicable: () => setStep("applicable", sheet.state().applicable === false),
  clear: () => setStep(can("verdict") ? "verdict" : "points", null),
  comment: () => sheet.comment(),
  undo: () => back("undo"),
  redo: () => back("redo"),
  nextExam: () => visit(number + 1),
  previousExam: () => visit(number - 1),
  help: () => ($("help").open ? $("help").close() : $("help").showModal()),
};

const ALWAYS = ["help", "nextExam", "previousExam"];
const WRITING = ["TEXTAREA", "SELECT"];

document.addEventListener("keydown", (event) => {
  const target = event.target;
  const writing = WRITING.includes(target.tagName) || target.id === "jump";
  if (writing || !work) {
    if (event.key === "Escape") target.blur();
    return;
  }
  const action = actionOf(event, can);
  if (!action || ($("help").open && action !== "help") || !$("letters").checked) return;
  if (target.tagName === "BUTTON" && event.key === " ") return; // a button under the keyboard's focus is pressed
  if (!open && !ALWAYS.includes(action)) return;
  event.preventDefault();
  turn += 1;
  actions[action](event.key);
});

document.addEventListener("click", (event) => {
  turn += 1;
  const button = event.target.closest("[data-do]");
  if (button && (open || ALWAYS.includes(button.dataset.do))) actions[button.dataset.do]();
});

// A button that is clicked does not take the keyboard away from the page.
document.addEventListener("mousedown", (event) => {
  if (event.target.closest("button") && !event.target.closest("dialog")) event.preventDefault();
});

function speed(by) {
  const at = Math.min(Math.max(SPEEDS.indexOf(player.speed) + by, 0), SPEEDS.length - 1);
  player.faster(SPEEDS[at]);
  $("speed").value = SPEEDS[at];
}

function seconds(text) {
  const parts = text.trim().replace(",", ".").split(":").map(Number);
  return parts.length > 3 || parts.some((part) => !Number.isFinite(part))
    ? null : parts.reduce((sum, part) => sum * 60 + part, 0);
}

// ---- the page

function showProgress() {
  const of = work.items.length;
  const left = work.items[number].left;
  const minutes = Math.round((open ? open.seconds : 0) / 60);
  const exams = work.items.filter((item) => !item.left).length;
  const single = work.items[number].of === 1;
  const what = sheet.unit[0].toUpperCase() + sheet.unit.slice(1);
  const rest = !left ? "finished" : single ? "open" : `${left} of ${work.items[number].of} steps left`;
  $("progress").textContent = `${what} ${number + 1} of ${of} · ${rest} · ${minutes} min here · ${exams} finished`;
  const options = $("exams").options;
  work.items.forEach((item, index) => {
    const text = `${index + 1}${item.left ? (item.left < item.of ? ` · ${item.left} left` : "") : " ✓"}`;
    if (options[index].textContent !== text) options[index].textContent = text;
  });
  $("exams").value = number;
}

function show(told) {
  Object.assign(open, told);
  sheet.show(open.state);
  for (const name of ["undo", "redo"]) {
    $(name).disabled = !open[name];
    $(name).title = open[name] ? `${open[name][1]} of ${sheet.title(open[name][0])}` : "";
  }
  drawMarks();
  showProgress();
  sheet.finished(!open.left, number + 1 < work.items.length);
}

function drawMarks() {
  const whole = open.player.end;
  const spans = Object.entries(open.state).filter(([, step]) => step.start != null);
  $("marks").replaceChildren(...spans.map(([id, step]) => {
    const bar = document.createElement("span");
    const seconds = Math.max((step.end ?? step.start) - step.start, whole / 300);
    bar.style.left = `${(100 * step.start) / whole}%`;
    bar.style.width = `${(100 * seconds) / whole}%`;
    bar.classList.toggle("current", id === sheet.current);
    return bar;
  }));
}

function moved() {
  if (!player) return;
  $("seek").value = player.frame;
  $("seek").setAttribute("aria-valuetext", clock(player.time));
  $("time").textContent = `${clock(player.time)} · frame ${player.frame + 1} of ${player.times.length}`;
  $("play").textContent = player.playing ? "Pause" : "Play";
}

async function visit(to) {
  if (to < 0 || to >= work.items.length) return;
  if (player) player.pause();
  sheet.keepComment();
  await line.last; // acts of the exam that is left are on disk first
  const told = await line.send("/open", { item: to, id: fresh() });
  if (!told) return;
  number = to;
  open = told;
  document.title = `${number + 1} of ${work.items.length} · Rating station`;
  $("who").textContent = `${work.rater} · ${told.name}`;
  sheet.fill(told);
  const frames = told.player.kind === "frames";
  player = frames ? framesPlayer : videoPlayer;
  $("video").hidden = frames;
  $("frame").hidden = !frames;
  $("seek").max = told.player.times.length - 1;
  $("wait").hidden = false;
  $("wait").textContent = "Loading the video… (one that browsers cannot play is converted first: a minute or two)";
  show(told);
  player.load(told.player).then(
    () => { if (number === to) $("wait").hidden = true; moved(); },
    (error) => { if (number === to) $("wait").textContent = error.message; },
  );
  moved();
}

const videoPlayer = new VideoPlayer($("video"), moved);
const framesPlayer = new FramesPlayer($("frame"), moved);

async function begin() {
  const answer = await fetch("/work");
  work = await answer.json();
  sheet.learn(work.skills);
  sheet.unit = work.mode === "model" ? "question" : "exam";
  $("synthetic").hidden = !work.synthetic;
  $("unit").textContent = sheet.unit === "exam" ? "Exam" : "Question";
  describe($("keys"), can);
  $("exams").replaceChildren(...work.items.map((_, index) => new Option(index + 1, index)));
  $("speed").replaceChildren(...SPEEDS.map((each) => new Option(`${each}×`, each, each === 1, each === 1)));
  document.querySelector("h1").textContent = work.title;
  if (!work.items.length) {
    $("progress").textContent = work.nothing;
    $("wait").textContent = work.nothing;
    return;
  }
  const first = work.items.findIndex((item) => item.left);
  await visit(Math.max(first, 0));
}

$("exams").addEventListener("change", (event) => {
  event.target.blur();
  visit(Number(event.target.value));
});
$("speed").addEventListener("change", (event) => {
  event.target.blur();
  player.faster(Number(event.target.value));
});
$("seek").addEventListener("input", (event) => {
  player.pause();
  player.show(Number(event.target.value));
});
$("jump").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  const time = seconds(event.target.value);
  if (time !== null) player.jump(time);
  event.target.value = "";
  event.target.blur();
});

addEventListener("visibilitychange", () => sheet.keepComment());

begin();
