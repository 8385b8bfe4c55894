"""Which requests a setting makes of a video, and what each is called."""

from __future__ import annotations

from collections.abc import Iterable

from siming_tasks.schema import Video
from siming_tasks.settings.setting import Setting

__all__ = ["asked_steps", "expected_requests", "record_id"]


def record_id(setting: str, video_id: str, step_id: str | None = None) -> str:
    """``full_score/v001`` or ``clip_score/v001/cpr_01``: one request, unique within a run."""
    return "/".join(filter(None, (setting, video_id, step_id)))


def asked_steps(setting: Setting, video: Video) -> tuple[str, ...]:
    """The steps of a video that a setting asks about: the applicable ones, and for clips those with a span."""
    return tuple(step.step_id for step in video.applicable if setting.scope == "full" or step.span)


def expected_requests(setting: Setting, videos: Iterable[Video]) -> list[tuple[str, str | None]]:
    """Every (video, step or None) that a complete run of the setting over these videos asks."""
    if setting.scope == "full":
        return [(video.video_id, None) for video in videos if asked_steps(setting, video)]
    return [(video.video_id, step) for video in videos for step in asked_steps(setting, video)]
