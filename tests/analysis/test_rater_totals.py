"""Psychometrics of a data set's physicians, from labels written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from siming_tasks import open_dataset
from siming_tasks.analysis.psychometrics import psychometrics
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.data import Dataset


def _exams(small: Dataset, videos: int, seed: int = 0, **about: object) -> Dataset:
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
        extra = {name: value[number] for name, value in about.items() if name != "site"}  # type: ignore[index]
        site = about["site"][number] if "site" in about else None  # type: ignore[index]
        rows.append(Video(f"v{number:03}", f"media/v{number:03}.mp4", 30.0, tuple(labels), site, extra))
    return replace(small, videos=tuple(rows))


@pytest.fixture(scope="module")
def small(short_demo: Path) -> Dataset:
    return open_dataset(short_demo)


def test_totals_are_shares_of_the_points(small: Dataset) -> None:
    data = _exams(small, 60)
    found = psychometrics(data)
    top = sum(step.max_score for step in data.rubric.steps)
    sums = np.array(
        [[sum(step.scores[r] or 0 for step in v.steps) for r in ("rater_a", "rater_b")] for v in data.videos]
    )
    limits = found.limits["rater_a - rater_b"]
    assert limits.bias.value == pytest.approx((sums[:, 0] - sums[:, 1]).mean() / top)
    assert found.complete == (60, 33)
    assert found.rasch is not None
    assert found.rasch.raters["rater_b"].measure > found.rasch.raters["rater_a"].measure + 0.3
    assert found.designs[1].raters == 2 and found.decisions[0].reliability == found.designs[1].absolute


def test_a_step_that_is_rarely_scored_leaves_before_the_videos_do(small: Dataset) -> None:
    data = _exams(small, 20)
    videos = [
        replace(v, steps=tuple(replace(s, scores={}) if s.step_id == "cpr_02" and n % 2 else s for s in v.steps))
        for n, v in enumerate(data.videos)
    ]
    assert psychometrics(replace(data, videos=tuple(videos))).complete == (20, 32)


def test_borderline_regression_needs_to_know_what_borderline_is(small: Dataset) -> None:
    ratings = [1 + n % 5 for n in range(30)]
    data = _exams(small, 30, global_rating=ratings)
    assert "--borderline" in psychometrics(data).missing["cuts"]
    (cut,) = psychometrics(data, borderline=2).cuts
    top = sum(step.max_score for step in data.rubric.steps)
    shares = [sum(step.consensus or 0 for step in v.steps) / top for v in data.videos]
    slope, level = np.polyfit(ratings, shares, 1)
    assert cut.value == pytest.approx(level + 2 * slope) and cut.method == "borderline regression"


@pytest.mark.parametrize("value", ["good", True, "inf"])
def test_a_global_rating_that_is_no_number_is_named(small: Dataset, value: object) -> None:
    data = _exams(small, 12, global_rating=[3] * 11 + [value])
    assert "global_rating of video v011" in psychometrics(data, borderline=2).missing["cuts"]


def test_sites_are_compared_where_there_are_enough(small: Dataset) -> None:
    data = _exams(small, 80, site=["north"] * 40 + ["south"] * 40)
    found = psychometrics(data)
    assert found.sites is not None and found.sites.trainees == {"north": 40, "south": 40}
    assert "sites" in psychometrics(_exams(small, 20)).missing


def test_one_physician_is_refused(small: Dataset) -> None:
    with pytest.raises(DataError, match="two physicians"):
        psychometrics(_exams(small, 5), names=["rater_a"])


@pytest.mark.parametrize("videos", [1, 2, 4])
def test_few_videos_say_what_is_missing(small: Dataset, videos: int) -> None:
    found = psychometrics(_exams(small, videos))
    assert "decisions" in found.missing
    json.dumps(found.to_json(), allow_nan=False)


def test_the_command_prints_and_writes_json(short_demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "raters", str(short_demo), "--resamples", "50"]) == 0
    text = capsys.readouterr().out
    for heading in (
        "### Totals",
        "Generalisability: not computed. Variance components take 10",
        "### Difficulty and severity (Rasch)",
    ):
        assert heading in text
    assert main(["study", "raters", str(short_demo), "--resamples", "50", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["psychometrics"]
    assert found["complete"] == [4, 33] and found["icc"]["agreement"]["n_videos"] == 4
    assert main(["study", "raters", str(short_demo), "--pass-mark", "1"]) == 2
    assert "--pass-mark" in capsys.readouterr().err
