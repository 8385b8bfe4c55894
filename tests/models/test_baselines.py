"""Reference judges against labels written by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.schema import Video
from siming_tasks.data import open_dataset
from siming_tasks.models.baselines import KINDS, judge
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import asked_steps


@pytest.fixture(scope="module")
def dataset(short_demo: Path):  # type: ignore[no-untyped-def]
    return open_dataset(short_demo)


def test_labels_come_back_as_they_are(dataset) -> None:  # type: ignore[no-untyped-def]
    video, steps = dataset.videos[1], dataset.rubric.steps
    for kind, rater in (("oracle", "consensus"), ("rater_a", "rater_a"), ("rater_b", "rater_b")):
        points = {step.step_id: step.scores[rater] for step in video.steps}
        assert judge(kind, dataset)(video, steps, "score") == points
        wrong = {step.id: float(points[step.id] < step.max_score) for step in steps}
        assert judge(kind, dataset)(video, steps, "error") == wrong


def test_constants(dataset) -> None:  # type: ignore[no-untyped-def]
    video, steps = dataset.videos[0], dataset.rubric.steps[:2]
    assert judge("all_correct", dataset)(video, steps, "score") == {"cpr_01": 2.0, "cpr_02": 3.0}
    assert judge("all_correct", dataset)(video, steps, "error") == {"cpr_01": 0.0, "cpr_02": 0.0}
    assert judge("all_failed", dataset)(video, steps, "score") == {"cpr_01": 0.0, "cpr_02": 0.0}
    assert judge("all_failed", dataset)(video, steps, "error") == {"cpr_01": 1.0, "cpr_02": 1.0}


def test_random_answers_depend_on_the_question_and_not_on_the_order(dataset) -> None:  # type: ignore[no-untyped-def]
    steps = dataset.rubric.steps
    first, second = judge("random", dataset, 3), judge("random", dataset, 3)
    forwards = [first(video, steps, "score") for video in dataset.videos]
    backwards = [second(video, steps[::-1], "score") for video in reversed(dataset.videos)]
    assert forwards == backwards[::-1]
    assert forwards != [judge("random", dataset, 4)(video, steps, "score") for video in dataset.videos]
    assert all(0 <= points[step.id] <= step.max_score for points in forwards for step in steps)
    assert {value for video in dataset.videos for value in first(video, steps, "error").values()} == {0.0, 1.0}


def test_the_step_prior_does_not_know_its_own_video(dataset) -> None:  # type: ignore[no-untyped-def]
    """Turning one video's labels upside down must not change what the prior says about that video."""
    target = dataset.videos[2]

    def flipped(video: Video) -> Video:
        top = dataset.rubric.by_id
        steps = tuple(
            replace(step, scores={**step.scores, "consensus": top[step.step_id].max_score - (step.consensus or 0)})
            for step in video.steps
        )
        return replace(video, steps=steps)

    other = replace(dataset, videos=tuple(flipped(v) if v is target else v for v in dataset.videos))
    names = asked_steps(TASKS["full_score"], target)
    steps = [dataset.rubric.by_id[name] for name in names]
    for answer in ("score", "error"):
        before = judge("step_prior", dataset)(target, steps, answer)
        after = judge("step_prior", other)(other.videos[2], steps, answer)
        assert before == after
        assert judge("step_prior", dataset)(dataset.videos[0], steps, answer) != judge("step_prior", other)(
            other.videos[0], steps, answer
        )
        assert all(value == int(value) for value in before.values())


def test_unknown_judges_and_missing_labels_are_named(dataset) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(OptionsError, match=r"kind='cleverest' is not one of oracle, honest, rater_a"):
        judge("cleverest", dataset)
    bare = replace(
        dataset,
        videos=tuple(
            replace(video, steps=tuple(replace(step, scores={"consensus": step.consensus}) for step in video.steps))
            for video in dataset.videos
        ),
    )
    with pytest.raises(DataError, match="kind=rater_a needs the labels of 'rater_a'; siming-demo has consensus"):
        judge("rater_a", bare)
    hidden = replace(
        dataset,
        videos=tuple(
            replace(video, steps=tuple(replace(step, scores={"consensus": None}) for step in video.steps))
            for video in dataset.videos
        ),
    )
    for kind, rater in (("rater_b", "rater_b"), ("oracle", "consensus"), ("step_prior", "consensus")):
        with pytest.raises(DataError, match=f"kind={kind} needs the labels of '{rater}'; siming-demo has none"):
            judge(kind, hidden)
    assert set(KINDS) >= {"oracle", "step_prior", "random"}
