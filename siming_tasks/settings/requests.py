"""Which requests a setting makes of a video, and what each is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from siming_tasks.schema import Video
from siming_tasks.settings.setting import Setting

__all__ = ["Span", "asked_steps", "expected_ids", "expected_requests", "record_id", "step_spans", "steps_of"]

Span = tuple[float, float] | None
"""When a video shows a step, (start, end) in seconds; None: no part of it is marked."""


def record_id(setting: str, video_id: str, step_id: str | None = None) -> str:
    """``full_score/v001`` or ``clip_score/v001/cpr_01``: one request, unique within a run."""
    return f"{setting}/{video_id}/{step_id}" if step_id else f"{setting}/{video_id}"


def asked_steps(setting: Setting, video: Video) -> tuple[str, ...]:
    """The steps of a video that a setting asks about: the applicable ones, and for clips those with a span."""
    return video.applicable_ids if setting.scope == "full" else video.timed_ids


def expected_requests(setting: Setting, videos: Iterable[Video]) -> list[tuple[str, str | None]]:
    """Every (video, step or None) that a complete run of the setting over these videos asks."""
    if setting.scope == "full":
        return [(video.video_id, None) for video in videos if asked_steps(setting, video)]
    return [(video.video_id, step) for video in videos for step in asked_steps(setting, video)]


def expected_ids(setting: Setting, videos: Iterable[Video]) -> Iterator[str]:
    """The ids of :func:`expected_requests`, in their order, one by one: there may be a million."""
    return (record_id(setting.name, *request) for request in expected_requests(setting, videos))


def steps_of(setting: Setting, video: Video, step_id: str | None) -> tuple[str, ...]:
    """The steps that one request asks about: the one it names, else all that the setting asks about."""
    return (step_id,) if step_id else asked_steps(setting, video)


def step_spans(setting: Setting, video: Video, steps: Iterable[str]) -> tuple[Span, ...] | None:
    """When the video shows each of the steps, where the setting's prompt tells; None where it does not."""
    return tuple(video.step(step).span for step in steps) if setting.step_times else None
