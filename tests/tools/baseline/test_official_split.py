"""Splits that a data set states: its parts, who stands on both sides, and that test labels have no part in anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.cross_fitting import fit_split
from siming_tasks.options import Options
from siming_tasks.results.run import read_run
from siming_tasks.tasks import BENCHMARK_TASKS
from siming_tasks.tools.baseline.crossfit import cross_fitted
from siming_tasks.tools.baseline.labels_alone import fit_labels, order_features, write_labels_baseline
from siming_tasks.tools.baseline.official_split import official_split
from siming_tasks.tools.baseline.predict import write_baseline
from siming_tasks.tools.public_sets import fetch
from tests.tools.baseline.test_predict import Colours
from tests.tools.baseline.turned import worst

ANNOTATIONS = Path(__file__).parents[4] / "shared" / "annotations"


def split_up(dataset: Dataset, parts: str = "train train val test", **more: str) -> Dataset:
    """The exams in parts of a split ``official``, with further columns, a word for each exam."""
    columns = {name: words.split() for name, words in more.items()}
    videos = []
    for place, (video, part) in enumerate(zip(dataset.videos, parts.split(), strict=True)):
        about = {name: words[place] for name, words in columns.items()}
        extra = {**video.extra, "splits": {"official": part} if part != "-" else {}, **about}
        videos.append(replace(video, extra=extra))
    return replace(dataset, videos=tuple(videos))


def test_parts_and_who_is_in_two(short_demo: Path) -> None:
    dataset = split_up(open_dataset(short_demo), student="ann bob cid bob")
    split = official_split(dataset, "official")
    assert split.parts == ("train", "train", "validation", "test")
    assert split.fold.tolist() == [0, 0, -1, 1] and split.tune.tolist() == [False, False, True, False]
    assert split.on_both_sides["student"] == ("bob",) and "1 of the students in the test part" in split.warnings[0]
    with pytest.raises(DataError, match="1 of the students in the test part are in another part"):
        official_split(dataset, "official", "student")
    apart = split_up(open_dataset(short_demo), student="ann bob cid dan")
    assert official_split(apart, "official", "student").on_both_sides.get("student") is None


def test_a_split_that_cannot_be_kept_to_is_refused(short_demo: Path) -> None:
    dataset = open_dataset(short_demo)
    with pytest.raises(OptionsError, match="has no such split"):
        official_split(dataset, "official")
    with pytest.raises(DataError, match="no video in its test part"):
        official_split(split_up(dataset, "train train val val"), "official")
    with pytest.raises(DataError, match="is in part 'holdout'"):
        official_split(split_up(dataset, "train train val holdout"), "official")
    with pytest.raises(DataError, match="'performance p1' is in the test part"):
        official_split(split_up(dataset, performance="p1 p2 p3 p1"), "official")
    assert official_split(split_up(dataset, "train val - test", performance="p1 p2 p3 p3"), "official")


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_labels_of_the_test_part_change_nothing(short_demo: Path, tmp_path: Path) -> None:
    dataset = split_up(open_dataset(short_demo))
    test, tune, train = (dataset.videos[place].video_id for place in (3, 2, 0))
    said = {}
    for name in ("", test, tune, train):
        exams = worst(dataset, name)
        out = tmp_path / f"labels-{name}.jsonl"
        assert write_labels_baseline(exams, out, split=official_split(exams, "official")) == 1
        said[name] = lines(out)
    assert {line["video_id"] for line in said[""]} == {test}
    assert said[""] == said[test] and said[""] != said[train]


def test_frames_by_a_split(short_demo: Path, tmp_path: Path) -> None:
    """Heads learn from two exams; the third chooses their penalty alone; the fourth is judged."""
    dataset = split_up(open_dataset(short_demo))
    options = Options(frames=3, clip_frames=2, frame_size=64, cache=str(tmp_path / "cache"))
    said = {}
    for name in ("", dataset.videos[3].video_id, dataset.videos[0].video_id):
        exams = worst(dataset, name)
        made = write_baseline(exams, options, Colours(), tmp_path / "o.jsonl", split=official_split(exams, "official"))
        said[name] = lines(made.path)
    assert made.heads == 2 * 33
    before, own, taught = said.values()
    assert {line["video_id"] for line in before} == {dataset.videos[3].video_id}
    assert before == own and before != taught
    run = read_run(made.path, dataset, partial=True)
    assert run.source.role == "supervised" and run.settings == BENCHMARK_TASKS and not run.problems
    assert "split=official" in run.source.facts["trained"]


def test_a_copy_of_a_test_video_in_training_is_refused(short_demo: Path, tmp_path: Path) -> None:
    dataset = split_up(open_dataset(short_demo))
    split = official_split(dataset, "official")
    first, *rest, last = dataset.videos
    copied = replace(dataset, videos=(first, *rest, replace(last, media=first.media)))
    with pytest.raises(DataError, match="in another part of split"):
        write_baseline(copied, Options(cache=str(tmp_path)), Colours(), tmp_path / "o.jsonl", split=split)


def test_the_penalty_is_chosen_on_the_validation_part() -> None:
    """One feature that tells all in training and the reverse in validation: only the strongest penalty is left."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 120).astype(float)
    fold = np.repeat([0, -1, 1], 40)
    true, turned = labels[:, None], np.where(fold == -1, 1 - labels, labels)[:, None]
    tune = fold == -1
    kept = [
        cross_fitted(column.astype(np.float32), labels, fold, 1.0, tune=tune).strengths for column in (true, turned)
    ]
    assert kept[0][0] > kept[1][0] == 0.03
    said = cross_fitted(true.astype(np.float32), labels, fold, 1.0, tune=tune)
    assert np.isnan(said.points[fold != 1]).all() and (said.points[fold == 1] == labels[fold == 1]).all()


def panel(reference: np.ndarray, **more: object) -> ScoreMatrix:
    videos, steps = reference.shape
    facts: Mapping[str, object] = {
        "video_ids": [f"v{place:03d}" for place in range(videos)], "step_ids": [f"s{place}" for place in range(steps)],
        "skills": ["x"] * steps, "max_score": np.ones(steps), "reference": reference,
        "predicted": np.full(reference.shape, np.nan), "asked": np.ones(reference.shape, bool), "answer": "error",
    }  # fmt: skip
    return ScoreMatrix(**{**facts, **more})


def test_a_split_learns_what_is_there_to_learn() -> None:
    """A feature that is the label is found; one that has nothing to do with it is not (standard error about .1)."""
    rng = np.random.default_rng(1)
    reference = rng.integers(0, 2, (90, 4)).astype(float)
    train, tune = np.arange(90) < 40, (np.arange(90) >= 40) & (np.arange(90) < 65)
    found = fit_split(panel(reference), reference[:, :, None], train, tune)
    judged = found.fold == 2
    assert judged.sum() == 25 and (found.predicted[judged] == 1 - reference[judged]).all()
    assert np.isnan(found.predicted[~judged]).all()
    noise = fit_split(panel(reference), rng.normal(size=(90, 4, 3)), train, tune)
    agreement = np.corrcoef(noise.predicted[judged].ravel(), 1 - reference[judged].ravel())[0, 1]
    assert np.isnan(agreement) or abs(agreement) < 0.3


@pytest.mark.skipif(not ANNOTATIONS.is_dir(), reason="the published annotation files are not here")
def test_official_splits_of_captaincook4d(tmp_path: Path) -> None:
    """By person nobody is on both sides; by recording all eight people are. Order by the graph tells wrong steps."""
    dataset = fetch("captaincook4d", tmp_path / "c", annotations=ANNOTATIONS / "captaincook4d").dataset
    split = official_split(dataset, "person", "student")
    assert [split.parts.count(part) for part in ("train", "validation", "test")] == [204, 84, 96]
    assert len(official_split(dataset, "recording").on_both_sides["student"]) == 8
    times, order = (fit_labels(dataset, "full_error", known, split) for known in ("times", "order"))
    assert np.array_equal(times.wrong, order.wrong, equal_nan=True)  # a full video tells no order
    fit = fit_labels(dataset, "clip_error", "order", split)
    assert len(fit.matrix.video_ids) == 96 and fit.matrix.timing is not None
    late = order_features(fit.matrix, dataset.rubric)[:, :, 0]
    wrong, known = fit.matrix.reference_wrong, fit.matrix.counted & ~np.isnan(late)
    assert wrong[known & (late > 0)].mean() > 2 * wrong[known & (late == 0)].mean()


def test_the_command(short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "labels.jsonl"
    assert main(["run", "baseline", str(short_demo), "--labels-only", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "from labels and spans alone, cross-fitted: 4 videos judged" in said.out + said.err
    assert len(read_run(out, open_dataset(short_demo)).settings) == 4
    assert main(["run", "baseline", str(short_demo), "--by-split", "none"]) == 2
    assert main(["run", "baseline", str(short_demo), "--by-split", "a", "--folds", "3"]) == 2
    assert main(["run", "baseline", str(short_demo), "--labels-only", "--fine-tune"]) == 2
