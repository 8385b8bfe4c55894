"""Two, three and four physicians: every pair, with the mean and the range over the pairs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from siming_tasks.analysis.compare_runs import compare
from siming_tasks.analysis.rater_agreement import inter_rater_tables, rater_pairs, rater_points
from siming_tasks.analysis.run_analyses import diagnose
from siming_tasks.cli import main
from siming_tasks.data import Dataset
from siming_tasks.data.dataset import open_dataset
from siming_tasks.metrics import ordinal_labels
from siming_tasks.options import Options
from siming_tasks.results.run import read_run

QUICK = Options(resamples=50)
PAIRS = (("rater_a", "rater_b"), ("rater_a", "rater_c"), ("rater_b", "rater_c"))


@pytest.fixture(scope="module")
def dataset(three: Path) -> Dataset:
    return open_dataset(three)


def kappa(dataset: Dataset, a: str, b: str) -> float:
    """By scikit-learn, from the labels as they stand in the file."""
    top = {step.id: step.max_score for step in dataset.rubric.steps}
    steps = [step for video in dataset.videos for step in video.applicable]
    sides = [[int(ordinal_labels(step.scores[name], top[step.step_id])) for step in steps] for name in (a, b)]
    return float(cohen_kappa_score(*sides, weights="quadratic", labels=range(4)))


def predictions(dataset: Dataset, path: Path, rater: str) -> Path:
    lines = [
        {
            "setting": "full_score",
            "video_id": video.video_id,
            "scores": {step.step_id: step.scores[rater] for step in video.applicable},
        }
        for video in dataset.videos
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_every_pair_is_there_and_right(dataset: Dataset) -> None:
    assert dataset.physicians == ("rater_a", "rater_b", "rater_c")
    found = {table.raters: table.agreement.metrics["qwk"].value for table in inter_rater_tables(dataset, QUICK)}
    assert tuple(found) == PAIRS
    for (a, b), value in found.items():
        assert value == pytest.approx(kappa(dataset, a, b), abs=1e-12)
    assert [(pair.first, pair.second) for pair in rater_pairs(dataset, "full_error")] == list(found)


def test_two_may_be_chosen_and_strangers_are_refused(dataset: Dataset) -> None:
    (only,) = inter_rater_tables(dataset, QUICK, ["rater_c", "rater_a"])
    assert only.raters == ("rater_c", "rater_a")
    with pytest.raises(Exception, match="three has no rater 'rater_z'; it has consensus, rater_a, rater_b, rater_c"):
        inter_rater_tables(dataset, QUICK, ["rater_a", "rater_z"])


def test_the_command_says_mean_and_range(three: Path, dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "raters", str(three), "--resamples", "50"]) == 0
    out = capsys.readouterr().out
    values = [kappa(dataset, a, b) for a, b in PAIRS]
    assert "3 pairs of physicians, before adjudication." in out
    assert f"{np.mean(values):.3f}" in next(line for line in out.splitlines() if line.startswith("| mean "))
    assert f"{min(values):.3f} to {max(values):.3f}" in out
    assert main(["study", "raters", str(three), "--resamples", "50", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["pairs"]) == 3


def test_the_human_ratio_of_three_by_hand(dataset: Dataset, tmp_path: Path) -> None:
    """A run that is rater_b: (kappa(b,a) + 1 + kappa(b,c)) / 3 over the mean of the three pairs."""
    runs = [
        read_run(predictions(dataset, tmp_path / f"{name}.jsonl", name), dataset) for name in ("rater_b", "rater_c")
    ]
    found = compare(*runs, setting="full_score", options=QUICK)
    ab, ac, bc = (
        kappa(dataset, *pair) for pair in (("rater_a", "rater_b"), ("rater_a", "rater_c"), ("rater_b", "rater_c"))
    )
    ratio = ((ab + 1 + bc) / 3) / ((ab + ac + bc) / 3)
    assert found.human_ratio["rater_b"]["qwk"].value == pytest.approx(ratio, abs=1e-12)
    assert found.physicians == ("rater_a", "rater_b", "rater_c")


def test_diagnoses_show_every_pair(dataset: Dataset, tmp_path: Path) -> None:
    run = read_run(predictions(dataset, tmp_path / "b.jsonl", "rater_b"), dataset)
    found = diagnose(run, "full_score", QUICK)
    assert list(found.pairs) == ["rater_b against rater_a", "rater_c against rater_a", "rater_c against rater_b"]
    lost = -sum(min(1, step.scores["rater_a"]) for step in dataset.videos[0].applicable) / len(dataset.videos)
    bias = found.pairs["rater_c against rater_a"]["second minus first, points"]
    assert bias is not None and abs(bias) == pytest.approx(-lost)
    two = replace(dataset, videos=tuple(without_c(video) for video in dataset.videos))
    assert not diagnose(read_run(tmp_path / "b.jsonl", two), "full_score", QUICK).pairs


def without_c(video):  # type: ignore[no-untyped-def]
    steps = (
        replace(step, scores={name: points for name, points in step.scores.items() if name != "rater_c"})
        for step in video.steps
    )
    return replace(video, steps=tuple(steps))


def test_points_of_each_physician_stand_where_the_panel_has_them(dataset: Dataset, tmp_path: Path) -> None:
    run = read_run(predictions(dataset, tmp_path / "b.jsonl", "rater_b"), dataset)
    panel = run.score_matrix("full_score", "rater_b")
    np.testing.assert_array_equal(rater_points(dataset, panel)["rater_b"], panel.predicted)
