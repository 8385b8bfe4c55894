"""Raters beside each other: every table by hand, SciPy and scikit-learn, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.study.analysis.raters import pair_notes, rater_rows

STEPS = default_rubric().steps[:3]
TOP = np.array([step.max_score for step in STEPS])


def dataset(points: dict[str, np.ndarray]) -> Dataset:
    """Points of each rater, ``float[V, 3]``, NaN: none, as a data set without files."""
    videos = []
    for v in range(len(next(iter(points.values())))):
        scores = [{who: float(own[v, s]) for who, own in points.items() if not np.isnan(own[v, s])} for s in range(3)]
        labels = tuple(StepLabel(step.id, scores=said) for step, said in zip(STEPS, scores, strict=True))
        videos.append(Video(f"v{v:02d}", "", 1.0, labels))
    return Dataset(default_rubric(), tuple(videos), "drawn", root=Path(), version="1", digest="")


def drawn(seed: int, videos: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, TOP + 1, (videos, 3)).astype(float)


def labels(points: np.ndarray) -> np.ndarray:
    """The four labels of the "absolute" reading."""
    return np.select([points == 0, points >= TOP, TOP - points <= 1], [0, 3, 2], 1)


def test_agreement_of_every_pair_equals_other_libraries() -> None:
    points = {"a": drawn(1), "b": drawn(2), "c": drawn(3)}
    rows = rater_rows(dataset(points))
    table, kappas = rows.of("inter-physician agreement"), []
    for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
        x, y = points[first], points[second]
        kappas.append(cohen_kappa_score(labels(x).ravel(), labels(y).ravel(), weights="quadratic"))
        shares = [side.sum(axis=1) / TOP.sum() for side in (x, y)]
        expected = {"qwk": kappas[-1], "differ": (x != y).mean(), "srcc": stats.spearmanr(*shares)[0]}
        pair = table.of(row=f"{first} and {second}")
        assert {key: pair.one(metric=key).value for key in expected} == pytest.approx(expected)
    assert table.one(row="mean of the pairs", metric="qwk").value == pytest.approx(np.mean(kappas))
    assert not rows.of("raters and consensus"), "nobody gave one"
    assert all(row.row != "judge - reference" for row in rows.of("severity"))
    other = rater_rows(dataset(points), Options(mapping="proportional")).one(row="a and b", metric="qwk")
    assert other.value != table.one(row="a and b", metric="qwk").value, "the mapping that is asked for is used"
    fewer = points | {"c": np.where(np.arange(12)[:, None] < 4, np.nan, points["c"])}
    assert rater_rows(dataset(fewer)).one("severity", "b - a", "offset").n == 12, "whoever else gave no points"


def test_possible_copies_are_named_and_the_videos_of_each_pair() -> None:
    points = {"a": drawn(1), "b": drawn(1), "c": np.where(np.arange(12)[:, None] < 4, np.nan, drawn(3))}
    assert pair_notes(rater_rows(dataset(points))) == [
        "a and b gave the same points to every step that both scored, in 12 videos: one may be a copy of the other.",
        "The mean of the pairs weighs each pair alike; videos that both scored: a and b 12; a and c 8; b and c 8.",
    ]
    full = np.tile(TOP, (12, 1))  # who gives full points everywhere is like everybody else who does
    assert len(pair_notes(rater_rows(dataset({"a": full, "b": full})))) == 1


def test_steps_add_up_the_pairs_and_a_thin_one_has_no_interval() -> None:
    a, b, c = drawn(1), drawn(2), drawn(3)
    a[:, 0] = b[:, 0] = c[:, 0] = TOP[0]
    b[0, 0] = 0
    rows = rater_rows(dataset({"a": a, "b": b, "c": c})).of("raters by step", metric="differ")
    for s, step in enumerate(STEPS):
        row, differ = rows.one(row=step.id), [x[:, s] != y[:, s] for x, y in ((a, b), (a, c), (b, c))]
        assert row.value == pytest.approx(np.mean(differ)) and (row.low is None) == (s == 0)


def test_each_rater_stands_beside_the_consensus() -> None:
    points = {"consensus": drawn(5), "a": drawn(1), "b": drawn(2)}
    rows = rater_rows(dataset(points)).of("raters and consensus", metric="qwk")
    expected = {who: cohen_kappa_score(labels(points["consensus"]).ravel(), labels(points[who]).ravel(),
                                       weights="quadratic") for who in "ab"}  # fmt: skip
    assert {row.row: row.value for row in rows} == pytest.approx(expected)
