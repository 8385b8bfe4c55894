"""The media policy: prepare decodes, hooks request and the plan counts the same frames."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.media import FRAMES, PROXY, VIDEO, Job, Policy, Request, Timeline, backends
from siming_tasks.media.run_plan import ExamFacts, plan_run
from siming_tasks.options import OPTIONS, Options
from siming_tasks.rubrics import default_rubric
from siming_tasks.tasks import TASKS

RUBRIC = default_rubric()


def video(*steps: StepLabel) -> Video:
    return Video("v", "v.mp4", 40.0, steps)


def test_requests_of_a_video_are_listed_once_each() -> None:
    exam = video(StepLabel("a", 0.0, 10.0), StepLabel("b"), StepLabel("c", 10.0, 20.0, applicable=False))
    full, clip = Request(None, 64), Request((0.0, 10.0), 16)
    assert Policy(64, 16).requests(exam) == (full, clip)
    assert Policy(64, 16).requests(exam, [TASKS["full_timed_score"]]) == (full,)
    assert Policy(64, 16).requests(exam, [TASKS["clip_error"]]) == (clip,)
    assert Policy(64, 16, density="matched").requests(exam)[1] == Request((0.0, 10.0), 16)
    assert Policy(40, 16, density="matched").requests(exam) == (
        Request(None, 40),
        Request((0.0, 10.0), 10),
    )


def test_two_steps_of_the_same_seconds_are_shown_twice_and_decoded_once() -> None:
    exam = video(StepLabel("a", 1.0, 2.0), StepLabel("b", 1.0, 2.0))
    policy = Policy(8, 4)
    assert len(list(policy.questions(TASKS["clip_score"], exam))) == 2
    assert policy.requests(exam, [TASKS["clip_score"]]) == (Request((1.0, 2.0), 4),)


def test_nothing_is_decoded_of_a_video_that_nobody_asks_about() -> None:
    assert Policy(8, 4).requests(video(StepLabel("a", 1.0, 2.0, applicable=False))) == ()


def test_a_clip_without_a_span_is_an_error() -> None:
    with pytest.raises(ValueError, match="without a span has no clip"):
        Policy(8, 4).request(40.0, None, "clip")


def test_the_option_media_decides_the_mode_before_the_backend() -> None:
    only_video, both, faulty = (backends()[name] for name in ("chat.longvila", "simple.qwen2_vl", "chat.openai"))
    assert Policy(8, 4).mode_for() is FRAMES  # an unknown class
    assert Policy(8, 4).mode_for(only_video) is VIDEO
    assert Policy(8, 4).mode_for(faulty) is FRAMES
    assert Policy(8, 4, mode="proxy").mode_for(both) is PROXY
    with pytest.raises(OptionsError, match="SIMING_MEDIA=proxy: with this backend"):
        Policy(8, 4, mode="proxy").mode_for(faulty)


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


@st.composite
def exams(draw: st.DrawFn) -> tuple[Video, Timeline]:
    """A video whose stated length is a little off, with steps anywhere in it, some without a span."""
    fps = draw(st.sampled_from([8.0, 25.0, 29.97]))
    timeline = Timeline.even(draw(st.integers(20, 2000)), fps)
    length = timeline.duration
    steps = []
    for step in draw(st.lists(st.sampled_from(RUBRIC.steps), unique_by=lambda step: step.id, max_size=6)):
        start = draw(st.floats(0, 0.95)) * length
        end = start + draw(st.floats(0.001, 1.0)) * (length - start)
        span = (start, end) if draw(st.booleans()) and end > start else (None, None)
        steps.append(StepLabel(step.id, *span, applicable=draw(st.booleans())))
    return Video("v", "v.mp4", length + draw(st.sampled_from([0.0, 0.3])), tuple(steps)), timeline


RUNS = st.builds(
    Options,
    frames=st.integers(1, 300),
    clip_frames=st.integers(1, 40),
    frame_size=st.integers(64, 2000),
    clip_density=st.sampled_from(["native", "matched"]),
    media=st.just("frames"),
)


@given(exams(), RUNS)
def test_prepare_hooks_and_plan_agree(exam: tuple[Video, Timeline], options: Options) -> None:
    from pathlib import Path

    video, timeline = exam
    policy = Policy.of(options)
    decoded = {
        index for request in Job.of(policy, video, Path("v.mp4")).requests for index in request.indices(timeline)
    }
    # what the hooks ask for, one document after the other
    sent: dict[str, list[list[int]]] = {name: [] for name in TASKS}
    for name, setting in TASKS.items():
        asked = [step for step in video.applicable if step.span] if setting.scope == "clip" else [None]
        for step in asked if video.applicable else []:
            request = policy.request(video.duration, step.span if step else None, setting.scope)
            sent[name].append(request.indices(timeline))
    assert {index for shown in sent.values() for indices in shown for index in indices} == decoded
    plan = plan_run([ExamFacts(video, timeline, 640, 480)], RUBRIC, policy)
    assert plan.stored == len(decoded)
    for item in plan.settings:
        counts = [len(indices) for indices in sent[item.setting]]
        assert (item.requests, item.frames, item.frames_max) == (len(counts), sum(counts), max(counts, default=0))
        wanted = options.frames if TASKS[item.setting].scope == "full" else None
        if wanted and counts:
            assert counts == [min(wanted, timeline.n_frames)]
    if options.clip_density == "native":
        for name in ("clip_score", "clip_error"):
            assert all(len(indices) <= options.clip_frames for indices in sent[name])


def test_an_even_timeline_has_a_constant_rate() -> None:
    timeline = Timeline.even(5, 25.0)
    assert timeline.times.tolist() == pytest.approx([0.0, 0.04, 0.08, 0.12, 0.16])
    assert (timeline.duration, timeline.rate) == (pytest.approx(0.2), Fraction(25))
