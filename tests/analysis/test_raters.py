"""Raters beside each other: every table by hand, SciPy and scikit-learn, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from siming_tasks.analysis.raters import rater_rows
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.rubrics import default_rubric

STEPS = default_rubric().steps[:3]
TOP = np.array([step.max_score for step in STEPS])


def dataset(points: dict[str, np.ndarray]) -> Dataset:
    """Points of each rater, ``float[V, 3]``, NaN: none, as a data set without files."""
    videos = []
    for v in range(len(next(iter(points.values())))):
        scores = [{who: float(own[v, s]) for who, own in points.items() if not np.isnan(own[v, s])} for s in range(3)]
        labels = tuple(StepLabel(step.id, scores=said) for step, said in zip(STEPS, scores, strict=True))
        videos.append(Video(f"v{v:02d}", "", 1.0, labels))
    return Dataset(Path(), "drawn", "1", True, "", default_rubric(), tuple(videos), {})


def drawn(seed: int, videos: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, TOP + 1, (videos, 3)).astype(float)


def labels(points: np.ndarray) -> np.ndarray:
    """The four labels of the "absolute" reading."""
    return np.select([points == 0, points >= TOP, TOP - points <= 1], [0, 3, 2], 1)


def test_agreement_of_every_pair_equals_other_libraries() -> None:
    points = {"a": drawn(1), "b": drawn(2), "c": drawn(3)}
    rows = rater_rows(dataset(points))
    table, kappas = rows.of("physicians with each other"), []
    for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
        x, y = points[first], points[second]
        kappas.append(cohen_kappa_score(labels(x).ravel(), labels(y).ravel(), weights="quadratic"))
        assert table.one(row=f"{first} and {second}", metric="qwk").value == pytest.approx(kappas[-1])
        assert table.one(row=f"{first} and {second}", metric="differ").value == pytest.approx((x != y).mean())
        shares = [side.sum(axis=1) / TOP.sum() for side in (x, y)]
        assert table.one(row=f"{first} and {second}", metric="srcc").value == pytest.approx(stats.spearmanr(*shares)[0])
    assert table.one(row="mean of the pairs", metric="qwk").value == pytest.approx(np.mean(kappas))
    assert not rows.of("raters and consensus"), "nobody gave one"
    assert all(row.row != "judge - reference" for row in rows.of("severity"))


def test_steps_add_up_the_pairs_and_a_thin_one_has_no_interval() -> None:
    a, b, c = drawn(1), drawn(2), drawn(3)
    a[:, 0] = b[:, 0] = c[:, 0] = TOP[0]
    b[0, 0] = 0
    rows = rater_rows(dataset({"a": a, "b": b, "c": c})).of("raters by step")
    for s, step in enumerate(STEPS):
        differ = [x[:, s] != y[:, s] for x, y in ((a, b), (a, c), (b, c))]
        assert rows.one(row=step.id, metric="differ").value == pytest.approx(np.mean(differ))
    thin, other = (rows.one(row=STEPS[s].id, metric="differ") for s in (0, 1))
    assert thin.low is None and "Fewer than 10 videos" in thin.why and other.low is not None


def test_each_rater_stands_beside_the_consensus() -> None:
    points = {"consensus": drawn(5), "a": drawn(1), "b": drawn(2)}
    rows = rater_rows(dataset(points)).of("raters and consensus", metric="qwk")
    expected = {who: cohen_kappa_score(labels(points["consensus"]).ravel(), labels(points[who]).ravel(),
                                       weights="quadratic") for who in "ab"}  # fmt: skip
    assert {row.row: row.value for row in rows} == pytest.approx(expected)


def test_the_mapping_that_is_asked_for_is_used() -> None:
    made = dataset({"a": drawn(1), "b": drawn(2)})
    both = [rater_rows(made, Options(mapping=mapping)).one("physicians with each other", "a and b", "qwk").value
            for mapping in ("absolute", "proportional")]  # fmt: skip
    assert both[0] != both[1]


def test_raters_that_cannot_be_compared_are_refused() -> None:
    apart, other = drawn(1), drawn(2)
    apart[:6], other[6:] = np.nan, np.nan
    with pytest.raises(DataError, match=r"No step was scored by two of a, b; their agreement cannot be computed\."):
        rater_rows(dataset({"a": apart, "b": other}))
    with pytest.raises(
        DataError, match="needs the labels of two raters before adjudication; this data set has those of"
    ):
        rater_rows(dataset({"consensus": drawn(1), "a": drawn(2)}))
    with pytest.raises(DataError, match="drawn has no rater 'x'; it has a, b"):
        rater_rows(replace(dataset({"a": drawn(1), "b": drawn(2)})), names=["a", "x"])
