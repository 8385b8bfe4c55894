// The line to the station: acts go one by one, in order, and each is sent until the station says that it is on disk.
// An act has a name of its own, so that one that arrives twice is done once.

import { language, say } from "/words.js";

const AGAIN_MS = 2000;

export const fresh = () => crypto.randomUUID();

export class Line {
  // waiting(count): how many acts are not saved yet; trouble(text or ""): what stands in the way.
  constructor(waiting, trouble) {
    this.waiting = waiting;
    this.trouble = trouble;
    this.count = 0;
    this.last = Promise.resolve();
    this.closed = false;
    addEventListener("beforeunload", (event) => { if (this.count) event.preventDefault(); });
  }

  // Resolves with the station's answer, or with null if it refused.
  send(path, body) {
    this.waiting(++this.count);
    this.last = this.last.then(() => this.deliver(path, body)).finally(() => this.waiting(--this.count));
    return this.last;
  }

  async deliver(path, body) {
    for (;;) {
      if (this.closed) return null;
      let answer = null;
      try {
        answer = await fetch(path, {
          method: "POST",
          keepalive: true, // also what is sent while the page is closed arrives
          headers: { "content-type": "application/json", "accept-language": language() },
          body: JSON.stringify(body),
        });
      } catch {
        this.trouble(say("no_answer"));
      }
      if (answer && answer.status === 403) {
        this.closed = true;
        this.trouble(say("started_again"));
        return null;
      }
      if (answer) {
        const told = await answer.json().catch(() => ({ error: say("answered", { status: answer.status }) }));
        this.trouble(told.error || "");
        if (answer.ok || answer.status < 500) return answer.ok ? told : null;
      }
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  }
}
