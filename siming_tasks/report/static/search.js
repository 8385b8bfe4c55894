// Searches what models wrote. Replies lie in data files, one for each judge and exam; they are read one after another and
// forgotten again, so that a report of any size can be searched from disk. Replies go into the page as text.
"use strict";

{
  const { make } = SIMING;
  const AT_ONCE = 6;
  const SHOWN = 200;
  const AROUND = 90;
  const main = document.querySelector("main");
  const list = main.querySelector(".hits");
  const tally = main.querySelector(".tally");
  const fields = Object.fromEntries([...main.querySelectorAll(".filters [name]")].map((field) => [field.name, field]));
  const videos = JSON.parse(main.dataset.videos);
  const without = JSON.parse(main.dataset.without); // by judge, the exams of which it said nothing: there is no file
  const names = new Map([...fields.run.options].filter((option) => option.value).map((option) => [option.value, option.textContent]));
  let turn = 0;
  let take = () => {};

  SIMING.put = (run, request, entry) => take(run, request, entry);

  const read = (path) => new Promise((done) => {
    const script = make("script");
    script.onload = script.onerror = () => { script.remove(); done(); };
    script.src = path;
    document.head.append(script);
  });

  function hit(run, request, text, words) {
    const [setting, video, step] = request.split("/");
    const at = text.toLowerCase().indexOf(words[0]);
    const [from, to] = [Math.max(0, at - AROUND), at + words[0].length + AROUND];
    const item = make("li");
    const place = [setting, run, ...(step ? [step] : [])].map(encodeURIComponent).join("/");
    item.append(make("a", `${names.get(run)}: ${request}`, { href: `videos/${encodeURIComponent(video)}.html#${place}` }));
    const words_ = make("p", undefined, { class: "excerpt" });
    words_.append(from ? "…" : "", text.slice(from, at), make("mark", text.slice(at, at + words[0].length)), text.slice(at + words[0].length, to), to < text.length ? "…" : "");
    item.append(words_);
    return item;
  }

  async function search() {
    const mine = ++turn;
    const words = fields.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    history.replaceState(null, "", `#${new URLSearchParams(Object.entries(fields).map(([name, field]) => [name, field.value]).filter(([, value]) => value))}`);
    list.replaceChildren();
    if (!words.length) { tally.textContent = ""; return; }
    let [found, done] = [0, 0];
    take = (run, request, entry) => {
      if (mine !== turn || entry.reply === null || (fields.setting.value && request.split("/")[0] !== fields.setting.value)) return;
      const text = entry.reply.toLowerCase();
      if (!words.every((word) => text.includes(word))) return;
      found += 1;
      if (found <= SHOWN) list.append(hit(run, request, entry.reply, words));
    };
    const runs = fields.run.value ? [fields.run.value] : [...names.keys()].filter((run) => !SIMING.hidden(run));
    const files = videos.flatMap((video) => runs.filter((run) => !without[run]?.includes(video)).map((run) => `data/${encodeURIComponent(run)}/${encodeURIComponent(video)}.js`));
    const tell = () => {
      const first = found > SHOWN ? `, the first ${SHOWN} below` : "";
      tally.textContent = `${found.toLocaleString("en")} ${found === 1 ? "reply" : "replies"}${first}${done < files.length ? `; ${done.toLocaleString("en")} of ${files.length.toLocaleString("en")} files read` : ""}`;
    };
    const queue = files.values();
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (const file of queue) {
        if (mine !== turn) return;
        await read(file);
        done += 1;
        if (mine === turn && done % 12 === 0) tell();
      }
    }));
    if (mine === turn) tell();
  }

  let waiting = null;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(search, 250); };
  for (const field of Object.values(fields)) field.addEventListener(field.type === "search" ? "input" : "change", soon);
  document.addEventListener("judges", soon);
  const given = new URLSearchParams(location.hash.slice(1));
  for (const [name, field] of Object.entries(fields)) if (given.has(name)) field.value = given.get(name);
  if (fields.words.value) search(); else fields.words.focus();
}
