"""The video of an exam: the plan is played, frames are drawn from it and encoded as H.264, sound as AAC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.files import atomic_path
from siming_tasks.media.clips import x264_options
from siming_tasks.tools.simulator.aed import defibrillate
from siming_tasks.tools.simulator.bag_mask import ventilate
from siming_tasks.tools.simulator.canvas import Image, draw_appearance
from siming_tasks.tools.simulator.choreography import CHANNELS, Choreography, Pace, Performance
from siming_tasks.tools.simulator.cpr import resuscitate
from siming_tasks.tools.simulator.people import sway_step
from siming_tasks.tools.simulator.scene import Scene
from siming_tasks.tools.simulator.sound import RATE
from siming_tasks.tools.simulator.steps import BEFORE_THE_ACT, draw_slots
from siming_tasks.tools.simulator.trainee import TraineeErrors

FPS = 10
"""Frames per second: five in a compression at a proper rate; the rubric asks for at most 8."""
FULL = Pace(time=0.72)
"""About four minutes per exam, a third of them still (:func:`steps.draw_slots`); natural lengths make 160 s."""
SHORT = Pace(time=0.13, clock=0.13, strokes=6)
"""Half a minute per exam: six strokes stand for thirty and everything but the strokes runs fast. For tests."""
_TITLE = "SYNTHETIC: simulated exam, drawn by a program"
"""Text in every file's metadata, for readers who have the video without its folder."""
_GOP_SECONDS = 2
"""Seconds from one keyframe to the next."""


def perform(
    plan: TraineeErrors, *, pace: Pace = FULL, seed: int = 0, slots: Mapping[str, float] | None = None
) -> Performance:
    """Play an exam of the embedded rubric's 33 steps; their spans fall on frames.

    ``seed`` decides between harmless variants (tempo, legal orders, a wet chest...) and, at full pace, how long each
    span is; ``slots`` has the least seconds of a step's span, by step id, where that is to be longer.
    """
    drawn = draw_slots(seed) if pace == FULL else {}
    least = {step: max(drawn.get(step, 0.0), (slots or {}).get(step, 0.0)) for step in drawn | dict(slots or {})}

    def play(slots: Mapping[str, float], leads: Mapping[str, float]) -> Performance:
        s = Choreography(plan, pace, FPS, seed, slots, leads)
        s.me.put(seen=1, x=176, lx=154, rx=198)
        s.aide.put(seen=1, x=112, lx=90, rx=134, gx=0.5, gy=0.4)
        s.by.put(seen=1, x=48, lx=26, rx=70, gx=0.6, gy=0.4)
        s.put(p_soft=float(plan.has("cpr_06.soft_surface")))
        for skill in (resuscitate, defibrillate, ventilate):
            skill(s)
        return s.finish()

    natural = play({}, {}).lengths
    return play(least, {step: max(0.0, least[step] - natural[step]) for step in BEFORE_THE_ACT if step in least})


def frames(performance: Performance, appearance_seed: int, start: int = 0, stop: int | None = None) -> Iterator[Image]:
    """Images ``start`` to ``stop`` of the video, BGR, shape (272, 480, 3); the same object while nothing changes."""
    scene = Scene(draw_appearance(appearance_seed), list(CHANNELS))
    rows = np.round(performance.sample(FPS), 2).tolist()
    words: dict[int, tuple[tuple[str, str], ...]] = {}  # what is heard at the middle of each frame
    for word in performance.utterances:
        for index in range(int(word.start * FPS), int(word.end * FPS) + 1):
            if word.start <= (index + 0.5) / FPS < word.end:
                words[index] = (*words.get(index, ()), (word.who, word.text))
    mode = list(CHANNELS).index("a_mode")
    last: tuple[object, ...] | None = None
    for index in range(start, len(rows) if stop is None else stop):
        time, row, spoken = (index + 0.5) / FPS, rows[index], words.get(index, ())
        # The last value changes whenever a lamp or the screen of the device does, if it is on.
        seen = (row, spoken, sway_step(time), time * 12 // 2 if row[mode] in (2, 3) else 0.0)
        if seen != last:
            image, last = scene.draw(row, spoken, time), seen
        yield image


def encode(
    path: Path, frames: Iterable[NDArray[np.uint8]], *, fps: int, crf: int = 27, sound: NDArray[np.int16] | None = None
) -> int:
    """Write frames as H.264 (yuv420p in .mp4), nothing if ``frames`` raises; returns the number of frames.

    Closed groups of pictures of two seconds make it cheap to cut and to seek. The same frames give the same bytes at
    every call.

    Args:
        path: target, ``.mp4``.
        frames: images of shape (height, width, 3), BGR, even sides, all of one size.
        fps: constant frame rate; frame i is shown from ``i / fps`` to ``(i + 1) / fps`` seconds.
        crf: x264's constant rate factor (18: hardly a loss, 28: small).
        sound: samples of a sound track from the first frame on (16,000 a second), written as AAC; None: no track.
    """
    import av
    import cv2

    count = 0
    # One thread per encoder: the work is shared out by video, and the bytes do not depend on the machine's cores.
    # Macroblock trees spend the bits on the standing background once: half the size for a tenth of the time.
    options = x264_options(
        {"preset": "ultrafast", "crf": str(crf), "threads": "1"},
        f"keyint={_GOP_SECONDS * fps}:min-keyint={_GOP_SECONDS * fps}:scenecut=0:open-gop=0"
        ":mbtree=1:rc-lookahead=10:aq-mode=1:cabac=1",
    )
    with (
        atomic_path(path) as temporary,
        av.open(str(temporary), "w", format="mp4", options={"movflags": "+faststart"}) as out,
    ):
        out.metadata["title"] = _TITLE
        stream = out.add_stream("libx264", rate=fps, options=options)
        voice = None if sound is None else out.add_stream("aac", rate=RATE, layout="mono", options={"b": "48k"})
        for image in frames:
            if count == 0:
                stream.height, stream.width = image.shape[:2]
                stream.pix_fmt = "yuv420p"
            planes: NDArray[np.uint8] = np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2YUV_I420), np.uint8)
            frame = av.VideoFrame.from_ndarray(planes, format="yuv420p")
            frame.pts, frame.time_base = count, Fraction(1, fps)
            out.mux(stream.encode(frame))
            if voice is not None and sound is not None:
                begin, end = (round(number * RATE / fps) for number in (count, count + 1))
                heard = np.ascontiguousarray(sound[None, begin:end])  # while the frame is shown
                part = av.AudioFrame.from_ndarray(heard, format="s16", layout="mono")
                part.sample_rate, part.pts, part.time_base = RATE, begin, Fraction(1, RATE)
                out.mux(voice.encode(part))
            count += 1
        out.mux(stream.encode(None))
        if voice is not None:
            out.mux(voice.encode(None))
    return count
