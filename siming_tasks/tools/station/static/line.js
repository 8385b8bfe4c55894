// The line to the station: acts go one by one, in order, and each is sent until the station says that it is on disk.
// An act has a name of its own, so that one that arrives twice is done once; this browser keeps it until it is saved,
// for the page that is loaded next.

import { language, say } from "./words.js";

const AGAIN_MS = 1000;
const ANSWER_MS = 10000; // after that none comes: the machine slept, a tunnel fell
const SLOW_MS = 2000; // an act that takes longer is shown as not saved
const KEPT = "siming act ";
const HOME = "siming home "; // the address of this rater's newest page: each station has a key of its own in it

const keep = (act) => { try { localStorage[KEPT + act.body.id] = JSON.stringify(act); } catch { /* no room: only sent */ } };

export class Line {
  // changed(): an act was taken or saved, or there is another trouble.
  constructor(changed) {
    this.changed = changed;
    this.acts = []; // not saved yet, the one on its way first
    this.last = Promise.resolve();
    this.trouble = ""; // why the first of them is not saved
    this.refused = ""; // why the station did not take the last one that it answered
    addEventListener("beforeunload", (event) => { if (this.acts.length) event.preventDefault(); });
  }

  // What is not saved and why; nothing else is taken meanwhile.
  get stuck() { return this.trouble && say("not_saved", { what: this.acts[0].what, reason: this.trouble }); }

  // Resolves with the station's answer, or with null if it refused. What: the act in words.
  send(path, body, what) {
    const act = { path, what, body: { id: crypto.randomUUID(), ...body }, time: Date.now() };
    if (path === "act") keep(act);
    return this.enter(act);
  }

  // Note where this rater's page is now, so that one of an earlier station goes on there.
  settle(item) {
    this.home = HOME + item;
    localStorage[this.home] = location.pathname;
  }

  // Send what a page before this one could not save; resolves with those acts, and the reason of what is refused.
  async resume(items) {
    const kept = Object.keys(localStorage).filter((key) => key.startsWith(KEPT)).map((key) => JSON.parse(localStorage[key]));
    const ours = kept.filter(({ body }) => items.includes(body.item)).sort((a, b) => a.time - b.time);
    for (const act of ours) act.reason = await this.enter(act) ? "" : this.refused;
    return ours.filter(({ body }) => body.kind !== "played");
  }

  enter(act) {
    this.acts.push(act);
    this.changed();
    this.last = this.last.then(() => this.deliver(act)).then((told) => {
      localStorage.removeItem(KEPT + act.body.id);
      this.acts.shift();
      this.say("");
      return told;
    });
    return this.last;
  }

  say(trouble) {
    this.trouble = trouble;
    this.changed();
  }

  refuse(reason) {
    this.refused = reason;
    this.changed();
  }

  async deliver({ path, body }) {
    for (;;) {
      const slow = setTimeout(() => this.say(this.trouble || say("no_answer")), SLOW_MS);
      const answer = await this.ask(path, body);
      clearTimeout(slow);
      if (answer.ok || (answer.status < 500 && answer.status !== 403)) {
        if (body.kind !== "played" || answer.error) this.refuse(answer.error || "");
        return answer.ok ? answer.told : null;
      }
      this.say(answer.error);
      if (answer.status === 403 && localStorage[this.home] !== location.pathname) {
        this.acts = []; // this browser keeps them for that page
        location.replace(localStorage[this.home]);
      }
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  }

  async ask(path, body) {
    try {
      const answer = await fetch(path, {
        method: "POST",
        keepalive: true, // also what is sent while the page is closed arrives
        signal: AbortSignal.timeout(ANSWER_MS),
        headers: { "content-type": "application/json", "accept-language": language() },
        body: JSON.stringify(body),
      });
      const { status, ok } = answer;
      if (status === 403) return { status, error: say("started_again") };
      const told = await answer.json().catch(() => ({ error: say("answered", { status }) }));
      return { status, ok: ok && !told.error, told, error: told.error };
    } catch {
      return { status: 503, error: say("no_answer") };
    }
  }
}
