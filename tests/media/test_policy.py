"""The media policy: what is asked for of a video, and which options decide it."""

from dataclasses import replace

import pytest

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.media import Policy, Request
from siming_tasks.options import OPTIONS, Options


def video(*steps: StepLabel) -> Video:
    return Video("v", "v.mp4", 40.0, steps)


def test_requests_of_a_video_are_listed_once_each() -> None:
    exam = video(StepLabel("a", 0.0, 10.0), StepLabel("b"), StepLabel("c", 10.0, 20.0, applicable=False))
    full, clip = Request(None, 64), Request((0.0, 10.0), 16)
    assert Policy(64, 16).requests(exam) == (full, clip)
    assert Policy(64, 16).requests(exam, [TASKS["full_timed_score"]]) == (full,)
    assert Policy(64, 16).requests(exam, [TASKS["clip_error"]]) == (clip,)
    assert Policy(40, 16, density="matched").requests(exam) == (Request(None, 40), Request((0.0, 10.0), 10))
    alike = video(StepLabel("a", 1.0, 2.0), StepLabel("b", 1.0, 2.0))  # two questions, decoded once
    assert len(list(Policy(8, 4).questions(TASKS["clip_score"], alike))) == 2
    assert Policy(8, 4).requests(alike, [TASKS["clip_score"]]) == (Request((1.0, 2.0), 4),)
    assert Policy(8, 4).requests(video(StepLabel("a", 1.0, 2.0, applicable=False))) == (), "nobody asks about it"
    with pytest.raises(ValueError, match="without a span has no clip"):
        Policy(8, 4).request(40.0, None, "clip")


ASKED = ("prompt", "ask", "schema")
"""Options of the prompt: they change the text of every request and none of its images."""


def test_media_facts_are_the_options_that_change_the_media() -> None:
    options = Options(media="proxy", frames=7, clip_frames=3, frame_size=100, clip_density="matched")
    usual = Policy.of(options).facts()
    assert usual == {"media": "proxy", "frames": 7, "clip_frames": 3, "frame_size": 100, "clip_density": "matched"}
    options = replace(options, sampler="motion")
    facts = Policy.of(options).facts()
    assert facts == {**usual, "sampler": "motion-grid/1"}
    assert list(facts) == [name for name, option in OPTIONS.items() if option.changes == "shown" and name not in ASKED]
    for name in facts:
        other = replace(options, **{name: getattr(Options(), name)})
        assert Policy.of(other).facts() != facts
