// What shows the pictures: a video stepped by its real frame times. It knows which frame is on screen; nothing here
// assumes a constant rate.

import { language, say } from "./words.js";

const LONGEST_TICK = 1.5; // seconds of the video between two looks at its clock, at double speed
const FIRST_PICTURE_MS = 5000;
const REST_MS = 200;
const ROUNDING = 1e-3; // seconds: some containers, and browsers' clocks with them, count in milliseconds

// The last frame that begins at or before a time.
export function frameAt(times, time) {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time + ROUNDING) low = middle;
    else high = middle - 1;
  }
  return low;
}

export class Player {
  constructor(video, changed) {
    this.changed = changed;
    this.times = [0];
    this.end = 0;
    this.frame = 0;
    this.speed = 1;
    this.stop = null;
    this.played = { heard: 0, silent: 0 };
    this.video = video;
    this.offset = 0; // what the browser calls second 0, where a player starts
    this.seeking = false;
    this.tries = 0; // seeks that are left to reach the frame that is wanted
    this.settling = 0;
    this.arrived = null; // second of the picture that came last, since the last seek began
    this.sound = false;
    this.looked = 0;
    for (const name of ["timeupdate", "play", "pause", "ended"]) video.addEventListener(name, () => this.count());
    for (const name of ["play", "pause", "ended", "volumechange"]) video.addEventListener(name, () => changed());
    video.addEventListener("seeked", () => {
      if (video.seeking) return; // of a seek that another has followed
      this.seeking = false;
      this.looked = video.currentTime;
      // Pictures of steps in quick succession may still come: until they rest, the frame is the one that is wanted.
      this.settling = setTimeout(() => this.settle(), this.playing ? 0 : REST_MS);
      changed();
    });
    if ("requestVideoFrameCallback" in video) {
      const seen = (_, shown) => {
        if (this.fresh && video.readyState >= 2) this.begin(shown.mediaTime - this.times[0]);
        this.saw(shown.mediaTime);
        video.requestVideoFrameCallback(seen);
      };
      video.requestVideoFrameCallback(seen);
    } else {
      video.addEventListener("timeupdate", () => this.saw(video.currentTime));
    }
  }

  // Seconds that were played since the last take.
  get seconds() { return this.played.heard + this.played.silent; }

  get time() { return this.times[this.frame]; }

  // When the frame on screen gives way to the next.
  until(frame) { return frame + 1 < this.times.length ? this.times[frame + 1] : this.end; }

  step(count) { this.pause(); this.show(this.frame + count); }

  jump(time) { this.show(frameAt(this.times, Math.min(Math.max(time, 0), this.end))); }

  // From start to end, then halt on the span's last frame.
  span(start, end) {
    this.show(frameAt(this.times, start));
    this.stop = Math.max(frameAt(this.times, end - 2 * ROUNDING), this.frame);
    this.play();
  }

  toggle() {
    this.stop = null;
    if (this.playing) this.pause();
    else this.play();
  }

  clamp(frame) { return Math.min(Math.max(frame, 0), this.times.length - 1); }

  get playing() { return !this.video.paused; }

  get audible() { return this.sound && !this.video.muted && this.video.volume > 0; }

  mute(off = !this.video.muted) {
    this.count();
    this.video.muted = off;
  }

  // What has been played since the last look goes to one of the two counts; a seek is no playing.
  count() {
    const tick = this.video.currentTime - this.looked;
    this.looked = this.video.currentTime;
    if (!this.seeking && !this.video.seeking && tick > 0 && tick < LONGEST_TICK) {
      this.played[this.audible ? "heard" : "silent"] += tick;
    }
  }

  // Seconds that were played since the last call, with sound and without.
  take() {
    this.count();
    const played = this.played;
    this.played = { heard: 0, silent: 0 };
    return played;
  }

  load({ src, times, end, sound }) {
    Object.assign(this, { src, times, end, sound, frame: 0, wanted: 0, stop: null, seeking: false, tries: 0 });
    Object.assign(this, { fresh: true, offset: 0, looked: 0, arrived: null });
    return new Promise((ready, failed) => {
      const loaded = () => {
        this.video.playbackRate = this.speed;
        if ("requestVideoFrameCallback" in this.video) setTimeout(() => { if (this.ready === ready) this.begin(0); }, FIRST_PICTURE_MS);
        else this.begin(0);
      };
      this.ready = ready;
      this.video.onloadeddata = loaded;
      this.video.onerror = async () => {
        const answer = await fetch(src, { headers: { range: "bytes=0-0", "accept-language": language() } }).catch(() => null);
        const said = answer && !answer.ok ? await answer.text() : say("cannot_play");
        failed(new Error(said));
      };
      this.video.src = src;
    });
  }

  // The first picture says where the browser begins to count; a browser that shows none is taken to begin at second 0.
  begin(offset) {
    if (!this.fresh) return;
    this.fresh = false;
    this.offset = offset;
    this.ready();
    if (this.wanted) this.show(this.wanted);
  }

  settle() {
    clearTimeout(this.settling);
    this.settling = 0;
    if (!this.seeking && this.arrived !== null) this.saw(this.arrived);
  }

  saw(mediaTime) {
    this.arrived = mediaTime;
    if (this.seeking || this.settling) return;
    this.frame = frameAt(this.times, mediaTime - this.offset);
    // Where frames last differently long, Chromium may stop some frames before the one that it is told to show.
    if (!this.playing && this.frame < this.wanted && this.tries > 0) {
      this.tries -= 1;
      this.seek(this.video.currentTime + this.times[this.wanted] - this.time);
      return;
    }
    if (this.stop !== null && this.frame >= this.stop && this.playing) {
      const last = this.stop;
      this.pause();
      this.show(last);
    }
    this.changed();
  }

  show(frame) {
    this.revive();
    this.count();
    this.frame = this.wanted = this.clamp(frame);
    this.tries = 4;
    // The middle of the frame's time: rounding on either side cannot show its neighbour.
    if (!this.fresh) this.seek(this.offset + (this.time + this.until(this.frame)) / 2);
    this.changed();
  }

  seek(mediaTime) {
    this.seeking = true;
    this.settle();
    this.arrived = null;
    this.video.currentTime = mediaTime;
  }

  // A video that was lost with the station is there again with the next one.
  revive() {
    if (!this.video.error) return;
    this.video.onloadeddata = () => this.show(this.frame);
    this.video.load();
  }

  play() {
    this.tries = 0;
    this.settle();
    this.revive();
    this.video.play().catch(() => {});
  }

  pause() { this.stop = null; this.video.pause(); }

  faster(speed) { this.speed = speed; this.video.playbackRate = speed; }
}
