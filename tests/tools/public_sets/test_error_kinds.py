"""Kinds of errors on EgoOops's own labels: a judge that knows them, constants and judges without a video."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from siming_tasks.common.schema import Finding, StepLabel
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.metrics import Estimate, Rows
from siming_tasks.options import Options
from siming_tasks.parsing import Parsed
from siming_tasks.results.evaluate_records import evaluate_records
from siming_tasks.results.record import Record
from siming_tasks.tools import public_sets
from tests.records import number_of
from tests.tools.public_sets.test_published_sets import FOLDERS

SETTING = "full_error_named_errors"


def kind_of(error: str) -> str:
    """The kind in the id of an error of EgoOops: ``step_03.left_out``."""
    return error.rpartition(".")[2]


@pytest.fixture(scope="module")
def egooops(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The labels of all 50 recordings."""
    if not FOLDERS["egooops"].is_dir():
        pytest.skip("the published annotation files are not here")
    out = tmp_path_factory.mktemp("egooops") / "labels"
    public_sets.fetch("egooops", out, annotations=FOLDERS["egooops"])
    return open_dataset(out, media=False)


def records(dataset: Dataset, *, kinds: dict[str, str] | None = None) -> list[Record]:
    """A judge that gives every label; ``kinds`` puts one kind of error in the place of another."""
    found = []
    for video in dataset.videos:
        answers = {step.step_id: float(step.consensus == 0) for step in video.applicable}
        named = {step.step_id: tuple(step.errors or ()) for step in video.applicable}
        if kinds:
            named = {
                step: tuple(f"{step}.{kinds.get(kind_of(error), kind_of(error))}" for error in ids)
                for step, ids in named.items()
            }
        reasons = {step.step_id: step.reason for step in video.applicable if step.reason}
        parsed = Parsed("ok", answers, details={"named_errors": named, "reasons": reasons})
        found.append(Record(SETTING, video.video_id, None, parsed))
    return found


def test_all_wrong_steps_have_a_kind(egooops: Dataset) -> None:
    """68 steps are wrong, 56 by a mistake and 12 left out (counted from the files: shared/annotations/SOURCES.md)."""
    wrong = [step for video in egooops.videos for step in video.applicable if step.consensus == 0]
    assert len(wrong) == 68 and all(step.errors for step in wrong)
    often = Counter(kind_of(error) for step in wrong for error in step.errors or ())
    assert often["left_out"] == 12 and sum(kind != "left_out" for kind in often.elements()) >= 56
    assert not any(step.errors for video in egooops.videos for step in video.applicable if step.consensus == 1)


def numbers(dataset: Dataset, said: list[Record], rater: str = "consensus") -> dict[str, Estimate]:
    result = evaluate_records(said, dataset, Options(rater=rater), SETTING)
    return {row.metric: row for row in Rows.from_json(result["rows"]).of("named errors")} | {
        "mcc": number_of(result, "mcc", "ranked")
    }


def test_a_judge_that_knows_the_errors_is_perfect(egooops: Dataset) -> None:
    perfect = numbers(egooops, records(egooops))
    assert [perfect[name].value for name in ("f1", "precision", "recall", "mcc")] == [1.0] * 4
    assert perfect["f1"].n == sum(any(step.errors for step in video.applicable) for video in egooops.videos)


def test_a_judge_that_mixes_up_two_kinds_finds_all_wrong_steps_and_not_why(egooops: Dataset) -> None:
    swapped = {"wrong_way": "wrong_object", "wrong_object": "wrong_way"}
    mixed = numbers(egooops, records(egooops, kinds=swapped))
    kept = [error for video in egooops.videos for step in video.applicable for error in step.errors or ()]
    right = sum(kind_of(error) not in swapped for error in kept)
    assert mixed["mcc"].value == 1 and mixed["recall"].value == pytest.approx(right / len(kept)) and right < len(kept)


def test_a_single_rater_is_a_reference_as_the_consensus_is(egooops: Dataset) -> None:
    def by_rater(step: StepLabel) -> StepLabel:
        finding = Finding(step.errors) if step.errors else None
        return replace(step, scores={**step.scores, "rater_a": step.consensus}, errors=None,
                       findings={"rater_a": finding} if finding else {})  # fmt: skip

    videos = tuple(replace(video, steps=tuple(map(by_rater, video.steps))) for video in egooops.videos)
    dataset = replace(egooops, videos=videos)
    assert numbers(dataset, records(egooops), "rater_a")["f1"].value == 1
    consensus = numbers(dataset, records(egooops))["f1"]
    assert consensus.value is None and consensus.why == "No error is stated or named."
