"""The choreography of an exam: keyframes of every channel, words, events and step spans, written at a moving "now"."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.tools.simulator.actor import Actor
from siming_tasks.tools.simulator.performance import CHANNELS, Pace, Performance, Utterance
from siming_tasks.tools.simulator.trainee import TraineeErrors

__all__ = ["Choreography"]


class Choreography:
    """The script's tool: ``put`` and ``move`` channels, ``say`` words, ``step`` marks spans, ``now`` runs on.

    Args:
        plan: which errors are made.
        pace: how long things take.
        fps: step boundaries fall on frames of this rate.
        seed: decides between harmless variants.
        slots: least duration of a step's span in seconds, by step id (the videos of a minimal pair get equal ones).
    """

    def __init__(
        self, plan: TraineeErrors, pace: Pace, fps: int, seed: int = 0, slots: Mapping[str, float] | None = None
    ) -> None:
        self.plan, self.pace, self.fps, self.seed, self.slots = plan, pace, fps, seed, slots or {}
        self.base_x = 290.0
        self.now = 0.0
        self.spans: dict[str, tuple[float, float]] = {}
        self._lengths: dict[str, float] = {}
        self.utterances: list[Utterance] = []
        self.events: list[dict[str, Any]] = []
        self._steps: tuple[str, ...] = ()
        self._keys: dict[str, list[tuple[float, float]]] = {name: [(0.0, value)] for name, value in CHANNELS.items()}
        self.me, self.aide, self.by = (Actor(self, who) for who in ("me", "aide", "by"))

    def value(self, name: str) -> float:
        """The channel's value now."""
        keys = self._keys[name]
        return float(np.interp(self.now, [t for t, _ in keys[-4:]], [v for _, v in keys[-4:]]))

    def put(self, **values: float) -> None:
        """Set channels at once."""
        for name, value in values.items():
            self._cut(name)
            self._keys[name].append((self.now, value))

    def start(self, seconds: float, **values: float) -> None:
        """Begin to move channels to values that they reach in ``seconds``; ``now`` stays."""
        for name, value in values.items():
            self._cut(name)
            self._keys[name].append((self.now + max(seconds * self.pace.time, 1e-3), value))

    def move(self, seconds: float, **values: float) -> None:
        """Move channels to values in ``seconds`` and go on from there."""
        self.start(seconds, **values)
        self.wait(seconds)

    def trace(self, name: str, times: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        """A channel's course: ``times`` in seconds of the video, increasing, none before the channel's last change."""
        keys = self._keys[name]
        while keys and keys[-1][0] > times[0]:
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

    def say(self, who: str, text: str, seconds: float = 1.6, exact: bool = False) -> None:
        """Words beginning now; time does not pass."""
        length = max(seconds if exact else seconds * self.pace.time, 2 / self.fps)
        self.utterances = [
            replace(word, end=self.now) if word.who == who and word.end > self.now else word for word in self.utterances
        ]
        self.utterances.append(Utterance(self.now, self.now + length, who, text))
        self.log(who, f"says: {text}")

    def whole(self, time: float) -> float:
        """The end of the frame in which ``time`` lies."""
        return round(float(np.ceil(time * self.fps - 1e-6) / self.fps), 6)

    def coin(self, name: str, share: float = 0.5) -> bool:
        """A variant that does not depend on what was decided before (so that both videos of a minimal pair agree)."""
        return zlib.crc32(f"{self.seed}/{name}".encode()) / 2**32 < share

    def log(self, who: str, what: str) -> None:
        """An entry in the event log."""
        entry = {"t": round(self.now, 3), "who": who, "what": what}
        if len(self._steps) == 1:
            entry["step_id"] = self._steps[0]
        self.events.append(entry)

    @contextmanager
    def step(self, *step_ids: str) -> Iterator[Callable[[str], bool]]:
        """Mark the span of steps (several if they are judged on the same stretch); gives ``bad(error name)``.

        With several steps the names are full ids. The span is rounded up to whole frames and is at least one second
        long at full pace (something must be there to look at, even where nothing is done), or as long as its slot.
        """
        begin, self._steps = self.now, step_ids
        made = [error for step in step_ids for error in self.plan.errors.get(step, ())]
        if made:
            entry = {"t": round(self.now, 3), "who": "me", "what": "errs", "errors": made}
            self.events.append(entry if len(step_ids) > 1 else {**entry, "step_id": step_ids[0]})
        names = set(made) | ({error.rpartition(".")[2] for error in made} if len(step_ids) == 1 else set())
        yield names.__contains__
        least = max([self.slots.get(step, 0.0) for step in step_ids] + [max(1.0 * self.pace.time, 3 / self.fps)])
        self.now = self.whole(max(self.now, begin + least))
        for step in step_ids:
            self.spans[step] = (round(begin, 6), round(self.now, 6))
            self._lengths[step] = self.now - begin
        # Words end with their step: a clip holds nothing of the step before it.
        self.utterances = [replace(word, end=min(word.end, self.now)) for word in self.utterances]
        self._steps = ()

    def finish(self) -> Performance:
        """The whole performance."""
        times = {name: np.array([t for t, _ in keys]) for name, keys in self._keys.items()}
        values = {name: np.array([v for _, v in keys]) for name, keys in self._keys.items()}
        duration = self.whole(self.now)
        events = tuple(sorted(self.events, key=lambda event: float(event["t"])))
        return Performance(duration, self.spans, self._lengths, tuple(self.utterances), events, times, values)

    def _cut(self, name: str) -> None:
        """Hold the channel's present value until now; whatever was to come later is dropped."""
        here, keys = self.value(name), self._keys[name]
        while keys and keys[-1][0] > self.now:
            keys.pop()
        keys.append((self.now, here))
