"""Requests that a task makes of a video."""

from __future__ import annotations

from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import (
    expected_ids,
    expected_requests,
    record_id,
    step_spans,
    steps_of,
)

VIDEO = Video("v1", "v1.mp4", 30.0, (StepLabel("a", 1.0, 2.0), StepLabel("b"), StepLabel("c", 3.0, 4.0, {}, False)))
FULL, TIMED, CLIP = (TASKS[name] for name in ("full_score", "full_timed_score", "clip_score"))


def test_a_full_video_is_one_request_and_a_clip_one_for_each_applicable_step_with_a_span() -> None:
    assert expected_requests(FULL, [VIDEO]) == expected_requests(TIMED, [VIDEO]) == [("v1", None)]
    assert expected_requests(CLIP, [VIDEO]) == [("v1", "a")]
    assert record_id("full_timed_score", "v1") == "full_timed_score/v1"
    assert steps_of(TIMED, VIDEO, None) == ("a", "b")
    assert steps_of(CLIP, VIDEO, "a") == ("a",)
    assert step_spans(FULL, VIDEO, ("a", "b")) is None
    assert step_spans(TIMED, VIDEO, ("a", "b")) == ((1.0, 2.0), None)


def test_ids_are_in_the_order_of_the_requests() -> None:
    videos = [VIDEO, Video("v2", "v2.mp4", 9.0, (StepLabel("a", 0.0, 1.0), StepLabel("b", 1.0, 2.0)))]
    assert list(expected_ids(CLIP, videos)) == ["clip_score/v1/a", "clip_score/v2/a", "clip_score/v2/b"]
