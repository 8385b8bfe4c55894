// The score sheet: a list of all steps, and a card with the chosen one's criteria, points, marks and comment.

import { language, say } from "./words.js";

const COMMENT_MS = 800; // a comment is saved when the typing rests

export function clock(time, digits = 2) {
  const minutes = Math.floor(time / 60);
  return `${minutes}:${(time - 60 * minutes).toFixed(digits).padStart(digits ? 3 + digits : 2, "0")}`;
}

function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// The key that does the same as a button, for eyes only: the help names them all.
const key = (letter) => make("kbd", { "aria-hidden": "true" }, letter);

export class Sheet {
  constructor({ list, card, name, done }, { act, give, moment, mark, chosen }) {
    Object.assign(this, { list, card, name, doneLine: done, act, give, moment, mark, chosen });
    this.learn([]);
    this.current = null;
    this.area = null;
    this.rows = new Map();
    this.states = {};
    this.told = {};
  }

  learn(skills) {
    this.skills = skills;
    this.rules = new Map(skills.flatMap((skill) => skill.steps.map((step) => [step.id, step])));
  }

  rule(id = this.current) { return this.rules.get(id); }

  title(id) { return id ? this.named(this.rules.get(id))[0] : ""; }

  // The name in the page's language, then the other one.
  named({ name, zh }) { return language() === "zh" && zh ? [zh, name, "en"] : [name, zh, "zh"]; }

  state(id = this.current) { return this.states[id] || {}; }

  points() { return this.rule() ? this.rule().points : []; }

  halves() { return [...this.rules.values()].some((rule) => rule.points.includes(0.5)); }

  span() {
    const { start, end } = this.state();
    if (start != null && end != null) return [start, end];
    return (this.told.moments || {})[this.current] || null;
  }

  // A new item: its steps in the rubric's order; the first undecided one is chosen, if no other is named.
  fill(told, chosen = null) {
    this.told = told;
    this.states = told.state;
    this.area = null;
    this.rows = new Map();
    this.list.replaceChildren();
    for (const skill of this.skills) {
      const steps = skill.steps.filter((step) => told.steps.includes(step.id));
      if (!steps.length) continue;
      const [name] = this.named(skill);
      const rows = make("ol", {}, ...steps.map((step) => this.row(step)));
      this.list.append(make("section", {}, make("h2", {}, name), rows));
    }
    this.show(told.state);
    this.choose(chosen || this.next() || told.steps[0], true);
  }

  // Points or "not applicable", and no mark without its other one.
  decided(id) {
    const { points, applicable } = this.state(id);
    return (applicable === false || points != null) && !this.half(id);
  }

  half(id) {
    const { start, end } = this.state(id);
    return (start == null) !== (end == null);
  }

  // The first undecided step behind the given one, else the first of all; null if everything is decided.
  next(after = null) {
    const ids = [...this.rows.keys()];
    const at = ids.indexOf(after) + 1;
    return [...ids.slice(at), ...ids.slice(0, at)].find((id) => !this.decided(id)) || null;
  }

  row(step) {
    const chip = make("span", { class: "chip" });
    const span = make("span", { class: "span" });
    const [name] = this.named(step);
    const head = make("button", { type: "button", class: "head", onclick: () => this.choose(step.id, true) },
      make("span", { class: "name" }, name), span, chip);
    const item = make("li", { "data-step": step.id }, head);
    this.rows.set(step.id, { item, head, chip, span, step });
    return item;
  }

  move(by) {
    const ids = [...this.rows.keys()];
    this.choose(ids[Math.min(Math.max(ids.indexOf(this.current) + by, 0), ids.length - 1)], true);
  }

  choose(id, scroll) {
    this.keepComment();
    const before = this.rows.get(this.current);
    if (before) {
      before.item.classList.remove("current");
      before.head.removeAttribute("aria-current");
    }
    this.current = id;
    const row = this.rows.get(id);
    row.item.classList.add("current");
    row.head.setAttribute("aria-current", "step");
    this.unfold(row.step);
    this.draw(id);
    // The list moves within itself; on a narrow page, where it does not, the card stays where it is.
    const list = this.list;
    const at = row.item.offsetTop - list.offsetTop;
    if (scroll && (at < list.scrollTop || at + row.item.offsetHeight > list.scrollTop + list.clientHeight)) {
      list.scrollTop = at - list.clientHeight / 3;
    }
    this.chosen();
  }

  unfold(step) {
    const texts = { requirement: step.requirement, ...step.criteria, ...(language() === "zh" && step.chinese) };
    const { requirement, full, partial, fail } = texts;
    const most = step.points.length ? step.points[step.points.length - 1] : null;
    const between = step.points.length > 2; // else there is no part of the points to give
    const rules = [["full", full, most], ["partial", between && partial, null], ["fail", fail, 0]].filter(([, text]) => text);
    const [name, other, tongue] = this.named(step);
    this.most = make("span", { class: "chip" });
    this.needs = step.heard ? make("span", { class: "note" }, this.unheard || null) : null;
    const about = make("div", { class: "about" },
      requirement ? make("p", { class: "requirement" }, requirement) : null,
      make("dl", {}, ...rules.flatMap(([key, text, points]) => [
        make("dt", {}, points === null ? say(key) : `${say(key)} · ${points}`), make("dd", {}, text),
      ])));
    const work = make("div", { class: "give" });
    if (this.told.scores) work.append(this.both(step.id));
    work.append(this.choices(step, most));
    this.area = null;
    work.append(this.marks(), this.words(step));
    this.name.replaceChildren(make("span", {}, name), ...(other ? [make("span", { class: "other", lang: tongue }, other)] : []), this.most, this.needs || "");
    this.card.replaceChildren(about, work);
    this.card.parentElement.scrollTop = 0;
  }

  // Why a step that needs sound cannot be judged now, or nothing.
  hear(unheard) {
    this.unheard = unheard;
    if (this.needs && this.needs.textContent !== unheard) this.needs.textContent = unheard;
  }

  // What the two raters gave, without their names.
  both(id) {
    const given = this.told.scores[id].map(({ points, applicable, comment, span }, index) => {
      const what = applicable === false ? say("not_applicable").toLowerCase() : points == null ? say("no_points")
        : points === 1 ? say("one_point") : say("some_points", { points });
      const see = span && make("button", { type: "button", onclick: () => this.moment(span) },
        say("see", { at: clock(span[0]) }));
      return make("li", {}, make("b", {}, say(["one", "other"][index])), ` ${what} `, see,
        comment ? make("q", {}, comment) : null);
    });
    return make("ul", { class: "both", "aria-label": say("both") }, ...given);
  }

  choices(step, most) {
    // The second click of a double click is not about the step that came meanwhile.
    const press = (kind, value) => (event) => { if (event.detail < 2) this.give(step.id, kind, value()); };
    const group = make("div", { class: "choices", role: "group", "aria-label": say("points_of", { step: this.title(step.id), most }) });
    group.append(...step.points.map((points) => make("button", {
      type: "button", "aria-pressed": "false", "data-kind": "points", "data-value": String(points),
      onclick: press("points", () => points),
    }, String(points))));
    const other = () => this.state(step.id).applicable === false;
    this.na = make("button", { type: "button", "aria-pressed": "false", class: "na", onclick: press("applicable", other) },
      say("not_applicable"), key("N"));
    group.append(this.na);
    this.group = group;
    return group;
  }

  marks() {
    const button = (text, name, letter) =>
      make("button", { type: "button", onclick: () => this.mark(name) }, say(text), key(letter));
    this.when = make("span", { class: "when" });
    return make("div", { class: "marking", role: "group", "aria-label": say("when") },
      button("mark_start", "start", "S"), button("mark_end", "end", "E"), button("play_it", "moment", "V"),
      button("clear_marks", "clearSpan", "X"), this.when);
  }

  words(step) {
    const area = make("textarea", { rows: "2", maxlength: "2000" });
    area.value = this.state(step.id).comment || "";
    area.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.keepComment(), COMMENT_MS);
    });
    area.addEventListener("blur", () => this.keepComment());
    this.area = { area, step: step.id, saved: area.value }; // saved: or on its way
    return make("label", { class: "comment" }, `${say("comment")} `, key("C"), area);
  }

  async keepComment() {
    clearTimeout(this.timer);
    const now = this.area;
    if (!now || now.area.value === now.saved) return;
    const before = now.saved;
    now.saved = now.area.value;
    now.away = this.act(now.step, "comment", now.saved || null, { comment: before });
    if (!await now.away) now.saved = before; // refused: what stands there is not saved
    now.away = null;
  }

  comment(typed, ended) {
    if (!this.area) return;
    const { area } = this.area;
    area.focus();
    area.setRangeText(typed, area.selectionStart, area.selectionEnd, "end");
    area.dispatchEvent(new Event("input"));
    if (ended) area.blur();
  }

  show(states) {
    this.states = states;
    for (const id of this.rows.keys()) this.draw(id);
  }

  // Points of a step in a few letters.
  given(id) {
    const { points, applicable } = this.state(id);
    const most = this.rule(id).points.at(-1);
    return applicable === false ? say("na") : `${points ?? "–"} / ${most}`;
  }

  draw(id) {
    const row = this.rows.get(id);
    const { points, applicable, start, end, comment } = this.state(id);
    row.chip.textContent = this.given(id);
    row.item.classList.toggle("decided", this.decided(id));
    const from = start != null ? clock(start) : "…";
    const to = end != null ? clock(end) : "…";
    const marked = start != null || end != null;
    row.span.textContent = `${marked ? `${from}–${to}` : ""}${comment ? " ✎" : ""}`;
    if (id !== this.current || !this.group) return;
    this.most.textContent = this.given(id);
    this.most.classList.toggle("decided", this.decided(id));
    for (const button of this.group.querySelectorAll("[data-kind]")) {
      button.setAttribute("aria-pressed", String(points != null && String(points) === button.dataset.value));
    }
    this.na.setAttribute("aria-pressed", String(applicable === false));
    this.when.textContent = this.half(id) ? say(start != null ? "end_missing" : "start_missing", { start: from, end: to })
      : marked ? say("from_to", { start: from, end: to }) : say("not_marked");
    this.when.classList.toggle("note", this.half(id));
    const { area, step, saved, away } = this.area || {};
    const untouched = area && step === id && document.activeElement !== area && !away && area.value === saved;
    if (untouched) area.value = this.area.saved = comment || "";
  }

  // The line above the card: what was given last, with its undo; or that everything is decided.
  finished(all, more, last, note) {
    const undo = () => make("button", { type: "button", "data-do": "undo" }, say("undo"), key("U"));
    const line = make("p");
    if (last && this.rules.has(last)) {
      line.append(make("span", { class: "gave" }, say("gave", { step: this.title(last), points: this.given(last) })), undo());
    }
    if (all) line.append(make("b", {}, say("all_decided")));
    if (all && note) line.append(make("span", { class: "note" }, note));
    if (all && more) line.append(make("button", { type: "button", "data-do": "nextExam", class: "main" }, say("next_exam"), key("Shift N")));
    else if (all) line.append(make("span", {}, say("last_one")));
    // What has not changed is not read aloud again, and its buttons stay under the mouse.
    if (line.innerHTML !== this.doneLine.innerHTML) this.doneLine.replaceChildren(...line.childNodes);
  }
}
