"""Reference judges against labels written by hand."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from siming_tasks.benchmark.exams import StepLabel
from siming_tasks.benchmark.types import ANSWERS
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.models.baselines import judge


@pytest.fixture(scope="module")
def exams(short_demo: Path) -> Dataset:
    return open_dataset(short_demo)


def with_scores(
    data: Dataset, change: Callable[[StepLabel], dict[str, float | None]], only: int | None = None
) -> Dataset:
    """The data set with other points, in all videos or in that of a number."""
    videos = [
        replace(video, steps=tuple(replace(step, scores=change(step)) for step in video.steps))
        if only in (None, number)
        else video
        for number, video in enumerate(data.videos)
    ]
    return replace(data, videos=tuple(videos))


def test_labels_come_back_as_they_are_and_constants(exams: Dataset) -> None:
    video, steps = exams.videos[1], exams.rubric.steps
    for kind, rater in (("oracle", "consensus"), ("rater_a", "rater_a"), ("rater_b", "rater_b")):
        points = {step.step_id: step.scores[rater] for step in video.steps}
        assert judge(kind, exams)(video, steps, "score") == points
        wrong = {step.id: float(points[step.id] < step.max_score) for step in steps}
        assert judge(kind, exams)(video, steps, "error") == wrong
    for kind, score, error in (("all_correct", (2.0, 3.0), 0.0), ("all_failed", (0.0, 0.0), 1.0)):
        assert judge(kind, exams)(video, steps[:2], "score") == dict(zip(("cpr_01", "cpr_02"), score, strict=True))
        assert judge(kind, exams)(video, steps[:2], "error") == dict.fromkeys(("cpr_01", "cpr_02"), error)


def test_random_answers_depend_on_the_question_and_not_on_the_order(exams: Dataset) -> None:
    steps = exams.rubric.steps
    first, second = judge("random", exams, 3), judge("random", exams, 3)
    forwards = [first(video, steps, "score") for video in exams.videos]
    backwards = [second(video, steps[::-1], "score") for video in reversed(exams.videos)]
    assert forwards == backwards[::-1]
    assert forwards != [judge("random", exams, 4)(video, steps, "score") for video in exams.videos]
    assert all(0 <= points[step.id] <= step.max_score for points in forwards for step in steps)
    assert {value for video in exams.videos for value in first(video, steps, "error").values()} == {0.0, 1.0}


def test_the_step_prior_does_not_know_its_own_video(exams: Dataset) -> None:
    """Turning one video's labels upside down must not change what the prior says about that video."""
    top = exams.rubric.by_id

    def flipped(step: StepLabel) -> dict[str, float | None]:
        return {**step.scores, "consensus": top[step.step_id].max_score - (step.consensus or 0)}

    other, steps = with_scores(exams, flipped, only=2), exams.rubric.steps
    for answer in ANSWERS:
        before, after = (judge("step_prior", data) for data in (exams, other))
        own = before(exams.videos[2], steps, answer)
        assert own == after(other.videos[2], steps, answer)
        assert before(exams.videos[0], steps, answer) != after(other.videos[0], steps, answer)
        assert all(value == int(value) for value in own.values())


def test_unknown_judges_and_missing_labels_are_named(exams: Dataset) -> None:
    with pytest.raises(OptionsError, match=r"kind='cleverest' is not one of oracle, honest, rater_a"):
        judge("cleverest", exams)
    bare = with_scores(exams, lambda step: {"consensus": step.consensus})
    with pytest.raises(DataError, match="kind=rater_a needs the labels of 'rater_a'; siming-demo has consensus"):
        judge("rater_a", bare)
    hidden = with_scores(exams, lambda step: {"consensus": None})
    for kind, rater in (("rater_b", "rater_b"), ("oracle", "consensus"), ("step_prior", "consensus")):
        with pytest.raises(DataError, match=f"kind={kind} needs the labels of '{rater}'; siming-demo has none"):
            judge(kind, hidden)
