"""How a setting's question is put: answer at once or reason first; about all steps at once, a skill or a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from siming_tasks.common.schema import Video
from siming_tasks.options import Options
from siming_tasks.tasks.expected_requests import expected_requests, steps_of
from siming_tasks.tasks.task_spec import TaskSpec

__all__ = ["PLAINLY", "REASONED_TOKENS", "TOKENS", "Asking", "Question", "steps_in", "told"]

TOKENS, REASONED_TOKENS = 4096, 16_384
"""Longest reply in tokens. All 33 steps take about 600 as JSON, twice that with evidence, and a hundred words of
reasoning on each about 5,000."""

STYLES = ("plain", "reasoned")
UNITS = ("all", "skill", "step")


@dataclass(frozen=True)
class Asking:
    """How questions are put.

    Attributes:
        style: ``plain``: the JSON object and nothing else; ``reasoned``: think step by step, then the object.
        unit: what one request about a full video asks about: ``all`` of its steps, one ``skill``, one ``step``.
    """

    style: str = "plain"
    unit: str = "all"

    @classmethod
    def of(cls, options: Options) -> Asking:
        """As a run's options say."""
        return cls(options.prompt, options.ask)

    @classmethod
    def said(cls, words: str) -> Asking:
        """From :meth:`words` (ValueError if they are none)."""
        known = words.split()
        style, unit = ([word for word in known if word in names[1:]] for names in (STYLES, UNITS))
        if len(style) > 1 or len(unit) > 1 or len(style) + len(unit) != len(known):
            raise ValueError(f"{words[:64]!r} is no way of asking")
        return cls(*(style or ["plain"]), *(unit or ["all"]))

    @property
    def words(self) -> str:
        """What records say of it: ``reasoned``, ``step``, ``reasoned skill``; nothing for the benchmark's own way."""
        return " ".join(word for word in (self.style, self.unit) if word not in ("plain", "all"))

    def of_setting(self, setting: TaskSpec) -> Asking:
        """The same for one setting: a clip is asked about its step whatever the unit."""
        return self if setting.scope == "full" else Asking(self.style)

    def facts(self) -> dict[str, str]:
        """The options that differ from the benchmark's, under their own names; part of every cache key of a run."""
        return {
            name: value
            for name, value, usual in (("prompt", self.style, "plain"), ("ask", self.unit, "all"))
            if value != usual
        }

    def questions(self, setting: TaskSpec, videos: Iterable[Video], skill_of: Mapping[str, str]) -> Iterator[Question]:
        """Every request of a complete run over these videos, in the order in which they are made."""
        unit = self.of_setting(setting).unit
        for video in videos:
            for _, step_id in expected_requests(setting, [video]):
                names = steps_of(setting, video, step_id)
                if unit == "all":
                    yield Question(video.video_id, step_id, "", names)
                    continue
                groups: dict[str, list[str]] = {}
                for name in names:
                    groups.setdefault(name if unit == "step" else skill_of[name], []).append(name)
                for group, mine in groups.items():
                    yield Question(video.video_id, step_id, f"{unit}:{group}", tuple(mine))


@dataclass(frozen=True)
class Question:
    """One request.

    Attributes:
        video_id: of which video.
        step_id: about which step, for a clip.
        part: of the exam, where it is asked about in parts: ``step:cpr_01`` or ``skill:cpr``; else empty.
        steps: the steps that it asks about.
    """

    video_id: str
    step_id: str | None
    part: str
    steps: tuple[str, ...]


PLAINLY = Asking()
"""The benchmark's own way."""


def steps_in(part: str, names: Sequence[str], skill_of: Mapping[str, str]) -> tuple[str, ...]:
    """The steps among these that a part of an exam holds; all for no part."""
    unit, _, group = part.partition(":")
    if not part:
        return tuple(names)
    return tuple(name for name in names if (name if unit == "step" else skill_of[name]) == group)


def told(asking: Asking) -> str:
    """For a title: `` (reasoned, by step)``, or nothing."""
    words = [
        *([asking.style] if asking.style != "plain" else []),
        *([f"by {asking.unit}"] if asking.unit != "all" else []),
    ]
    return f" ({', '.join(words)})" if words else ""
