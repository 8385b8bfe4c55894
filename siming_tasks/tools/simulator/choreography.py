"""The choreography of an exam: keyframes of every channel, words, events and step spans, written at a moving "now"."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.tools.simulator.trainee import TraineeErrors

_FIGURE = {
    "seen": 0, "x": 60, "crouch": 0, "lean": 0, "bow": 0, "gx": 0, "gy": 0, "bare": 0, "puff": 0, "grip": 0,
    "lx": 36, "ly": 134, "rx": 84, "ry": 134, "lshape": 0, "rshape": 0,
}  # fmt: skip
CHANNELS: Mapping[str, float] = {
    **{f"{who}_{name}": value for who in ("me", "aide", "by") for name, value in _FIGURE.items()},
    # the patient: clothing, posture, chest (depth in cm at hx, hz; rise in normal breaths), head
    "p_cloth": 0, "p_flap": 0, "p_wet": 0, "p_soft": 0, "p_twist": 0.7, "p_pillow": 1, "p_shake": 0,
    "p_depth": 0, "p_hx": 288, "p_hz": 0.5, "p_rise": 0, "p_belly": 0,
    "p_tilt": 0, "p_mouth": 0.1, "p_shield": 0, "p_leak": 0,
    # the AED: mode, connector, pads (place: x and z on the chest, or z < 0: x, y in the hand)
    "a_seen": 0, "a_x": 398, "a_y": 150, "a_mode": 0, "a_plug": 0, "a_curl": 0,
    "a_pad1": 0, "a_pad1x": 0, "a_pad1y": 0, "a_pad1z": -1, "a_pad2": 0, "a_pad2x": 0, "a_pad2y": 0, "a_pad2z": -1,
    # bag and mask, oxygen
    "b_seen": 0, "b_x": 400, "b_y": 150, "b_sq": 0, "b_tube": 0, "b_res": 0, "b_flow": 0, "b_fault": 0,
    "b_leak": 0, "o_seen": 0, "o_x": 262, "o_y": 186,
}  # fmt: skip
"""Every channel of the scene and its value at the start."""
Bad = Callable[[str], bool]
"""Whether the step that is being done has the error of this name."""


@dataclass(frozen=True)
class Pace:
    """Tempo of an exam.

    Attributes:
        time: factor on moving and waiting.
        clock: factor on what the rubric counts in seconds (checks, breaths, pauses); 1 in a faithful exam.
        strokes: compressions drawn for a set of 30.
    """

    time: float = 1.0
    clock: float = 1.0
    strokes: int = 30


@dataclass(frozen=True)
class Utterance:
    """Words said by ``who`` from ``start`` to ``end`` seconds."""

    start: float
    end: float
    who: str
    text: str


@dataclass(frozen=True)
class Performance:
    """A played exam.

    Attributes:
        duration: seconds, a whole number of frames.
        spans: start and end of each step in seconds.
        lengths: seconds of each step's own slot, before a span is drawn out to show a later consequence.
        events: the log: ``{"t", "who", "what", "step_id", "errors"}``.
        times: keyframe times by channel; ``values`` the values there.
    """

    duration: float
    spans: Mapping[str, tuple[float, float]]
    lengths: Mapping[str, float]
    utterances: tuple[Utterance, ...]
    events: tuple[Mapping[str, Any], ...]
    times: Mapping[str, NDArray[np.float64]] = field(repr=False)
    values: Mapping[str, NDArray[np.float64]] = field(repr=False)

    def sample(self, fps: int) -> NDArray[np.float64]:
        """All channels at every frame, shape (frames, channels), in the order of :data:`CHANNELS`."""
        # The middle of the frame interval: an instant change on a frame boundary is then never ambiguous.
        at = (np.arange(round(self.duration * fps)) + 0.5) / fps
        return np.column_stack([np.interp(at, self.times[name], self.values[name]) for name in CHANNELS])


class Channels:
    """Channels whose names begin alike (a person's, or all): set at once, or moved while the stage's time runs on."""

    def __init__(self, stage: Choreography, prefix: str) -> None:
        self._stage, self._prefix = stage, prefix

    def value(self, name: str) -> float:
        """The channel's value now."""
        keys = self._stage.keys[self._prefix + name]
        return float(np.interp(self._stage.now, [t for t, _ in keys[-4:]], [v for _, v in keys[-4:]]))

    def put(self, **values: float) -> None:
        """Set channels at once."""
        self._change(0.0, values)

    def start(self, seconds: float, **values: float) -> None:
        """Begin to move channels to values that they reach in ``seconds``; ``now`` stays."""
        self._change(max(seconds * self._stage.pace.time, 1e-3), values)

    def move(self, seconds: float, **values: float) -> None:
        """Move channels to values in ``seconds`` and continue from there."""
        self.start(seconds, **values)
        self._stage.wait(seconds)

    def _change(self, delay: float, values: Mapping[str, float]) -> None:
        """Hold the channels' values until now, and reach new ones ``delay`` seconds from now."""
        now = self._stage.now
        for name, value in values.items():
            self._stage.trace(self._prefix + name, np.array([now, now + delay]), np.array([self.value(name), value]))


class Choreography(Channels):
    """The script's tool: ``put`` and ``move`` channels, ``say`` words, ``act`` steps; ``now`` runs on.

    Args:
        fps: step boundaries fall on frames of this rate.
        seed: decides between harmless variants.
        slots: least duration of a step's span in seconds, by step id.
        leads: seconds that pass in a step's span before anything is done, by step id.
    """

    def __init__(
        self,
        plan: TraineeErrors,
        pace: Pace,
        fps: int,
        seed: int,
        slots: Mapping[str, float],
        leads: Mapping[str, float],
    ) -> None:
        super().__init__(self, "")
        self.plan, self.fps, self.seed = plan, fps, seed
        tempo = 0.92 + 0.10 * self.coin("hurried") + 0.05 * self.coin("slow hands")
        self.pace = replace(pace, time=pace.time * tempo)
        self._slots, self._leads = slots, leads
        self.now = self._slot_ends = 0.0
        self.spans: dict[str, tuple[float, float]] = {}
        self._lengths: dict[str, float] = {}
        self._utterances: list[Utterance] = []
        self._events: list[dict[str, Any]] = []
        self._steps: tuple[str, ...] = ()
        self.keys: dict[str, list[tuple[float, float]]] = {name: [(0.0, value)] for name, value in CHANNELS.items()}
        self.me, self.aide, self.by = (Actor(self, who) for who in ("me", "aide", "by"))

    def trace(self, name: str, times: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        """A channel's course: ``times`` in seconds of the video, increasing, none before the channel's last change."""
        keys = self.keys[name]
        while keys and keys[-1][0] > times[0]:  # what was to come later
            keys.pop()
        keys += zip(times.tolist(), values.tolist(), strict=True)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds * self.pace.time

    def hold(self, seconds: float) -> None:
        """Let time pass that the rubric counts (a check, a pause)."""
        self.now += seconds * self.pace.clock

    @property
    def tick(self) -> float:
        """Factor that turns the rubric's seconds into seconds for :meth:`start` and :meth:`move`."""
        return self.pace.clock / self.pace.time

    @property
    def left(self) -> float:
        """Seconds left of the slot of the step that is being done."""
        return max(0.0, self._slot_ends - self.now)

    def say(self, who: str, text: str, seconds: float = 1.6, exact: bool = False, wait: float = 0.0) -> None:
        """Words beginning now, then ``wait``. With ``exact`` the pace does not shorten the words."""
        length = max(seconds if exact else seconds * self.pace.time, 2 / self.fps)
        self._end_words(who)
        self._utterances.append(Utterance(self.now, self.now + length, who, text))
        self.log(who, f"says: {text}")
        self.wait(wait)

    def _end_words(self, *speakers: str) -> None:
        self._utterances = [
            replace(word, end=self.now) if word.who in speakers and word.end > self.now else word
            for word in self._utterances
        ]

    def whole(self, time: float) -> float:
        """The end of the frame that contains ``time``."""
        return round(float(np.ceil(time * self.fps - 1e-6) / self.fps), 6)

    def coin(self, name: str, share: float = 0.5) -> bool:
        """A variant that does not depend on what was decided before (so that both videos of a minimal pair agree)."""
        return zlib.crc32(f"{self.seed}/{name}".encode()) / 2**32 < share

    def log(self, who: str, what: str, **facts: Any) -> None:
        """An entry in the event log, under the step's id where it belongs to one."""
        step = {"step_id": self._steps[0]} if len(self._steps) == 1 else {}
        self._events.append({"t": round(self.now, 3), "who": who, "what": what, **facts, **step})

    def act(self, step: str, script: Callable[[Choreography, Bad], None]) -> None:
        """Do a step by its script, or nothing at all where it is left out; then come to rest."""
        with self.step(step) as bad:
            if not bad("omitted"):
                script(self, bad)
                self.me.rest()

    @contextmanager
    def step(self, *step_ids: str) -> Iterator[Bad]:
        """Mark the span of steps (several if they are judged on the same stretch); gives ``bad(error name)``.

        With several steps the names are full ids. The span is rounded up to whole frames and is at least one second
        long at full pace (something must be there to look at, even where nothing is done), or as long as its slot.
        """
        begin, self._steps = self.now, step_ids
        least = max([self._slots.get(step, 0.0) for step in step_ids] + [max(1.0 * self.pace.time, 3 / self.fps)])
        self._slot_ends = begin + least
        self.now += self._leads.get(step_ids[0], 0.0)
        made = [self.plan.errors[step] for step in step_ids if step in self.plan.errors]
        if made:
            self.log("me", "errs", errors=made)
        yield (made if len(step_ids) > 1 else [error.rpartition(".")[2] for error in made]).__contains__
        self.now = self.whole(max(self.now, self._slot_ends))
        for step in step_ids:
            self.spans[step] = (round(begin, 6), round(self.now, 6))
            self._lengths[step] = self.now - begin
        self._end_words("me", "aide", "by", "aed")  # a clip holds nothing of the step before it
        self._steps = ()

    def finish(self) -> Performance:
        """The whole performance."""
        times, values = (
            {name: np.array([key[part] for key in keys]) for name, keys in self.keys.items()} for part in (0, 1)
        )
        events = tuple(sorted(self._events, key=lambda event: float(event["t"])))
        utterances = tuple(self._utterances)
        return Performance(self.whole(self.now), self.spans, self._lengths, utterances, events, times, values)


class Actor(Channels):
    """One person on the stage: ``me`` (the trainee), ``aide`` or ``by``; channel names are without that prefix."""

    def __init__(self, stage: Choreography, who: str) -> None:
        super().__init__(stage, f"{who}_")
        self.who = who

    def look(self, gx: float, gy: float, seconds: float = 0.25, wait: float = 0.0) -> None:
        """Begin to turn the head (-1 left to 1 right, -1 up to 1 down), then wait."""
        self.start(seconds, gx=gx, gy=gy)
        self._stage.wait(wait)

    def bend(self, lean: float, bow: float, seconds: float = 0.4, look: tuple[float, float] | None = None) -> None:
        """Begin to bend to the side and down, perhaps with a look."""
        self.start(seconds, lean=lean, bow=bow)
        if look:
            self.look(*look)

    def reach(
        self, left: tuple[float, float] | None, right: tuple[float, float] | None, seconds: float = 0.4,
        shape: tuple[float, float] = (0, 0),
    ) -> None:  # fmt: skip
        """Move the hands (the viewer's left and right; None leaves one where it is) and continue from there."""
        values: dict[str, float] = {}
        for hand, target, form in (("l", left, shape[0]), ("r", right, shape[1])):
            if target is not None:
                values |= {f"{hand}x": target[0], f"{hand}y": target[1]}
                self.put(**{f"{hand}shape": form})
        self.move(seconds, **values)

    def say(self, text: str, seconds: float = 1.6, exact: bool = False, wait: float = 0.0) -> None:
        """Say something, then wait."""
        self._stage.say(self.who, text, seconds, exact, wait)

    def walk(self, x: float, seconds: float) -> None:
        """Go to ``x`` with the hands hanging or on the thighs."""
        y = 166.0 if self.value("crouch") > 0.5 else 134.0
        self.put(lshape=0, rshape=0)
        self.move(seconds, x=x, lx=x - 22, rx=x + 22, ly=y, ry=y, lean=0, bow=0)

    def rest(self, seconds: float = 0.4) -> None:
        """Back to kneeling (or standing) upright, hands to oneself, looking ahead."""
        x, down = self.value("x"), self.value("crouch") > 0.5
        self.put(lshape=0, rshape=0, grip=0)
        wide, y = (16, 166) if down else (22, 134)
        self.move(seconds, lx=x - wide, rx=x + wide, ly=y, ry=y, lean=0, bow=0, gx=0, gy=0.3)
