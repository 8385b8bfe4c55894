"""Steps that could not be judged from what a model was shown, so that metrics can leave them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from siming_tasks.common.errors import DataError
from siming_tasks.data.dataset import Dataset
from siming_tasks.media import recorded_mode, unobservable_reason
from siming_tasks.results.record import Record
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import expected_requests, record_id, steps_of

__all__ = ["unobservable"]


def unobservable(
    records: Sequence[Record], dataset: Dataset, setting: str, *, fps: float | None = None, has_audio: bool = False
) -> dict[str, frozenset[str]]:
    """By request id, the steps that lack the evidence which the rubric asks for (channel and lowest rate).

    Args:
        records: of one run.
        dataset: its rubric says what each step needs.
        setting: whose requests to look at.
        fps: frames a second that every request showed; None takes each record's own rate (where frames were chosen by
            content, each step's own), and the median of them for a request without a record.
        has_audio: the model heard the sound track.

    Raises:
        DataError: without ``fps``, a record does not say what the model saw: it had the file (``video`` mode), its
            reply came from a cache, or it stands in a bare prediction file.
    """
    rates: dict[str, float] = {}
    frames: dict[str, Mapping[str, int]] = {}
    for record in records:
        if fps is None and record.setting == setting:
            media = record.media
            if not recorded_mode(media).images or not media.get("fps"):
                raise DataError(
                    f"{record.id}: no sampled rate is recorded (media mode {media.get('mode', 'unknown')!r}). Give "
                    "the rate at which the model sampled with --fps."
                )
            rates[record.id] = float(media["fps"])
            frames[record.id] = media.get("steps") or {}
    usual = fps if fps is not None else median(rates.values()) if rates else 0.0
    hidden: dict[str, frozenset[str]] = {}
    for video_id, step_id in expected_requests(TASKS[setting], dataset.videos):
        name = record_id(setting, video_id, step_id)
        video = dataset.video(video_id)
        asked = steps_of(TASKS[setting], video, step_id)
        rate = {step: rates.get(name, usual) for step in asked}
        for step, number in frames.get(name, {}).items():  # chosen by content: each step has a rate of its own
            if span := video.step(step).span:
                rate[step] = number / (span[1] - span[0])
        hidden[name] = frozenset(
            step for step in asked if unobservable_reason(dataset.rubric.by_id[step], rate[step], has_audio=has_audio)
        )
    return hidden
