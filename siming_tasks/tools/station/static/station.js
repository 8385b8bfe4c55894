// The rating station's page. The station is the one that knows: every act is sent to it, and what it answers is shown.
// Whatever comes from files or people goes into the page as text.
import { actionOf, describe } from "./keys.js";
import { Line } from "./line.js";
import { Player } from "./player.js";
import { Sheet, clock } from "./sheet.js";
import { language, languages, learnWords, recall, remember, say, speak } from "./words.js";

const $ = (id) => document.getElementById(id);
const SPEEDS = [0.25, 0.5, 1, 1.5, 2];
const TYPED_MS = 900; // digits typed within this time are one number
const PLAYED_SECONDS = 10; // what was played is told in pieces of about this length

let work = null; // what the station told at the start
let number = 0; // the item on screen
let open = null; // what it told of the item
let turn = Promise.resolve(); // what was pressed is done one after the other
let typed = { text: "", at: 0 };
let given = null; // the step that was decided last
let done = []; // presses since the exam was opened: the acts of each, with those that take them back
let undone = [];
let ahead = null; // what is typed before the comment that it belongs to is on screen
let advance = null; // timer until the next step comes

const line = new Line(() => {
  const text = line.stuck || line.refused;
  document.body.classList.toggle("saving", line.acts.length > 0);
  document.body.classList.toggle("stuck", Boolean(line.stuck));
  $("saved").textContent = say(line.stuck ? "unsaved" : line.acts.length ? "saving" : "saved");
  if ($("trouble").textContent !== text) $("trouble").textContent = text; // an alert is read aloud once
  $("trouble").hidden = !text;
});

const can = (kind) => kind !== "half" || sheet.halves();

const sheet = new Sheet({ list: $("sheet"), card: $("step"), name: $("step-name"), done: $("done") }, {
  act: (step, kind, value, was) => act(step, kind, value, { was }),
  give: (step, kind, value) => press(() => give(step, kind, value)),
  moment: (span) => playSpan(span),
  mark: (name) => perform(name),
  chosen: () => {
    drawMarks();
    showCard();
  },
});

// On a narrow page, where the video stays in sight, the card of the chosen step comes out from below it.
function showCard() {
  const below = $("watch").getBoundingClientRect().bottom - $("card").getBoundingClientRect().top;
  if (below > 0 && getComputedStyle($("watch")).position === "sticky") scrollBy(0, -below);
}

// ---- acts

// What is pressed while an act is on its way is about what comes after it. An act that is not saved holds all others
// up: the page says so, and nobody believes to have given what is not on disk.
const press = (action) => { if (!line.stuck) turn = turn.then(action).catch((error) => console.error(error)); };

function perform(name, key) {
  const at = { time: performance.now(), frame: player.frame };
  if (LOOKING.includes(name)) return actions[name]();
  if (MARKS.includes(name)) player.pause();
  if (name === "comment" && !line.stuck) ahead = { text: "", ended: false };
  return press(() => actions[name](at, key));
}

// With what this page knows of the field: of one that was changed elsewhere meanwhile the station takes nothing.
async function send(step, kind, value, was = seen(step, kind)) {
  const at = number;
  const told = await line.send("act", { item: work.items[at].id, step, kind, value, was }, inWords(step, kind, value));
  if (!told && step && at === number) await learnNews();
  return told;
}

function seen(step, kind) {
  const { points = null, applicable = true, start = null, end = null, comment = "" } = step ? sheet.state(step) : {};
  return kind === "comment" ? { comment } : MARKS.includes(kind) ? { start, end } : { points, applicable };
}

// One press is one entry of what can be undone, however many acts it takes (join: of the press before).
async function act(step, kind, value = null, { was, join = false } = {}) {
  const [at, before] = [number, restoring(step, kind)];
  const told = await send(step, kind, value, was);
  if (!told || at !== number) return told;
  if (step) {
    const last = join ? done.pop() : [];
    const same = last.find((one) => one.kind === kind);
    done.push(same ? [{ ...same, value }] : [...last, { step, kind, value, before }]);
    undone = [];
  }
  show(told);
  return told;
}

// The act that brings what an act sets back to what it is now.
function restoring(step, kind) {
  const { points = null, applicable, start = null, end = null, comment } = sheet.state(step);
  if (kind === "start") return { kind, value: start === null ? null : player.times.indexOf(start) };
  if (kind === "end") return { kind, value: end === null ? null : [...player.times.slice(1), player.end].indexOf(end) };
  if (kind === "comment") return { kind, value: comment || null };
  return applicable === false ? { kind: "applicable", value: false } : { kind: "points", value: points };
}

function inWords(step, kind, value) {
  if (!step) return say("kind_played");
  return say("gave", { step: sheet.title(step), points: kind === "points" && value !== null ? value : say(`kind_${kind}`) });
}

// Points or "not applicable": once it is saved the next open step comes. A step that was decided before
// stays, and so does one whose act is refused.
async function give(step, kind, value, { wasOpen = !sheet.decided(step), wait = 0, join = false } = {}) {
  clearTimeout(advance);
  const at = number;
  const told = await act(step, kind, value, { join });
  const onScreen = () => number === at && step === sheet.current;
  if (!told || !onScreen() || !sheet.decided(step)) return;
  given = step;
  drawDone();
  if (!wasOpen || !$("goOn").checked) return;
  const goOn = () => onScreen() && sheet.next(step) && sheet.choose(sheet.next(step), true);
  if (wait) advance = setTimeout(goOn, wait);
  else goOn();
}

// What was played is told too: a rater who never had the sound on has not heard the exam.
function keepPlayed(least = 0.5) {
  if (!open || player.seconds < least) return;
  const value = Object.fromEntries(Object.entries(player.take()).map(([key, seconds]) => [key, Number(seconds.toFixed(2))]));
  act(null, "played", value);
}

// Take back the last press, or the last taking back, by acts; its step comes to the screen.
async function back(from, to) {
  const last = from.at(-1);
  if (!last) return;
  const [{ step }] = last;
  for (const about of from === done ? [...last].reverse() : last) {
    const { kind, value } = from === done ? about.before : about;
    const told = await send(step, kind, value);
    if (!told) return;
    show(told);
  }
  to.push(from.pop());
  if (step === given && from === done) given = null;
  show(open);
  sheet.choose(step, true);
  drawDone();
}

const setStep = (kind, value, how) => sheet.current && act(sheet.current, kind, value, how);

function digit(at, text) {
  const step = sheet.current;
  const allowed = sheet.points();
  const both = typing(at) && allowed.includes(Number(typed.text + text));
  const wasOpen = both ? typed.wasOpen : !sheet.decided(step);
  typed = { text: both ? typed.text + text : text, at: at.time, step, wasOpen };
  const longer = allowed.filter((points) => String(points) !== typed.text && String(points).startsWith(typed.text));
  // A second digit that comes late must not be taken for the next step's: where there may be one, the step stays.
  const stays = longer.some(Number.isInteger);
  return give(step, "points", Number(typed.text), { wasOpen: wasOpen && !stays, wait: longer.length ? TYPED_MS : 0, join: both && joins(step) });
}

// The number that is being typed is one press, if its first digit was taken.
const joins = (step) => done.length > 0 && done.at(-1)[0].step === step && done.at(-1)[0].kind === "points";

const typing = (at) => at.time - typed.at < TYPED_MS && typed.step === sheet.current;

// Half a point more than the step has, or than is being typed.
function half(at) {
  const { points } = sheet.state();
  const whole = typing(at) ? Number(typed.text) : points;
  if (whole == null) return null;
  return give(sheet.current, "points", Math.floor(whole) + 0.5, { wasOpen: typing(at) && typed.wasOpen, join: typing(at) && joins(sheet.current) });
}

function playSpan(span) {
  if (span) player.span(span[0], span[1]);
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
  start: ({ frame }) => setStep("start", frame),
  end: ({ frame }) => setStep("end", frame),
  moment: () => playSpan(sheet.span()),
  clearSpan: async () => {
    const { start, end } = sheet.state();
    const cleared = start != null && await setStep("start", null);
    if (end != null && (start == null || cleared)) await setStep("end", null, { join: Boolean(cleared) });
  },
  digit,
  half,
  mute: () => player.sound && player.mute(),
  notApplicable: () => give(sheet.current, "applicable", sheet.state().applicable === false),
  clear: () => setStep("points", null),
  comment: () => {
    sheet.comment(ahead.text, ahead.ended);
    ahead = null;
  },
  undo: () => back(done, undone),
  redo: () => back(undone, done),
  nextExam: () => visit(number + 1),
  previousExam: () => visit(number - 1),
  help: () => ($("help").open ? $("help").close() : $("help").showModal()),
};

const ALWAYS = ["help", "nextExam", "previousExam"];
const LOOKING = ["play", "previousFrame", "nextFrame", "back", "forward", "slower", "faster", "jump", "mute", "help"];
const MARKS = ["start", "end"]; // of the frame that is on screen when the key is pressed
const WRITING = ["TEXTAREA", "SELECT"];

document.addEventListener("keydown", (event) => {
  const target = event.target;
  const writing = WRITING.includes(target.tagName) || target.id === "jump";
  if (writing || !work) {
    if (event.key === "Escape") target.blur();
    return;
  }
  const action = actionOf(event, can);
  if (ahead && !ahead.ended && !event.ctrlKey && !event.metaKey && (event.key.length === 1 || event.key === "Escape")) {
    if (event.key === "Escape") ahead.ended = true;
    else ahead.text += event.key;
    event.preventDefault();
    return;
  }
  if (!action || ($("help").open && action !== "help") || !$("letters").checked) return;
  if (target.tagName === "BUTTON" && event.key === " ") return; // a button under the keyboard's focus is pressed
  if (!open && !ALWAYS.includes(action)) return;
  event.preventDefault();
  perform(action, event.key);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-do]");
  if (button && (open || ALWAYS.includes(button.dataset.do))) perform(button.dataset.do);
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
  const finished = work.items.filter((item) => !item.left).length;
  const rest = left ? say("steps_left", { left, of: work.items[number].of }) : say("finished");
  $("progress").textContent = say("progress", { number: number + 1, of, rest, minutes, done: finished });
  const options = $("exams").options;
  work.items.forEach((item, index) => {
    const text = `${index + 1}${item.left ? (item.left < item.of ? ` · ${say("left", { left: item.left })}` : "") : " ✓"}`;
    if (options[index].textContent !== text) options[index].textContent = text;
  });
  $("exams").value = number;
}

function show(told) {
  Object.assign(open, told);
  work.items[number].left = told.left;
  sheet.show(open.state);
  for (const [name, acts] of [["undo", done], ["redo", undone]]) {
    $(name).disabled = !acts.length;
    const { step, kind } = (acts.at(-1) || [{}])[0];
    $(name).title = step ? say("act_of", { kind: say(`kind_${kind}`), step: sheet.title(step) }) : "";
  }
  drawMarks();
  showProgress();
  drawDone();
}

function drawDone() {
  const { end } = open.player;
  const played = open.played + player.seconds;
  const silent = player.sound && open.heard !== null && open.heard < 0.5 && say("little_heard");
  const note = played < end / 2 ? say("little_played", { played: clock(played, 0), of: clock(end, 0) }) : silent;
  sheet.finished(!open.left, number + 1 < work.items.length, done.length && given, note);
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
  $("seek").value = player.frame;
  $("seek").setAttribute("aria-valuetext", clock(player.time));
  $("time").textContent = say("time", { at: clock(player.time), frame: player.frame + 1, of: player.times.length });
  $("play").textContent = say(player.playing ? "pause" : "play");
  $("sound").textContent = say(!player.sound ? "no_sound" : player.audible ? "sound_on" : "sound_off");
  $("sound").disabled = !player.sound;
  sheet.hear(player.audible ? "" : say(player.sound ? "needs_sound_on" : "needs_sound"));
  if (!line.stuck) keepPlayed(PLAYED_SECONDS);
}

async function visit(to) {
  if (to < 0 || to >= work.items.length) return;
  player.pause();
  sheet.keepComment();
  keepPlayed();
  const told = await line.send("open", { item: work.items[to].id }, `${say("exam")} ${to + 1}`);
  $("exams").value = told ? to : number;
  if (!told) return;
  number = to;
  open = told;
  given = null;
  done = [];
  undone = [];
  nameExam();
  sheet.fill(told);
  $("seek").max = told.player.times.length - 1;
  $("wait").hidden = false;
  $("wait").textContent = say("loading");
  show(told);
  player.load(told.player).then(
    () => { if (number === to) $("wait").hidden = true; moved(); },
    (error) => { if (number === to) $("wait").textContent = error.message; },
  );
  moved();
}

function nameExam() {
  const heading = say(work.mode);
  document.title = say("page_title", { number: number + 1, of: work.items.length, heading });
  $("who").textContent = `${work.rater} · ${open.name}`;
}

// Everything in another language; the step on screen and what stands in it stay.
function speakAs(chosen) {
  sheet.keepComment();
  speak(chosen);
  $("language").value = language();
  $("heading").textContent = say(work.mode);
  $("jump").placeholder = `${say("go_to")} 1:23`;
  line.changed();
  describe($("keys"), can);
  if (!open) {
    $("progress").textContent = $("wait").textContent = work.items.length ? "" : say(`nothing_${work.mode}`);
    return;
  }
  nameExam();
  const { current } = sheet;
  sheet.fill(open, current);
  show(open);
  moved();
}

const player = new Player($("video"), moved);

async function begin() {
  const learnWork = async () => { work = await (await fetch("work")).json(); };
  await learnWork();
  await learnWords();
  document.body.dataset.mode = work.mode;
  sheet.learn(work.skills);
  $("synthetic").hidden = !work.synthetic;
  $("goOn").checked = recall("go_on") !== "no";
  $("language").replaceChildren(...languages().map(([code, name]) => new Option(name, code)));
  // In this order: chosen in this window, said with --language, chosen before, the browser's.
  speakAs(sessionStorage.language || work.language || recall("language") || navigator.language.slice(0, 2));
  $("exams").replaceChildren(...work.items.map((_, index) => new Option(index + 1, index)));
  $("speed").replaceChildren(...SPEEDS.map((each) => new Option(`${each}×`, each, each === 1, each === 1)));
  if (!work.items.length) return;
  line.settle(work.items[0].id);
  const before = await line.resume(work.items.map((item) => item.id));
  if (before.length) await learnWork();
  const first = work.items.findIndex((item) => item.left);
  await visit(Math.max(first, 0));
  if (before.length) line.refuse(before.map(({ what, reason }) => (reason ? `${what}: ${reason}` : say("saved_now", { what }))).join(" "));
}

$("exams").addEventListener("change", (event) => {
  const to = Number(event.target.value);
  event.target.blur();
  event.target.value = number; // until it is there
  press(() => visit(to));
});
$("language").addEventListener("change", (event) => {
  event.target.blur();
  sessionStorage.language = event.target.value;
  remember("language", event.target.value);
  speakAs(event.target.value);
});
$("goOn").addEventListener("change", (event) => remember("go_on", event.target.checked ? "yes" : "no"));
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

function leave() {
  sheet.keepComment();
  keepPlayed();
}

// Somebody who comes back may have worked in another window meanwhile.
async function comeBack() {
  if (!open || document.hidden || line.acts.length) return;
  await learnNews();
}

// What the station knows of the exam; acts of before do not follow what was done elsewhere, and cannot be undone here.
async function learnNews() {
  const at = number;
  const answer = await fetch(`news/${at}`).catch(() => null);
  const told = answer && answer.ok && await answer.json();
  if (!told || at !== number || line.acts.length) return;
  if (JSON.stringify(told.state) !== JSON.stringify(open.state)) [done, undone, given] = [[], [], null];
  show(told);
}

addEventListener("visibilitychange", () => (document.hidden ? leave() : comeBack()));
addEventListener("pagehide", leave);
addEventListener("focus", comeBack);

begin();
