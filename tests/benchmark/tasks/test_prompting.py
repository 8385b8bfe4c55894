"""Prompt options: styles of the reply and parts of an exam; and the requests of a run."""

import pytest

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.benchmark.tasks.expected_requests import (
    expected_ids,
    expected_requests,
    record_id,
    step_spans,
    steps_of,
)
from siming_tasks.benchmark.tasks.prompt import template_hash
from siming_tasks.benchmark.tasks.prompting import DEFAULT_PROMPTING, PromptOptions, steps_in_part
from siming_tasks.options import Options

SKILL = {"a": "one", "b": "two", "c": "one", "d": "two"}
VIDEO = Video("v1", "v1.mp4", 30.0, (*(StepLabel(name, 1.0, 2.0) for name in "abc"), StepLabel("d", 3, 4, {}, False)))


@pytest.mark.parametrize("unit", ["all", "skill", "step"])
@pytest.mark.parametrize(("style", "schema"), [("plain", "off"), ("reasoned", "off"), ("plain", "json")])
def test_the_label_gives_the_options_back(style: str, unit: str, schema: str) -> None:
    asking = PromptOptions.from_options(Options(prompt=style, ask=unit, schema=schema))  # type: ignore[arg-type]
    assert (asking.style, asking.unit, asking.schema) == (style, unit, schema)
    assert PromptOptions.from_label(asking.label) == asking
    stated, usual = {"prompt": style, "ask": unit, "schema": schema}, {"plain", "all", "off"}
    assert asking.changed_options() == {name: value for name, value in stated.items() if value not in usual}
    assert bool(asking.label) == bool(asking.title_suffix) == (asking != DEFAULT_PROMPTING)


@pytest.mark.parametrize("words", ["aloud", "step skill", "plain", "reasoned reasoned"])
def test_a_label_of_other_words_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match="is not a way of asking"):
        PromptOptions.from_label(words)


def test_questions_are_asked_by_exam_by_skill_or_by_step() -> None:
    full, clip = TASKS["full_score"], TASKS["clip_score"]

    def parts(unit: str) -> list[tuple[str, tuple[str, ...]]]:
        return [
            (question.part, question.steps) for question in PromptOptions(unit=unit).questions(full, [VIDEO], SKILL)
        ]

    assert parts("all") == [("", ("a", "b", "c"))]
    assert parts("skill") == [("skill:one", ("a", "c")), ("skill:two", ("b",))]
    assert parts("step") == [("step:a", ("a",)), ("step:b", ("b",)), ("step:c", ("c",))]
    for unit in ("all", "skill", "step"):
        questions = list(PromptOptions(unit=unit).questions(clip, [VIDEO], SKILL))
        assert [(question.step_id, question.part, question.steps) for question in questions] == [
            (name, "", (name,)) for name in "abc"
        ]
        assert all(steps_in_part(part, ("a", "b", "c"), SKILL) == steps for part, steps in parts(unit))


def test_the_template_of_a_style_is_one_for_the_benchmark() -> None:
    assert (
        {template_hash(TASKS[name], style="reasoned") for name in BENCHMARK_TASKS}
        == {template_hash(style="reasoned")}
        != {template_hash()}
    )


def test_a_full_video_is_one_request_and_a_clip_one_for_each_applicable_step_with_a_span() -> None:
    full, timed, clip = (TASKS[name] for name in ("full_score", "full_timed_score", "clip_score"))
    video = Video("v1", "v1.mp4", 30.0, (StepLabel("a", 1, 2), StepLabel("b"), StepLabel("c", 3, 4, {}, False)))
    assert expected_requests(full, [video]) == expected_requests(timed, [video]) == [("v1", None)]
    assert expected_requests(clip, [video]) == [("v1", "a")]
    assert record_id("full_timed_score", "v1") == "full_timed_score/v1"
    assert steps_of(timed, video, None) == ("a", "b")
    assert steps_of(clip, video, "a") == ("a",)
    assert step_spans(full, video, ("a", "b")) is None
    assert step_spans(timed, video, ("a", "b")) == ((1.0, 2.0), None)
    videos = [video, Video("v2", "v2.mp4", 9.0, (StepLabel("a", 0.0, 1.0), StepLabel("b", 1.0, 2.0)))]
    assert list(expected_ids(clip, videos)) == ["clip_score/v1/a", "clip_score/v2/a", "clip_score/v2/b"]
