// What was said, beside what it should have seen. Replies, prompts and the rubric are data files that are loaded when a
// cell is opened; whatever a model wrote goes into the page as text and nothing else.
"use strict";

{
  const { make } = SIMING;
  const stored = new Map();
  const prompts = new Map();
  const loading = new Map();
  let rubric = {};
  let transcript = []; // what was said: start, end, words, speaker
  let listed = null; // seconds of every frame of the video, where they are not evenly spaced

  const unpacking = []; // of replies: lists of run, request and entry as JSON, gzip, base64
  SIMING.put = (run, request, entry) => stored.set(`${run} ${request}`, entry);
  SIMING.packed = (text) => unpacking.push(unpack(text));

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    for (const each of await new Response(plain).json()) SIMING.put(...each);
  }
  SIMING.frames = (times) => { listed = times; };
  SIMING.transcript = (lines) => { transcript = lines; };
  SIMING.spoken = (time) => transcript.filter(([start, end]) => time >= start && time < end).map(([, , words, who]) => (who ? `${who}: ${words}` : words)).join(" ");
  SIMING.said = (button) => button.getAttribute("aria-label") || button.textContent; // points or verdict, and how it differs
  SIMING.rubric = (steps) => { rubric = steps; };
  SIMING.prompt = (name, text) => prompts.set(name, text);
  SIMING.entry = (run, request) => stored.get(`${run} ${request}`);
  SIMING.load = (path) => {
    if (!loading.has(path)) {
      loading.set(path, new Promise((done) => {
        const script = make("script");
        script.onload = () => Promise.allSettled(unpacking).then(done);
        script.onerror = done;
        script.src = path;
        document.head.append(script);
      }));
    }
    return loading.get(path);
  };

  const STATUS = {
    ok: "all steps answered", abstained: "answered or not visible", partial: "some steps unanswered", unread: "no answer read",
    refused: "a refusal", truncated: "cut off", empty: "nothing", request_failed: "the request failed",
  };

  // Seconds of the frames that were shown: as the file lists them, or evenly spaced between the first and the last.
  SIMING.frameTimes = (media) => {
    if (media.start === undefined || media.end === undefined) return [];
    const indices = media.indices || [];
    if (listed && indices.every((index) => index < listed.length)) return indices.map((index) => listed[index]);
    if (indices.length < 2) return indices.length ? [media.start] : [];
    const [first, last] = [indices[0], indices[indices.length - 1]];
    return indices.map((index) => media.start + ((index - first) / (last - first || 1)) * (media.end - media.start));
  };

  const list = (pairs, attributes) => {
    const found = make("dl", undefined, attributes);
    for (const [name, value] of pairs) found.append(make("dt", name), make("dd", value));
    return found;
  };

  function facts(entry) {
    const pairs = [["Read as", `${entry.status}: ${STATUS[entry.status] || ""}`]];
    const others = Object.keys(entry.missing);
    if (others.length) pairs.push(["Without answer", others.map((name) => `${name} (${entry.missing[name]})`).join(", ")]);
    const media = entry.media || {};
    if (media.mode && media.mode !== "unknown") {
      const frames = media.n_frames ?? media.file_frames;
      const speed = media.fps ?? media.file_fps;
      const rate = speed ? `, ${speed} frames/s` : "";
      pairs.push(["Was shown", `${frames == null ? "frames" : SIMING.counted(frames, "frame")}${media.mode === "frames" ? "" : " (as a file)"}, ${media.start} to ${media.end} s${rate}${media.density && media.density !== "native" ? `, ${media.density} density` : ""}`]);
      if (media.reader) pairs.push(["Reader", [media.reader, media.sampler, media.size && `at most ${media.size} px`].filter(Boolean).join(", ")]);
    } else pairs.push(["Was shown", "not recorded"]);
    return list(pairs);
  }

  // What the step asks for, what it was worth, and why.
  function expected(step, row) {
    const known = rubric[step];
    const box = make("div", undefined, { class: "expected" });
    const lost = JSON.parse(row.dataset.lost || "[]");
    if (lost.length) {
      const why = make("ul", undefined, { class: "lost" });
      for (const reason of lost) why.append(make("li", reason));
      box.append(make("h3", "Why points were lost"), why);
    }
    if (known) {
      box.append(make("p", known.requirement, { class: "requirement" }));
      box.append(list([["Full", known.criteria.full], ["Partial", known.criteria.partial], ["None", known.criteria.fail]], { class: "criteria-list" }));
    }
    if (known && known.errors.length && !lost.length) {
      const more = make("details");
      const errors = make("ul");
      for (const [observable, deduct] of known.errors) errors.append(make("li", `${observable} (−${deduct})`));
      more.append(make("summary", "Named errors"), errors);
      box.append(more);
    }
    return box;
  }

  // Judges, reference and every physician in one line, out of the row of the sheet.
  function verdicts(judges, row, heads) {
    const cells = judges.map(({ cell, name }) => [judges.length > 1 ? name : "Judged", SIMING.said(cell).split(", ")[0], cell.dataset.d ? "wrong" : "agrees"]);
    const given = (cell) => ({ "✓": "correct", "✗": "incorrect" })[cell.firstChild.textContent] || cell.firstChild.textContent;
    cells.push(["Reference", given(row.cells[1]), ""]);
    heads.forEach((head, column) => { if (head.dataset.rater) cells.push([head.dataset.rater, given(row.cells[column]), ""]); });
    if (row.cells[1].firstChild.textContent === given(row.cells[1])) cells.push(["Maximum", row.dataset.max, ""]); // points
    const box = make("dl", undefined, { class: "verdicts" });
    for (const [name, value, look] of cells) {
      const pair = make("div", undefined, { class: look });
      const term = make("dt", "");
      term.append(make("bdi", name));
      pair.append(term, make("dd", value));
      box.append(pair);
    }
    return box;
  }

  const TIME = /(?<![\d.:])(?:(\d{1,2}):)?(\d{1,3}):([0-5]\d(?:\.\d+)?)(?![\d:])|(?<![\d.:])(\d{1,4}(?:\.\d+)?)\s?(?:s|sec|secs|seconds?)(?![A-Za-z])/g;

  // Text whose times are buttons that play there. In a clip, a time before it or beyond counts from its start.
  function timed(text, media, go) {
    if (!go) return [text];
    const parts = [];
    let done = 0;
    for (const found of text.matchAll(TIME)) {
      const [, hours, minutes, seconds, plain] = found;
      let time = plain === undefined ? 3600 * (hours || 0) + 60 * minutes + Number(seconds) : Number(plain);
      if (media && media.start > 0 && (time < media.start || time > media.end)) time += media.start;
      if (time > go.length) continue;
      const button = make("button", found[0], { type: "button", class: "when", title: `Play from ${time.toFixed(1)} s` });
      button.addEventListener("click", () => go.play(time));
      parts.push(text.slice(done, found.index), button);
      done = found.index + found[0].length;
    }
    return [...parts, text.slice(done)];
  }

  // The reply as text, with the place that was read marked; says so where no place can be pointed to.
  function reply(entry, { step, name, setting, scope, go, judge }) {
    const box = make("div");
    const answer = entry.answers[step];
    const place = answer === undefined ? SIMING.mention(entry.reply, step) : SIMING.place(entry.reply, { step, name, answer, verdicts: setting.endsWith("error"), alone: scope === "clip" });
    const text = make("pre", undefined, { dir: "ltr", tabindex: "0", "aria-label": "Raw reply", class: "reply" });
    const words = (start, end) => timed(entry.reply.slice(start, end), scope === "clip" ? entry.media : null, go);
    if (place) text.append(...words(0, place[0]), make("mark", entry.reply.slice(...place), answer === undefined ? { class: "unread" } : {}), ...words(place[1]));
    else text.append(...words(0));
    const about = scope === "full" ? ", whole video" : "";
    const head = make("h3", "");
    head.append(...(judge ? [make("bdi", judge), ": reply"] : ["Reply"]), ` (${SIMING.counted(entry.length, "character")}${about})`);
    box.append(head, text);
    const note = place
      ? answer === undefined ? `Marked: named, not answered (${entry.missing[step] || "not asked"})` : "Marked: this answer"
      : answer === undefined ? "" : SIMING.say("no place");
    if (note) box.append(make("p", note, { class: "sub place" }));
    box.reveal = () => { // the marked place in the middle of its box, without moving the page
      const mark = text.querySelector("mark");
      if (mark) text.scrollTop = mark.offsetTop - text.clientHeight / 2;
    };
    return box;
  }

  function prompt(entry) {
    const more = make("details", undefined, { class: "prompt" });
    more.append(make("summary", "The full prompt"));
    const fill = async () => {
      if (/^[0-9a-f]{4,64}$/.test(entry.prompt)) await SIMING.load(`../prompts/${entry.prompt}.js`);
      const text = prompts.get(entry.prompt);
      if (text === undefined) more.append(make("p", SIMING.say("no prompt", { prompt: entry.prompt || "not stated" }), { class: "sub" }));
      else more.append(make("p", `Sent after the frames; ${entry.prompt}.`, { class: "sub" }), make("pre", text, { tabindex: "0", "aria-label": "Prompt" }));
    };
    more.addEventListener("toggle", fill, { once: true });
    return more;
  }

  async function thumbnails(player, times, holder, button) {
    button.disabled = true;
    for (const time of times) {
      try {
        const box = make("figure");
        box.append(await SIMING.still(player.src, time), make("figcaption", `${time.toFixed(1)} s`));
        holder.append(box);
      } catch { holder.append(make("p", SIMING.say("no video", { path: player.getAttribute("src") }), { class: "sub" })); break; }
    }
    button.remove();
  }

  // Fills the panel: what `judges` (one, or two side by side: cell, entry, name) said. `play` plays the step, `go` at a
  // quoted time; both, and `player`, may be null.
  SIMING.showReply = (detail, context) => {
    const { row, table, player, play, go, frames, judges, title } = context;
    const entry = judges[0].entry;
    const heads = [...table.tHead.rows[0].cells];
    const [setting, scope, step] = [table.dataset.setting, table.dataset.scope, row.dataset.step];
    const name = rubric[step] && rubric[step].name;
    const head = make("h2", "");
    judges.forEach((judge, place) => head.append(place ? " and " : "", make("bdi", judge.name)));
    head.append(`, ${title}`);
    const buttons = make("p", undefined, { class: "acts" });
    const about = make("div", undefined, { class: "about" });
    about.append(verdicts(judges, row, heads), buttons);
    if (row.dataset.start !== undefined && player) {
      const button = make("button", "Play this step", { type: "button" });
      button.addEventListener("click", play);
      buttons.append(button);
    }
    const times = entry ? SIMING.frameTimes(entry.media || {}) : [];
    const holder = make("div", undefined, { class: "frames" });
    if (times.length && player) {
      const button = make("button", `Show ${SIMING.counted(times.length, "frame")}`, { type: "button" });
      button.addEventListener("click", () => thumbnails(player, times, holder, button));
      buttons.append(" ", button);
    }
    if (navigator.clipboard) {
      const button = make("button", "Copy link", { type: "button" });
      button.addEventListener("click", () => navigator.clipboard.writeText(location.href).then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Not allowed"; }));
      buttons.append(" ", button);
    }
    const parts = [head, about, holder];
    if (times.length && player && frames === "unknown") parts.push(make("p", "Frame times are estimated.", { class: "sub" }));
    const sides = make("div", undefined, { class: "sides" });
    const replies = judges.map((judge) => {
      const alone = judges.length < 2;
      if ((judge.entry?.reply ?? null) === null) return make("p", `${alone ? "" : `${judge.name}: `}${SIMING.say("no reply")}`);
      return reply(judge.entry, { step, name, setting, scope, go, judge: alone ? "" : judge.name });
    });
    sides.append(...replies);
    sides.append(expected(step, row));
    parts.push(sides);
    if (entry) parts.push(facts(entry), prompt(entry));
    detail.replaceChildren(...parts);
    detail.scrollTop = 0;
    for (const said of replies) said.reveal?.();
    return times;
  };
}
