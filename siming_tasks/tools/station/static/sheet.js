// The score sheet: skills, steps, and for the chosen step its criteria, points, marks and comment.

const COMMENT_MS = 800; // a comment is saved when the typing rests

export function clock(time) {
  const minutes = Math.floor(time / 60);
  return `${minutes}:${(time - 60 * minutes).toFixed(2).padStart(5, "0")}`;
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

const plain = (points) => String(points);

// The key that does the same as a button, for eyes only: the help names them all.
const key = (letter) => make("kbd", { "aria-hidden": "true" }, letter);

export class Sheet {
  constructor(root, { can, act, moment, mark, chosen }) {
    Object.assign(this, { root, can, act, moment, mark, chosen });
    this.learn([]);
    this.unit = "exam";
    this.current = null;
    this.area = null;
    this.rows = new Map();
    this.states = {};
  }

  learn(skills) {
    this.skills = skills;
    this.rules = new Map(skills.flatMap((skill) => skill.steps.map((step) => [step.id, step])));
  }

  rule(id = this.current) { return this.rules.get(id); }

  title(id) { return id ? this.rules.get(id).name : ""; }

  state(id = this.current) { return this.states[id] || {}; }

  points() { return this.rule() ? this.rule().points : []; }

  halves() { return [...this.rules.values()].some((rule) => rule.points.includes(0.5)); }

  span() {
    const { start, end } = this.state();
    if (start != null && end != null) return [start, end];
    return (this.told.moments || {})[this.current] || null;
  }

  // A new item: its steps in the rubric's order, the first undecided one chosen.
  fill(told) {
    this.told = told;
    this.states = told.state;
    this.area = null;
    this.rows = new Map();
    this.root.replaceChildren(...(told.task ? [make("p", { class: "task" }, told.task)] : []));
    for (const skill of this.skills) {
      const steps = skill.steps.filter((step) => told.steps.includes(step.id));
      if (!steps.length) continue;
      const list = make("ol", {}, ...steps.map((step) => this.row(step)));
      const name = make("h2", {}, skill.name, ...this.foreign(skill.zh));
      this.root.append(make("section", {}, name, list));
    }
    this.done = make("p", { id: "done", role: "status" });
    this.root.append(this.done);
    const first = told.steps.find((step) => !this.decided(step)) || told.steps[0];
    this.choose(first, false);
  }

  foreign(text) { return text ? [make("span", { class: "zh", lang: "zh" }, text)] : []; }

  decided(id) {
    const { points, verdict, applicable } = this.state(id);
    return applicable === false || points != null || verdict != null;
  }

  row(step) {
    const chip = make("span", { class: "chip" });
    const span = make("span", { class: "span" });
    const head = make("button", {
      type: "button", class: "head", "aria-expanded": "false", onclick: () => this.choose(step.id, true),
    }, make("span", { class: "name" }, step.name, ...this.foreign(step.zh)), span, chip);
    const body = make("div", { class: "body", hidden: "" });
    const item = make("li", { "data-step": step.id }, make("h3", {}, head), body);
    this.rows.set(step.id, { item, head, body, chip, span, step });
    return item;
  }

  move(by) {
    const ids = [...this.rows.keys()];
    const to = ids[Math.min(Math.max(ids.indexOf(this.current) + by, 0), ids.length - 1)];
    this.choose(to, true);
  }

  choose(id, scroll) {
    const before = this.rows.get(this.current);
    if (before && this.current !== id) this.shut(before);
    this.current = id;
    const row = this.rows.get(id);
    if (row.body.hidden) this.unfold(row);
    this.draw(id);
    if (scroll) row.item.scrollIntoView({ block: "nearest" });
    this.chosen();
  }

  shut(row) {
    this.keepComment();
    row.body.hidden = true;
    row.body.replaceChildren();
    row.head.setAttribute("aria-expanded", "false");
    row.item.classList.remove("current");
    this.area = null;
  }

  unfold(row) {
    const { step, body } = row;
    const { full, partial, fail } = step.criteria;
    const most = plain(step.points[step.points.length - 1]);
    const rules = [["Full points", full], ["Partial", partial], ["No points", fail]];
    body.append(
      make("p", { class: "requirement" }, step.requirement),
      make("dl", {}, ...rules.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])),
    );
    if (this.told.scores) body.append(this.both(step.id));
    body.append(this.choices(row, most));
    if (this.can("start")) body.append(this.marks(row));
    if (this.can("comment")) body.append(this.words(row));
    body.hidden = false;
    row.head.setAttribute("aria-expanded", "true");
    row.item.classList.add("current");
  }

  // What the two raters gave, without their names.
  both(id) {
    const given = this.told.scores[id].map(({ points, applicable, comment, span }, index) => {
      const what = applicable === false ? "not applicable" : points == null ? "no points"
        : points === 1 ? "1 point" : `${plain(points)} points`;
      const see = span && make("button", { type: "button", onclick: () => this.moment(span) }, `See ${clock(span[0])}`);
      return make("li", {}, make("b", {}, ["One", "The other"][index]), ` ${what} `, see,
        comment ? make("q", {}, comment) : null);
    });
    return make("ul", { class: "both", "aria-label": "What the two raters gave" }, ...given);
  }

  choices(row, most) {
    const { step } = row;
    const button = (text, kind, value, letter = null) => make("button", {
      type: "button", "aria-pressed": "false", "data-kind": kind, "data-value": String(value),
      onclick: () => this.act(step.id, kind, value),
    }, text, letter && key(letter));
    const group = make("div", { class: "choices", role: "group", "aria-label": `Points of ${step.name}, at most ${most}` });
    if (this.can("points")) {
      group.append(...step.points.map((points) => button(plain(points), "points", points)));
    }
    if (this.can("verdict")) {
      group.append(button("Correct", "verdict", "correct", "1"), button("Incorrect", "verdict", "incorrect", "0"));
    }
    if (this.can("applicable")) {
      const press = () => this.act(step.id, "applicable", this.state(step.id).applicable === false);
      row.na = make("button", { type: "button", "aria-pressed": "false", class: "na", onclick: press }, "Not applicable",
        key("N"));
      group.append(row.na);
    }
    row.group = group;
    return group;
  }

  marks(row) {
    const button = (text, name, letter) =>
      make("button", { type: "button", onclick: () => this.mark(name) }, text, key(letter));
    row.when = make("span", { class: "when" });
    return make("div", { class: "marking", role: "group", "aria-label": "When the step happens" },
      button("Mark start", "start", "S"), button("Mark end", "end", "E"), button("Play it", "moment", "V"),
      button("Clear", "clearSpan", "X"), row.when);
  }

  words(row) {
    const area = make("textarea", { rows: "2", maxlength: "2000" });
    area.value = this.state(row.step.id).comment || "";
    area.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.keepComment(), COMMENT_MS);
    });
    area.addEventListener("blur", () => this.keepComment());
    this.area = { area, step: row.step.id, saved: area.value };
    return make("label", { class: "comment" }, "Comment ", key("C"), area);
  }

  keepComment() {
    clearTimeout(this.timer);
    const { area, step, saved } = this.area || {};
    if (!area || area.value === saved) return;
    this.area.saved = area.value;
    this.act(step, "comment", area.value || null);
  }

  comment() { if (this.area) this.area.area.focus(); }

  show(states) {
    this.states = states;
    for (const id of this.rows.keys()) this.draw(id);
  }

  draw(id) {
    const row = this.rows.get(id);
    const { points, verdict, applicable, start, end, comment } = this.state(id);
    const most = row.step.points[row.step.points.length - 1];
    const given = applicable === false ? "N/A" : verdict != null ? verdict : points != null ? plain(points) : "–";
    row.chip.textContent = verdict == null && applicable !== false && this.can("points") ? `${given} / ${most}` : given;
    row.item.classList.toggle("decided", this.decided(id));
    const from = start != null ? clock(start) : "…";
    const marked = start != null || end != null;
    row.span.textContent = `${marked ? `${from}–${end != null ? clock(end) : "…"}` : ""}${comment ? " ✎" : ""}`;
    if (row.body.hidden) return;
    for (const button of row.group.querySelectorAll("[data-kind]")) {
      const value = { points, verdict }[button.dataset.kind];
      button.setAttribute("aria-pressed", String(value != null && String(value) === button.dataset.value));
    }
    if (row.na) row.na.setAttribute("aria-pressed", String(applicable === false));
    if (row.when) row.when.textContent = marked ? `${from} to ${end != null ? clock(end) : "…"}` : "not marked";
    const { area, step, saved } = this.area || {};
    if (area && step === id && document.activeElement !== area && (comment || "") !== saved) {
      area.value = this.area.saved = comment || "";
    }
  }

  finished(all, more) {
    this.done.replaceChildren();
    if (!all) return;
    this.done.append(make("b", {}, "Every step is decided. "));
    if (more) this.done.append(make("button", { type: "button", "data-do": "nextExam", class: "main" }, `Next ${this.unit}`, key("Shift N")));
    else this.done.append("This is the last one.");
  }
}
