"""One person on the stage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

__all__ = ["Actor", "Channels"]


class Channels(Protocol):
    """Channels by name, and time that passes while they move: what an actor needs of the choreography."""

    def put(self, **values: float) -> None:
        """Set channels at once."""

    def start(self, seconds: float, **values: float) -> None:
        """Begin to move."""

    def move(self, seconds: float, **values: float) -> None:
        """Move and go on from there."""

    def value(self, name: str) -> float:
        """The value of a channel now."""

    def say(self, who: str, text: str, seconds: float, exact: bool) -> None:
        """Say something; time does not pass."""


class Actor:
    """One person on the stage; channel names without the person's prefix."""

    def __init__(self, stage: Channels, who: str) -> None:
        self._stage, self.who = stage, who

    def put(self, **values: float) -> None:
        """Set channels at once."""
        self._stage.put(**self._named(values))

    def start(self, seconds: float, **values: float) -> None:
        """Begin to move."""
        self._stage.start(seconds, **self._named(values))

    def move(self, seconds: float, **values: float) -> None:
        """Move and go on from there."""
        self._stage.move(seconds, **self._named(values))

    def look(self, gx: float, gy: float = 0.4, seconds: float = 0.25) -> None:
        """Turn the head (-1 left to 1 right, -1 up to 1 down) while other things go on."""
        self.start(seconds, gx=gx, gy=gy)

    def reach(
        self, left: tuple[float, float] | None, right: tuple[float, float] | None, seconds: float = 0.4,
        shape: tuple[float, float] = (0, 0),
    ) -> None:  # fmt: skip
        """Move the hands (the viewer's left and right; None leaves one where it is) and go on from there."""
        values: dict[str, float] = {}
        for hand, target, form in (("l", left, shape[0]), ("r", right, shape[1])):
            if target is not None:
                values |= {f"{hand}x": target[0], f"{hand}y": target[1]}
                self.put(**{f"{hand}shape": form})
        self.move(seconds, **values)

    def say(self, text: str, seconds: float = 1.6, exact: bool = False) -> None:
        """Say something; time does not pass."""
        self._stage.say(self.who, text, seconds, exact)

    def value(self, name: str) -> float:
        """A channel's value now."""
        return self._stage.value(f"{self.who}_{name}")

    def walk(self, x: float, seconds: float) -> None:
        """Go to ``x`` with the hands hanging or on the thighs."""
        y = 166.0 if self.value("crouch") > 0.5 else 134.0
        self.put(lshape=0, rshape=0)
        self.move(seconds, x=x, lx=x - 22, rx=x + 22, ly=y, ry=y, lean=0, bow=0)

    def kneel(self, seconds: float = 0.7) -> None:
        """Go down on the knees, hands on the thighs."""
        x = self.value("x")
        self.move(seconds, crouch=1, lx=x - 16, rx=x + 16, ly=166, ry=166, lean=0, bow=0)

    def rest(self, seconds: float = 0.4) -> None:
        """Back to kneeling (or standing) upright, hands to oneself, looking ahead."""
        x, down = self.value("x"), self.value("crouch") > 0.5
        self.put(lshape=0, rshape=0, grip=0)
        wide, y = (16, 166) if down else (22, 134)
        self.move(seconds, lx=x - wide, rx=x + wide, ly=y, ry=y, lean=0, bow=0, gx=0, gy=0.3)

    def _named(self, values: Mapping[str, float]) -> dict[str, float]:
        return {f"{self.who}_{name}": value for name, value in values.items()}
