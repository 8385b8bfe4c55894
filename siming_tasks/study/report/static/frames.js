// Still pictures out of videos, drawn one after another by hidden players; and what to say of a video that is not there.
"use strict";

// A sentence of ours, which the page brings along; text in braces is filled in.
SIMING.say = (key, values = {}) => JSON.parse(document.querySelector("main").dataset.words)[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);

// A number with its noun.
SIMING.counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

SIMING.make = (name, text, attributes = {}) => {
  const node = document.createElement(name);
  if (text !== undefined && text !== null) node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

{
  const KEPT = 3; // hidden players: each holds a decoder
  const PATIENCE = 15000;
  const players = new Map();
  let queue = Promise.resolve();

  const event = (target, good) => new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error("too slow")), PATIENCE);
    const end = (way) => () => { clearTimeout(timer); way(); };
    target.addEventListener(good, end(done), { once: true });
    target.addEventListener("error", end(() => fail(new Error("no video"))), { once: true });
  });

  const playerOf = async (url) => {
    if (!players.has(url)) {
      for (const [old, player] of players) if (players.size >= KEPT) { player.removeAttribute("src"); player.load(); players.delete(old); }
      const player = Object.assign(document.createElement("video"), { muted: true, preload: "auto", src: url });
      players.set(url, player);
      try { await event(player, "loadedmetadata"); } catch (error) { players.delete(url); throw error; }
    }
    return players.get(url);
  };

  const draw = async (url, time, width) => {
    const player = await playerOf(url);
    const seeked = event(player, "seeked");
    player.currentTime = Math.min(time + 0.001, player.duration);
    await seeked;
    const canvas = document.createElement("canvas");
    canvas.width = width;
    canvas.height = Math.round((width * player.videoHeight) / (player.videoWidth || 1)) || Math.round((width * 9) / 16);
    canvas.getContext("2d").drawImage(player, 0, 0, canvas.width, canvas.height);
    return canvas;
  };

  // A canvas with the frame shown at that second; fails if there is no such video. `wanted` is asked when its turn comes.
  SIMING.still = (url, time, width = 224, wanted = () => true) => {
    const mine = queue.then(() => (wanted() ? draw(url, time, width) : null));
    queue = mine.catch(() => {});
    return mine;
  };
}

// Draws the frames that elements name (data-media, data-time) when they come into view.
{
  const seen = new IntersectionObserver((entries) => {
    for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
      seen.unobserve(target);
      SIMING.still(target.dataset.media, parseFloat(target.dataset.time), 320, () => target.isConnected).then(
        (canvas) => { if (canvas) target.append(canvas); },
        () => {
          const note = document.querySelector(".player-error");
          target.textContent = "no video";
          note.textContent = SIMING.say("no video", { path: target.dataset.media });
          note.hidden = false;
        },
      );
    }
  }, { rootMargin: "200px" });
  for (const picture of document.querySelectorAll(".still[data-media]")) seen.observe(picture);
}

// Says below a player why it shows nothing, whenever the page learns of it: before this script ran, too.
SIMING.watch = (player, note) => {
  const missing = () => { note.textContent = SIMING.say("no video", { path: player.getAttribute("src") }); note.hidden = false; };
  player.addEventListener("error", missing);
  player.addEventListener("loadedmetadata", () => { note.hidden = true; });
  if (player.error || player.networkState === HTMLMediaElement.NETWORK_NO_SOURCE) missing();
  const stuck = () => {
    if (player.seekable.length && player.seekable.end(player.seekable.length - 1) > 0) return;
    note.textContent = SIMING.say("no parts");
    note.hidden = false;
  };
  if (player.readyState > 0) stuck(); else player.addEventListener("loadedmetadata", stuck, { once: true });
};
