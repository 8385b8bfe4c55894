// The time line: a lane for each skill and for each chosen judge, sub-lanes where spans overlap, an axis; for the mouse.
"use strict";

{
  const NS = "http://www.w3.org/2000/svg";
  const THICK = 11; // height of a lane; sub-lanes share it, as far as they can still be hit
  const THIN = 5;
  const draw = (name, attributes, text) => {
    const node = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };

  // Gives each span the first sub-lane that is free at its start; returns how many there are.
  function pack(spans) {
    const ends = [];
    for (const span of [...spans].sort((a, b) => a.start - b.start || b.end - a.end)) {
      let lane = ends.findIndex((end) => end <= span.start + 1e-9);
      if (lane < 0) lane = ends.push(0) - 1;
      ends[lane] = span.start + Math.max(span.end - span.start, span.least);
      span.lane = lane;
    }
    return ends.length;
  }

  const ticks = (length) => {
    const step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600].find((size) => length / size <= 8) || length / 6;
    const found = [];
    for (let at = 0; at <= length; at += step) found.push(at);
    return found;
  };

  SIMING.Timeline = class {
    // `choose(step, run)` is called with a step's id, and a judge's column or null.
    constructor(holder, length, choose) {
      Object.assign(this, { holder, length, choose, spans: [] });
      this.head = SIMING.make("div", undefined, { class: "playhead", "aria-hidden": "true" });
      holder.addEventListener("click", (event) => {
        const span = event.target.closest(".span");
        if (span) this.choose(span.dataset.step, span.dataset.run ?? null);
        else if (event.target.closest("svg")) {
          const box = event.target.closest("svg").getBoundingClientRect();
          this.seek?.(((event.clientX - box.left) / box.width) * this.length);
        }
      });
    }

    at(seconds) { return `${((100 * seconds) / this.length).toFixed(3)}%`; }

    lane(spans, thick, label, run) {
      const count = Math.max(pack(spans), 1);
      const gap = 1;
      const size = count > 2 ? THIN : thick;
      const svg = draw("svg", { class: "lane", width: "100%", height: count * (size + gap), role: "img", "aria-label": label });
      for (const at of ticks(this.length)) svg.append(draw("line", { class: "rule", x1: this.at(at), x2: this.at(at), y1: 0, y2: "100%" }));
      for (const span of spans) {
        const height = run === undefined || !["same", "lenient", "strict"].includes(span.look) ? size : span.look === "same" ? 1.5 : size / 2;
        const mark = draw("rect", {
          class: `span ${span.look}`, x: this.at(span.start), width: this.at(Math.max(span.end - span.start, span.least)),
          y: span.lane * (size + gap) + (span.look === "same" ? (size - height) / 2 : size - height), height,
          "data-step": span.step,
        });
        if (run !== undefined) mark.dataset.run = run;
        mark.append(draw("title", {}, span.title));
        svg.append(mark);
      }
      return svg;
    }

    // Lanes of the rows of a table, and of these of its judges.
    show(table, runs) {
      const least = 0.005 * this.length;
      const heads = [...table.tHead.rows[0].cells];
      const rows = [...table.tBodies[0].rows].filter((row) => row.dataset.start !== undefined).map((row) => ({
        row, step: row.dataset.step, start: parseFloat(row.dataset.start), end: parseFloat(row.dataset.end), least,
        title: `${row.cells[0].textContent.trim()}, ${parseFloat(row.dataset.start).toFixed(1)} to ${parseFloat(row.dataset.end).toFixed(1)} s`,
      }));
      const label = { k0: "failed", k1: "clearly deficient", k2: "minor deduction", k3: "fully correct" };
      const parts = [];
      for (const name of this.names ??= [...this.holder.querySelectorAll(".lane-name[data-skill]")]) {
        const mine = rows.filter(({ row }) => row.dataset.skill === name.dataset.skill).map((span) => {
          const look = [...span.row.cells[1].classList].find((word) => word in label) || "unknown";
          return { ...span, look, title: `${span.title}: ${label[look] || "no label"}` };
        });
        if (mine.length) parts.push(name, this.lane(mine, THICK, name.textContent));
      }
      heads.forEach((head, column) => {
        if (!runs.includes(head.dataset.run)) return;
        const spans = rows.flatMap((span) => {
          const button = span.row.cells[column].querySelector("button");
          if (!button) return [];
          const kind = button.dataset.d;
          return [{ ...span, kind, look: kind || "same", title: `${head.dataset.name}, ${span.title}: ${SIMING.said(button)}` }];
        });
        const name = SIMING.make("span", undefined, { class: "lane-name judge" });
        name.append(...[...head.querySelector("button").childNodes].map((node) => node.cloneNode(true)));
        name.title = head.dataset.name;
        parts.push(name, this.lane(spans, THICK, name.title, head.dataset.run));
        const claims = rows.flatMap((span) => this.claims(span, span.row.cells[column].querySelector("button"), head));
        if (claims.length) {
          const under = SIMING.make("span", "rests on", { class: "lane-name frames-name" });
          parts.push(under, this.lane(claims, THIN, `${head.dataset.name} rests on`, head.dataset.run));
        }
      });
      this.ticks = draw("svg", { class: "ticks", width: "100%", height: 9, "aria-hidden": "true" });
      const axis = draw("svg", { class: "axis", width: "100%", height: 15, "aria-hidden": "true" });
      for (const at of ticks(this.length)) {
        const edge = at === 0 ? "start" : at > 0.95 * this.length ? "end" : "middle";
        axis.append(draw("text", { x: this.at(at), y: 11, "text-anchor": edge }, at === 0 ? "0 s" : String(at)));
      }
      const shown = SIMING.make("span", "frames shown", { class: "lane-name frames-name" });
      shown.hidden = true;
      this.shown = shown;
      this.holder.replaceChildren(...parts, shown, this.ticks, SIMING.make("span", "", { class: "lane-name" }), axis, this.head);
      this.spans = [...this.holder.querySelectorAll(".span")];
    }

    // What a judge says that its answer rests on, to be drawn under the step's own span.
    claims(span, button, head) {
      const seconds = (button?.dataset.claim || "").split(" ").filter(Boolean).map(Number);
      const pairs = seconds.flatMap((start, at) => (at % 2 ? [] : [[start, Math.min(seconds[at + 1], this.length)]]));
      return pairs.filter(([start, end]) => start <= end).map(([start, end]) => ({
        ...span, start, end, kind: "claim", look: "claim",
        title: `${head.dataset.name}, ${span.title}: rests on ${start.toFixed(1)} to ${end.toFixed(1)} s`,
      }));
    }

    // Marks the frames that a judge was shown, and the stretch if its own reader chose among them.
    frames(times, stretch) {
      this.ticks.replaceChildren();
      this.shown.hidden = !times.length && !stretch;
      if (stretch) this.ticks.append(draw("rect", { x: this.at(stretch[0]), width: this.at(stretch[1] - stretch[0]), y: 2, height: 5 }));
      for (const time of times) this.ticks.append(draw("line", { x1: this.at(time), x2: this.at(time), y1: 0, y2: 9 }));
    }

    mark(step, run) {
      for (const span of this.spans) {
        span.classList.toggle("on", span.dataset.step === step && (span.dataset.run === undefined || span.dataset.run === run));
      }
    }

    play(seconds) {
      const lane = this.holder.querySelector("svg");
      if (!lane) return;
      const [outer, inner] = [this.holder.getBoundingClientRect(), lane.getBoundingClientRect()];
      this.head.style.left = `${inner.left - outer.left + (inner.width * Math.min(seconds, this.length)) / this.length}px`;
    }
  };
}
