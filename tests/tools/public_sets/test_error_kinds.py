"""Kinds of errors on EgoOops's own labels: a judge that knows them, constants and judges without a video."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from siming_tasks.metrics.named_errors import kind_of

from siming_tasks.common.schema import Finding, StepLabel
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.options import Options
from siming_tasks.parsing import Parsed
from siming_tasks.results.evaluate_records import evaluate_records
from siming_tasks.results.record import Record
from siming_tasks.tools import public_sets
from tests.tools.public_sets.test_published_sets import FOLDERS

SETTING = "full_error_named_errors"
OPTIONS = Options()


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


def test_kinds_are_scored_from_records_to_kappa(egooops: Dataset) -> None:
    perfect = evaluate_records(records(egooops), egooops, OPTIONS, SETTING)["named_errors"]
    numbers = ("f1", "macro_f1", "precision", "recall", "exact", "kappa", "reason_kappa")
    assert [perfect[name]["value"] for name in numbers] == [1.0] * len(numbers)
    assert perfect["unlisted"] == 0 and perfect["kinds"]["left_out"]["stated"] == 12
    asked = sum(len(video.applicable) for video in egooops.videos)
    assert (asked, perfect["exact"]["n_items"], perfect["reason_kappa"]["n_items"]) == (460, 460, 68)
    none = perfect["baselines"]["none"]
    assert (none["f1"]["value"], none["exact"]["value"], none["kappa"]["value"]) == (0, 392 / 460, 0)
    errors = sum(row["stated"] for row in perfect["kinds"].values())
    every = perfect["baselines"]["every"]
    assert every["recall"]["value"] == 1 and every["precision"]["value"] == pytest.approx(errors / (7 * 460))
    usual = perfect["baselines"]["usual_kind"]
    # wrong_way of 460 steps, or what else the other videos make most: more than naming everything, and next to nothing
    assert every["f1"]["value"] < usual["f1"]["value"] < 0.15


def test_a_judge_that_mixes_up_two_kinds_finds_all_wrong_steps_and_not_why(egooops: Dataset) -> None:
    swapped = {"wrong_way": "wrong_object", "wrong_object": "wrong_way"}
    mixed = evaluate_records(records(egooops, kinds=swapped), egooops, OPTIONS, SETTING)
    assert mixed["metrics"]["mcc"]["value"] == 1
    result = mixed["named_errors"]
    assert result["kinds"]["left_out"]["f1"]["value"] == 1 > result["macro_f1"]["value"]
    assert result["kappa"]["value"] > result["reason_kappa"]["value"]


def test_a_single_rater_is_a_reference_as_the_consensus_is(egooops: Dataset) -> None:
    def by_rater(step: StepLabel) -> StepLabel:
        finding = Finding(step.errors) if step.errors else None
        return replace(step, scores={**step.scores, "rater_a": step.consensus}, errors=None,
                       findings={"rater_a": finding} if finding else {})  # fmt: skip

    videos = tuple(replace(video, steps=tuple(map(by_rater, video.steps))) for video in egooops.videos)
    dataset = replace(egooops, videos=videos)
    how = records(egooops), dataset
    alone = evaluate_records(*how, replace(OPTIONS, rater="rater_a"), SETTING)["named_errors"]
    assert (alone["f1"]["value"], alone["exact"]["n_items"]) == (1, 68)  # of the other steps nothing is stated
    consensus = evaluate_records(*how, OPTIONS, SETTING)["named_errors"]
    assert consensus["f1"]["value"] is None
    assert consensus["f1"]["reason"].startswith("The labels state the errors of no answered step")
