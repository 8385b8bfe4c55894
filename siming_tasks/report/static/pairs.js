// Two videos played together, from the start or over the step that differs.
"use strict";

const videos = [...document.querySelectorAll(".twins video")];
const bar = document.querySelector(".tabs");
if (videos.length === 2) bar.hidden = false;
for (const button of bar.querySelectorAll("button")) {
  button.addEventListener("click", () => {
    for (const video of videos) {
      const step = button.dataset.from === "step";
      video.dataset.until = step ? video.dataset.end : "";
      video.currentTime = step ? parseFloat(video.dataset.start) : 0;
      video.play().catch(() => {});
    }
  });
}
for (const video of videos) {
  const begin = () => { video.currentTime = parseFloat(video.dataset.start); }; // where they differ, not where they begin
  if (video.readyState > 0) begin(); else video.addEventListener("loadedmetadata", begin, { once: true });
  video.addEventListener("timeupdate", () => {
    const until = parseFloat(video.dataset.until);
    if (video.currentTime >= until) { video.pause(); video.dataset.until = ""; }
  });
}
