"""Totals of a data set's physicians, from labels written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from siming_tasks import open_dataset
from siming_tasks.analysis.rater_totals import rater_totals
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.data import Dataset


def _exams(small: Dataset, videos: int, seed: int = 0) -> Dataset:
    """The same rubric with simulated physicians: rater_b a point stricter at every fifth step."""
    rng = np.random.default_rng(seed)
    steps = small.rubric.steps
    rows = []
    for number in range(videos):
        ability = rng.normal(1.2, 0.8)
        labels = []
        for at, step in enumerate(steps):
            points = step.max_score if rng.random() < 1 / (1 + np.exp(at / 20 - ability)) else step.max_score - 1
            strict = max(0.0, points - 1.0) if rng.random() < 0.2 else points
            scores = {"rater_a": float(points), "rater_b": float(strict), "consensus": float(points)}
            labels.append(StepLabel(step.id, None, None, scores))
        rows.append(Video(f"v{number:03}", f"media/v{number:03}.mp4", 30.0, tuple(labels)))
    return replace(small, videos=tuple(rows))


@pytest.fixture(scope="module")
def small(short_demo: Path) -> Dataset:
    return open_dataset(short_demo)


def test_totals_are_shares_of_the_points(small: Dataset) -> None:
    data = _exams(small, 60)
    found = rater_totals(data)
    top = sum(step.max_score for step in data.rubric.steps)
    sums = np.array(
        [[sum(step.scores[r] or 0 for step in v.steps) for r in ("rater_a", "rater_b")] for v in data.videos]
    )
    limits = found.limits["rater_a - rater_b"]
    assert limits.bias.value == pytest.approx((sums[:, 0] - sums[:, 1]).mean() / top)
    assert found.complete == (60, 33)


def test_a_step_that_is_rarely_scored_leaves_before_the_videos_do(small: Dataset) -> None:
    data = _exams(small, 20)
    videos = [
        replace(v, steps=tuple(replace(s, scores={}) if s.step_id == "cpr_02" and n % 2 else s for s in v.steps))
        for n, v in enumerate(data.videos)
    ]
    assert rater_totals(replace(data, videos=tuple(videos))).complete == (20, 32)


def test_one_physician_is_refused(small: Dataset) -> None:
    with pytest.raises(DataError, match="two physicians"):
        rater_totals(_exams(small, 5), names=["rater_a"])


@pytest.mark.parametrize("videos", [1, 2, 4])
def test_few_videos_are_plain_json(small: Dataset, videos: int) -> None:
    json.dumps(rater_totals(_exams(small, videos)).to_json(), allow_nan=False)


def test_the_command_prints_and_writes_json(short_demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "raters", str(short_demo), "--resamples", "50"]) == 0
    text = capsys.readouterr().out
    assert "### Totals" in text
    assert main(["study", "raters", str(short_demo), "--resamples", "50", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["totals"]
    assert found["complete"] == [4, 33] and found["icc"]["agreement"]["n_videos"] == 4
