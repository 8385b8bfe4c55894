"""Which requests a setting makes of a video, and what each is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from siming_tasks.common.schema import Video
from siming_tasks.tasks.task_spec import TaskSpec

__all__ = [
    "Requests",
    "Span",
    "asked_steps",
    "expected_ids",
    "expected_requests",
    "record_id",
    "step_spans",
    "steps_of",
]

Span = tuple[float, float] | None
"""When a video shows a step, (start, end) in seconds; None: no part of it is marked."""


def record_id(setting: str, video_id: str, step_id: str | None = None) -> str:
    """``full_score/v001`` or ``clip_score/v001/cpr_01``: one request, unique within a run."""
    return f"{setting}/{video_id}/{step_id}" if step_id else f"{setting}/{video_id}"


def asked_steps(setting: TaskSpec, video: Video) -> tuple[str, ...]:
    """The steps of a video that a setting asks about: the applicable ones, and for clips those with a span."""
    return video.applicable_ids if setting.scope == "full" else video.timed_ids


def expected_requests(setting: TaskSpec, videos: Iterable[Video]) -> list[tuple[str, str | None]]:
    """Every (video, step or None) that a complete run of the setting over these videos asks."""
    if setting.scope == "full":
        return [(video.video_id, None) for video in videos if asked_steps(setting, video)]
    return [(video.video_id, step) for video in videos for step in asked_steps(setting, video)]


def expected_ids(setting: TaskSpec, videos: Iterable[Video]) -> Iterator[str]:
    """The ids of :func:`expected_requests`, in their order, one by one: there may be a million."""
    return (record_id(setting.name, *request) for request in expected_requests(setting, videos))


class Requests:
    """The requests of a setting by their number from 0 in the order of :func:`expected_requests`; no list of them.

    Attributes:
        count: how many there are.
    """

    def __init__(self, setting: TaskSpec, videos: Iterable[Video]) -> None:
        self.count = 0
        self._first: dict[str, int] = {}
        self._steps: dict[str, dict[str, int]] = {}
        alike: dict[tuple[str, ...], dict[str, int]] = {}
        for video in videos:
            if names := asked_steps(setting, video):
                self._first[video.video_id] = self.count
                if setting.scope == "clip":
                    self._steps[video.video_id] = alike.setdefault(names, {name: k for k, name in enumerate(names)})
                self.count += len(names) if setting.scope == "clip" else 1

    def number(self, video_id: str, step_id: str | None) -> int:
        """The number of the request about a video or, for clips, one step of it; KeyError if it is none."""
        return self._first[video_id] + (self._steps[video_id][step_id] if step_id else 0)


def steps_of(setting: TaskSpec, video: Video, step_id: str | None) -> tuple[str, ...]:
    """The steps that one request asks about: the one it names, else all that the setting asks about."""
    return (step_id,) if step_id else asked_steps(setting, video)


def step_spans(setting: TaskSpec, video: Video, steps: Iterable[str]) -> tuple[Span, ...] | None:
    """When the video shows each of the steps, where the setting's prompt tells; None where it does not."""
    return tuple(video.step(step).span for step in steps) if setting.step_times else None
