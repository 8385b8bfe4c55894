// Every answer that differs from the reference, filtered; the address says which. Answers are rows of digits that are
// loaded setting by setting; whatever a model is called goes into the page as text and nothing else.
"use strict";

{
  const { make } = SIMING;
  const PAGE = 24;
  const WIDTH = 320;
  const KINDS = { miss: "miss", alarm: "false alarm", lenient: "too lenient", strict: "too strict", none: "no answer", same: "the same" };
  const main = document.querySelector("main");
  const cards = main.querySelector(".cards");
  const tally = main.querySelector(".tally");
  const pager = main.querySelector(".pager");
  const note = main.querySelector(".player-error");
  const fields = Object.fromEntries([...main.querySelectorAll(".filters [name]")].map((field) => [field.name, field]));
  const loaded = new Map();
  let shown = [];
  let page = 0;
  let turn = 0;

  SIMING.answers = (data) => loaded.set(data.setting, data);

  const load = (setting) => new Promise((done) => {
    if (loaded.has(setting)) { done(loaded.get(setting)); return; }
    const script = make("script");
    script.onload = script.onerror = () => done(loaded.get(setting));
    script.src = `${encodeURIComponent(setting)}.js`;
    document.head.append(script);
  });

  const wanted = () => Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value.trim()]));

  // How cell k of a run differs from the reference; null if there is nothing to compare.
  function kindOf(data, run, k) {
    const [truth, said] = [data.truth[k], run.said[k]];
    if (truth === " " || said === " ") return null;
    if (said === "-") return "none";
    const [good, right] = [+truth === data.fine, +said === data.fine];
    if (good !== right) return right ? "miss" : "alarm";
    if (good || !run.gave || run.gave[k] === data.points[k]) return "same";
    return run.gave[k] > data.points[k] ? "lenient" : "strict";
  }

  const agreed = (data, k) => {
    const given = Object.values(data.raters).map((points) => points[k]).filter((points) => points !== null);
    return given.length < 2 ? null : given.every((points) => points === given[0]);
  };

  function find(data, want) {
    const steps = data.steps.length;
    const counts = {};
    const cells = new Map();
    const models = data.runs.some((run) => run.role === "model");
    const runs = data.runs.filter((run) => !(SIMING.hidden(run.slug) && want.run !== run.slug) && (want.run ? want.run === "*" || run.slug === want.run : !models || run.role === "model"));
    const kinds = want.kind === "*" ? ["miss", "alarm", "lenient", "strict", "none"] : want.kind ? [want.kind] : want.truth || want.said ? Object.keys(KINDS) : ["miss", "alarm"];
    for (const run of runs) {
      for (let k = 0; k < data.truth.length; k++) {
        const kind = kindOf(data, run, k);
        if (kind === null) continue;
        const [video, step] = [data.videos[Math.floor(k / steps)], data.steps[k % steps]];
        if (want.step && step[0] !== want.step) continue;
        if (want.skill && step[2] !== want.skill) continue;
        if (want.video && !video[0].toLowerCase().includes(want.video.toLowerCase())) continue;
        if (want.truth && data.truth[k] !== want.truth) continue;
        if (want.said && run.said[k] !== want.said) continue;
        if (want.raters && agreed(data, k) !== (want.raters === "agreed")) continue;
        counts[kind] = (counts[kind] || 0) + 1;
        if (!kinds.includes(kind)) continue;
        const name = `${kind} ${k}`;
        if (!cells.has(name)) cells.set(name, { kind, video, step, k, span: video[2][k % steps], runs: [], weight: 0 });
        const cell = cells.get(name);
        cell.runs.push(run);
        cell.weight += Math.abs((run.gave ? run.gave[k] : step[3] * (1 - run.said[k])) - data.points[k]) || 0;
      }
    }
    const found = [...cells.values()].sort((a, b) => b.runs.length - a.runs.length || b.weight - a.weight); // stable
    return { found, counts, runs };
  }

  const points = (value) => (value === null || value === undefined ? "–" : String(value));
  const words = (data, points_, level) => (data.fine ? `${points(points_)} (${data.levels[level]})` : data.levels[level]);

  const said = (data, run, k) => (run.said[k] === "-" ? "no answer" : words(data, run.gave && run.gave[k], run.said[k]));

  // One step of one exam, with all judges that differ there in the same way.
  function card(data, { kind, video, step, k, span, runs }) {
    const [id, media] = video;
    const link = (run) => `../videos/${encodeURIComponent(id)}.html#${[data.setting, run.slug, step[0]].map(encodeURIComponent).join("/")}`;
    const item = make("li", undefined, { class: `card ${kind}` });
    const anchor = make("a", undefined, { href: link(runs[0]) });
    const picture = make("span", undefined, { class: "still", "aria-hidden": "true" });
    if (media && span) Object.assign(picture.dataset, { media, time: (span[0] + span[1]) / 2 });
    const title = make("span", undefined, { class: "title" });
    title.append(make("b", step[0]), ` ${step[1]}, ${id}`);
    anchor.append(picture, title);
    const truth = data.fine ? `${words(data, data.points[k], data.truth[k])} of ${step[3]}` : data.levels[data.truth[k]];
    const physicians = Object.entries(data.raters).map(([name, given]) => `${name} ${points(given[k])}`).join(", ");
    const facts = make("p");
    facts.append(make("span", KINDS[kind], { class: `flag ${kind}` }), ` reference ${truth}`);
    const judges = make("ul");
    for (const run of runs) {
      const line = make("li");
      line.append(make("a", run.name, { href: link(run) }), ` ${said(data, run, k)}`);
      judges.append(line);
    }
    item.append(anchor, facts, judges, make("p", agreed(data, k) === false ? `${physicians}: disputed` : physicians, { class: "sub" }));
    return item;
  }

  const stills = SIMING.stills(note, WIDTH);

  function turnTo(data) {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    stills.disconnect();
    cards.replaceChildren(...shown.slice(page * PAGE, (page + 1) * PAGE).map((item) => card(data, item)));
    for (const picture of cards.querySelectorAll(".still[data-media]")) stills.observe(picture);
    pager.hidden = pages < 2;
    pager.replaceChildren(...[-1, 1].map((step) => {
      const button = make("button", step < 0 ? "Previous" : "Next", { type: "button" });
      button.disabled = page + step < 0 || page + step >= pages;
      button.addEventListener("click", () => { page += step; turnTo(data); main.querySelector(".filters").scrollIntoView(); });
      return button;
    }), ` page ${page + 1} of ${pages}`);
  }

  function choices(field, levels) {
    const value = field.value;
    field.replaceChildren(make("option", "any", { value: "" }), ...levels.map((level, k) => make("option", level, { value: k })));
    field.value = value;
    if (field.selectedIndex < 0) field.value = "";
  }

  async function show() {
    const mine = ++turn;
    const data = await load(fields.setting.value);
    if (mine !== turn) return;
    if (!data) { tally.textContent = "The answers of this setting cannot be read: the report is not complete."; return; }
    choices(fields.truth, data.levels);
    choices(fields.said, data.levels);
    const pending = new URLSearchParams(location.hash.slice(1)); // levels are known only now
    for (const name of ["truth", "said"]) if (pending.has(name)) fields[name].value = pending.get(name);
    const { found, counts, runs } = find(data, wanted());
    shown = found;
    page = 0;
    const parts = Object.entries(KINDS).filter(([kind]) => kind !== "same" && counts[kind]).map(([kind, title]) => `${counts[kind].toLocaleString("en")} ${title}${kind === "miss" && counts[kind] > 1 ? "es" : kind === "alarm" && counts[kind] > 1 ? "s" : ""}`);
    const judges = runs.length === 1 ? runs[0].name : `${runs.length} judges`;
    const cells = `${found.length.toLocaleString("en")} step${found.length === 1 ? "" : "s"} of exams`;
    tally.textContent = `${judges}: ${parts.join(", ") || "no disagreement"}. ${found.length ? `Below: ${cells}, where most judges and most points differ first.` : "Nothing fits these choices."}`;
    turnTo(data);
  }

  function follow() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const [name, field] of Object.entries(fields)) {
      field.value = given.get(name) || (name === "setting" ? field.options[0].value : "");
      if (field.selectedIndex === -1) field.selectedIndex = 0;
    }
    show();
  }

  const keep = () => {
    const chosen = Object.entries(wanted()).filter(([name, value]) => value && name !== "setting");
    history.replaceState(null, "", `#${new URLSearchParams([["setting", fields.setting.value], ...chosen])}`);
    show();
  };
  if (cards) {
    for (const field of Object.values(fields)) field.addEventListener(field.type === "search" ? "input" : "change", keep);
    window.addEventListener("hashchange", follow);
    document.addEventListener("judges", show);
    follow();
  }
}
