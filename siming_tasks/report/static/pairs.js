// Two videos played together: what differs, what looks identical, or all of both.
"use strict";

{
  const SAY = { differs: "What differs", same: "What looks identical", all: "Both from the start" };
  const minimal_pairs = document.querySelector(".minimal_pairs");
  const videos = [...minimal_pairs.querySelectorAll("video")];
  const bar = document.querySelector(".twin-acts");
  const playing = document.querySelector(".playing");
  const spanOf = (video, kind) => (video.dataset[kind] || "").split(" ").map(Number);
  let turn = 0;

  const ready = (video) => new Promise((done) => {
    if (video.readyState > 0 || video.error) done(); else for (const name of ["loadedmetadata", "error"]) video.addEventListener(name, done, { once: true });
  });
  const arrive = (video, time) => new Promise((done) => {
    if (!(video.readyState > 0)) { done(); return; }
    video.addEventListener("seeked", done, { once: true });
    video.currentTime = time;
  });

  function state(kind) {
    if (kind) minimal_pairs.dataset.playing = kind; else delete minimal_pairs.dataset.playing;
    for (const button of bar.children) button.setAttribute("aria-pressed", String(button.dataset.play === kind));
  }

  // Both go to the beginning first and start when both are there.
  async function play(kind) {
    const mine = ++turn;
    for (const video of videos) { video.pause(); video.dataset.until = ""; }
    state(kind);
    await Promise.all(videos.map(ready));
    await Promise.all(videos.map((video) => arrive(video, kind === "all" ? 0 : spanOf(video, kind)[0])));
    if (mine !== turn) return;
    const note = document.querySelector(`[data-note="${kind}"]`);
    playing.textContent = note ? note.textContent.trim() : SAY[kind];
    for (const video of videos) {
      if (kind !== "all") video.dataset.until = spanOf(video, kind)[1];
      video.play().catch(() => {});
    }
  }

  if (videos.length === 2) bar.hidden = false;
  for (const button of bar.children) button.addEventListener("click", () => play(button.dataset.play));
  for (const video of videos) {
    const twin = video.closest(".twin");
    const strip = twin.querySelector(".strip");
    const head = document.createElementNS("http://www.w3.org/2000/svg", "line");
    for (const [key, value] of Object.entries({ class: "head", y1: 0, y2: 16 })) head.setAttribute(key, value);
    strip.append(head);
    const tell = () => {
      const share = `${(100 * video.currentTime) / (video.duration || 1)}%`;
      head.setAttribute("x1", share);
      head.setAttribute("x2", share);
      const until = parseFloat(video.dataset.until);
      if (video.currentTime >= until) {
        video.pause();
        video.dataset.until = "";
        if (videos.every((other) => other.paused)) { state(null); playing.textContent = ""; }
      }
    };
    for (const name of ["timeupdate", "seeked"]) video.addEventListener(name, tell);
    strip.addEventListener("click", (event) => {
      const box = strip.getBoundingClientRect();
      for (const other of videos) { other.dataset.until = ""; other.currentTime = ((event.clientX - box.left) / box.width) * (video.duration || 0); }
    });
    const first = video.dataset.differs || video.dataset.same; // where they differ, not where they begin
    if (first) ready(video).then(() => { if (video.readyState > 0) video.currentTime = parseFloat(first); });
    SIMING.watch(video, twin.querySelector(".player-error"));
  }
}
