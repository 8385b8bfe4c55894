"""The requests that a task makes of a video, and the id of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.tasks.registry import TaskSpec
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.printed_value import counted

Span = tuple[float, float] | None  # part of a video that shows a step, (start, end) in seconds; None: no part is marked


def record_id(task_name: str, video_id: str, step_id: str | None = None) -> str:
    """``full_score/v001`` or ``clip_score/v001/cpr_01``: one request, unique within a run."""
    return f"{task_name}/{video_id}/{step_id}" if step_id else f"{task_name}/{video_id}"


def asked_steps(task: TaskSpec, video: Video) -> tuple[str, ...]:
    """The steps of a video that a task asks about: the applicable ones, and for clips those with a span."""
    return video.applicable_ids if task.scope == "full" else video.timed_ids


def steps_of(task: TaskSpec, video: Video, step_id: str | None) -> tuple[str, ...]:
    """The steps that one request asks about: the one it names, else all that the task asks about."""
    return (step_id,) if step_id else asked_steps(task, video)


def step_spans(task: TaskSpec, video: Video, steps: Iterable[str]) -> tuple[Span, ...] | None:
    """Parts of the video that show the steps, for a task whose prompt states them; None for any other."""
    return tuple(video.step(step).span for step in steps) if task.shows_step_times else None


def expected_requests(task: TaskSpec, videos: Iterable[Video]) -> list[tuple[str, str | None]]:
    """Every (video id, step id or None) that a complete run of the task over these videos asks."""
    if task.scope == "full":
        return [(video.video_id, None) for video in videos if asked_steps(task, video)]
    return [(video.video_id, step) for video in videos for step in asked_steps(task, video)]


def expected_ids(task: TaskSpec, videos: Iterable[Video]) -> Iterator[str]:
    """The ids of :func:`expected_requests`, in their order, one by one: there may be a million."""
    return (record_id(task.name, *request) for request in expected_requests(task, videos))


def shard_slice(shard: tuple[int, int], size: int) -> slice:
    """The requests of one shard, the first of the two numbers, of all shards, the second; ``size`` requests in all.

    Together the shards have every request once, in unbroken rows that differ by one in length at most.

    Example:
        >>> [shard_slice(shard, 10) for shard in ((1, 3), (2, 3), (3, 3), (1, 1))]
        [slice(0, 3, None), slice(3, 6, None), slice(6, 10, None), slice(0, 10, None)]
    """
    number, count = shard
    return slice((number - 1) * size // count, number * size // count)


def check_shards(videos: Sequence[Video], settings: Iterable[TaskSpec], number: int) -> None:
    """Check that every shard has something to ask in every task: lmms-eval ends where a task has nothing.

    Raises:
        OptionsError: names the task with too few requests.
    """
    for setting in settings:
        if number > (size := len(expected_requests(setting, videos))):
            reason = f"{number} shards of the {counted(size, 'request')} of {setting.task_name}: some would be empty"
            raise OptionsError(f"{reason}. Ask for fewer, or divide the tasks of clips apart (--tasks siming_clip).")
