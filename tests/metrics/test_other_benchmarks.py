"""Metrics of other benchmarks against values worked out by hand, scikit-learn, and published annotation files."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.no_video_baselines import always_correct, always_failed
from siming_tasks.metrics.other_benchmarks import (
    omission_iou,
    other_benchmark_estimates,
    recognition_area,
    recognition_curve,
    relative_l2,
)

ANNOTATIONS = Path(__file__).parents[3] / "shared" / "annotations"


def verdicts(wrong: np.ndarray, said: np.ndarray, asked: np.ndarray | None = None) -> ScoreMatrix:
    videos, steps = wrong.shape
    return ScoreMatrix(
        video_ids=[f"v{place:03d}" for place in range(videos)],
        step_ids=[f"s{place:03d}" for place in range(steps)],
        skills=["x"] * steps,
        max_score=np.ones(steps),
        reference=1.0 - wrong,
        predicted=said.astype(float),
        asked=np.ones(wrong.shape, bool) if asked is None else asked,
        answer="error",
    )


WRONG = np.array([[0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]], bool)
SAID = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]], bool)
SEGMENTS = np.array([[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]], bool)


def test_eda_by_hand() -> None:
    """Flags differ at 3 of 12 steps, at 2 of the 11 with a segment; all correct is right at 9 of 12 and 9 of 11."""
    judge = verdicts(WRONG, SAID)
    judges = {"judge": judge, "correct": always_correct(judge), "wrong": always_failed(judge)}
    found = other_benchmark_estimates(judges, SEGMENTS, resamples=0, seed=0)
    values = {(key, name): row[name].value for key, row in found.items() for name in row}
    assert [values["eda", name] for name in judges] == pytest.approx([9 / 12, 9 / 12, 3 / 12])
    assert [values["eda_segments", name] for name in judges] == pytest.approx([9 / 11, 9 / 11, 2 / 11])
    # TP 2, FP 2, FN 1, TN 7: (2 * 7 - 2 * 1) / sqrt(4 * 3 * 9 * 8)
    assert values["mcc", "judge"] == pytest.approx(12 / np.sqrt(864))
    assert found["mcc"]["correct"].undefined
    assert values["omission_iou", "judge"] is None and "left out" in found["omission_iou"]["judge"].reason
    assert values["relative_l2", "judge"] is None and values["rate_mae", "judge"] is None


def test_eda_leaves_out_what_was_not_answered() -> None:
    """The first video's first step is unanswered: 8 of 11."""
    said = SAID.astype(float)
    said[0, 0] = np.nan
    found = other_benchmark_estimates({"judge": verdicts(WRONG, said)}, SEGMENTS, resamples=0, seed=0)
    assert found["eda"]["judge"].value == pytest.approx(8 / 11) and found["eda"]["judge"].n_items == 11


def test_a_boundary_frame_given_to_the_segment_before_makes_the_truth_no_better_than_all_correct() -> None:
    """EgoPER's code does so (docs/reference/metrics.md): of right, wrong, right, wrong the truth itself has 2 of 4."""
    segment, truth = np.repeat([0, 1, 2, 3], 5), np.repeat([False, True, False, True], 5)

    def published(flagged: np.ndarray) -> int:
        first_of_next = np.append(np.flatnonzero(np.diff(segment)) + 1, len(segment) - 1)
        starts = np.array([0, *(first_of_next[:-1] + 1)])
        said = [flagged[a : b + 1].any() for a, b in zip(starts, first_of_next, strict=True)]
        return int(sum(said == truth[::5]))

    assert published(truth) == published(np.zeros(20, bool)) == 2


def test_omissions_by_hand() -> None:
    """Of the first video one of two steps is found and one named too many (1 of 3); the second is empty on both sides;
    of the third a step is named that was done (0)."""
    left_out = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], bool)
    said = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]], bool)
    graph = np.ones((3, 4), bool)
    assert omission_iou(left_out, said, graph).tolist() == pytest.approx([1 / 3, 1, 0])
    graph[2, 3] = False  # a step of no graph does not count
    assert omission_iou(left_out, said, graph).tolist() == pytest.approx([1 / 3, 1, 1])


def test_omissions_do_not_depend_on_the_nearest_topological_order() -> None:
    """EgoPER's way in full: all orders of a graph, the one with the least edit distance, its steps less those seen."""

    def distance(first: tuple[int, ...], second: tuple[int, ...]) -> int:
        row = list(range(len(second) + 1))
        for i, a in enumerate(first, 1):
            last, row[0] = row[0], i
            for j, b in enumerate(second, 1):
                last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
        return row[-1]

    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]
    orders = [order for order in permutations(range(5)) if all(order.index(a) < order.index(b) for a, b in edges)]
    assert len(orders) == 2
    for seen in [(0, 2, 3), (2, 1, 4), (), (4, 3, 2, 1, 0), (0, 1, 1, 4)]:
        nearest = min(orders, key=lambda order: distance(order, seen))
        assert set(nearest) - set(seen) == set(range(5)) - set(seen)


def test_relative_l2_by_hand() -> None:
    """Totals 10, 6, 2 against 9, 6, 4: 100 / 3 * (1 + 0 + 4) / 64; an offset that leaves ranks alone counts."""
    truth, said = np.array([10.0, 6, 2]), np.array([9.0, 6, 4])
    assert relative_l2(truth, said).mean() == pytest.approx(100 / 3 * 5 / 64)
    assert relative_l2(truth, truth - 2).mean() == pytest.approx(100 * 4 / 64)
    assert np.isnan(relative_l2(np.array([3.0, 3]), np.array([1.0, 2]))).all()
    assert np.isnan(relative_l2(truth, np.array([9.0, np.nan, 4]))).tolist() == [False, True, False]


def scores() -> ScoreMatrix:
    rng = np.random.default_rng(3)
    reference = rng.integers(0, 4, (30, 5)).astype(float)
    predicted = np.clip(reference + rng.integers(-2, 3, reference.shape), 0, 3)
    names = {"video_ids": [f"v{i}" for i in range(30)], "step_ids": list("abcde"), "skills": ["x"] * 5}
    return ScoreMatrix(
        **names, max_score=np.full(5, 3.0), reference=reference, predicted=predicted,
        asked=np.ones(reference.shape, bool), answer="score",
    )  # fmt: skip


def test_area_and_curve_are_those_of_scikit_learn() -> None:
    matrix = scores()
    wrong, score = matrix.reference_wrong.ravel(), (1 - matrix.predicted / 3).ravel()
    area = recognition_area(matrix)
    assert area.value == pytest.approx(roc_auc_score(wrong, score))
    assert area.low < area.value < area.high and area.n_clusters == 30
    for point in recognition_curve(matrix):
        said = score >= point.threshold - 1e-9
        assert point.accuracy == pytest.approx((said == wrong).mean())
        assert point.precision == pytest.approx(wrong[said].mean()) and point.recall == pytest.approx(
            said[wrong].mean()
        )
    assert [round(point.threshold, 3) for point in recognition_curve(matrix)] == [0, 0.333, 0.667, 1]


def test_area_of_verdicts_is_balanced_accuracy() -> None:
    """Sensitivity 2 of 3, specificity 7 of 9."""
    assert recognition_area(verdicts(WRONG, SAID)).value == pytest.approx((2 / 3 + 7 / 9) / 2)
    nothing = recognition_area(verdicts(np.zeros((3, 4), bool), SAID))
    assert nothing.undefined and "every one" in nothing.reason.lower()


def all_correct(rows: list[tuple[bool, bool]]) -> tuple[float | None, float | None]:
    """EDA of "all correct" over rows of (wrong, has a segment): of all, and of those with a segment."""
    wrong, segment = (np.array([side], bool) for side in zip(*rows, strict=True))
    judge = verdicts(wrong, np.zeros_like(wrong))
    found = other_benchmark_estimates({"all correct": judge}, segment, resamples=0, seed=0)
    return found["eda"]["all correct"].value, found["eda_segments"]["all correct"].value


@pytest.mark.skipif(not ANNOTATIONS.is_dir(), reason="the published annotation files are not here")
def test_all_correct_on_published_annotations() -> None:
    """CaptainCook4D: 1,964 of 5,700 rows are wrong, 1,683 of the 5,413 done. EgoOops: 95 of 538 segments, 60 of the 503
    of an instruction."""
    recordings = json.loads((ANNOTATIONS / "captaincook4d/annotation_json/complete_step_annotations.json").read_text())
    rows = [(step["has_errors"], step["start_time"] >= 0) for one in recordings.values() for step in one["steps"]]
    assert len(rows) == 5700
    assert all_correct(rows) == pytest.approx((0.6554, 0.6891), abs=5e-5)
    videos = json.loads((ANNOTATIONS / "egooops/meta/metadata.json").read_text())["videos"]
    rows = [(bool(each["labels"]), each["instruction"] >= 0) for video in videos for each in video["segments"]]
    assert len(rows) == 538
    assert all_correct(rows) == pytest.approx((0.8234, 0.8807), abs=5e-5)


def test_all_correct_on_an_excerpt() -> None:
    """CaptainCook4D's recording 1_28 (has_errors and start_time of its rows; annotations @ a8a920a3293c, MIT): of 12
    rows 7 are wrong, and 6 of the 11 with a start."""
    wrong = [True, True, True, False, True, True, False, False, True, False, False, True]
    starts = [4.1, 43.8, 73.2, 116.5, 155.0, 190.0, 261.4, 300.0, 330.2, 408.2, 439.7, -1.0]
    rows = [(flag, start >= 0) for flag, start in zip(wrong, starts, strict=True)]
    assert all_correct(rows) == pytest.approx((5 / 12, 5 / 11))
