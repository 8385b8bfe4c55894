"""The paper's claims against the definitions in NumPy and scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics as sk

from siming_tasks.benchmark.metrics import difference, evaluate
from siming_tasks.benchmark.metrics.catalogue import statistic
from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.paper_claims import full_video_and_clip, points_and_verdicts, totals_and_steps
from tests.study.analysis.exams import check_jackknife, drawn


def implied(x, y):
    """The correlation of totals that the agreement on the steps implies."""
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    r = (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())
    g = np.sqrt(x.sum(axis=1).var() / x.var(axis=0).sum())
    return r * g / np.sqrt(1 - r**2 + (r * g) ** 2)


def test_totals_that_the_steps_imply_by_definition():
    matrix = drawn(np.random.default_rng(6), 50)
    x, y = matrix.reference, matrix.predicted
    rows = totals_and_steps(matrix)
    check_jackknife(rows.one(metric="implied"), lambda kept: implied(x[kept], y[kept]), 50, -1)
    plcc = lambda kept: np.corrcoef(x[kept].sum(axis=1), y[kept].sum(axis=1))[0, 1]  # noqa: E731
    check_jackknife(rows.one(metric="excess"), lambda kept: plcc(kept) - implied(x[kept], y[kept]), 50)


def test_full_video_and_clip_are_paired_over_what_both_were_asked():
    full = drawn(np.random.default_rng(9), 40)
    better = np.where(np.random.default_rng(10).random(full.reference.shape) < 0.5, full.reference, full.predicted)
    asked = np.ones_like(full.asked)
    asked[:, 7] = asked[3, 0] = False
    clip = replace(full.predicting(better), asked=asked).videos(range(5, 40))
    rows = full_video_and_clip(full, clip)
    a, b = (replace(m, asked=clip.asked) for m in (full.videos(range(5, 40)), clip))
    for metric in ("plcc", "srcc", "qwk"):
        found, expected = rows.one(row="clip - full video", metric=metric), difference(statistic(metric), b, a)
        assert (found.value, found.low, found.p) == pytest.approx((expected.value, expected.low, expected.p))
        own = evaluate(b).one("ranked", "all steps", metric).value
        assert rows.one(row="clip", metric=metric).value == pytest.approx(own)
    with pytest.raises(DataError, match="different references"):
        full_video_and_clip(full, replace(full, reference=full.max_score - full.reference))
    with pytest.raises(DataError, match="share no videos"):
        full_video_and_clip(full.videos(range(5)), full.videos(range(5, 10)))


def test_missing_answers_count_as_full_points_and_too_many_forbid_the_test():
    full = drawn(np.random.default_rng(11), 40)
    for share, tested in ((0.03, True), (0.08, False)):
        gaps = np.random.default_rng(12).random(full.reference.shape) < share
        clip = full.predicting(np.where(gaps, np.nan, full.reference))
        row = full_video_and_clip(full, clip).one(row="clip - full video", metric="qwk")
        assert (row.p is not None) == tested and ("not-comparable" in row.flags) != tested
        filled = full.predicting(np.where(gaps, full.max_score, full.reference))
        assert row.value == pytest.approx(difference(statistic("qwk"), filled, full).value)


def test_points_and_verdicts_are_scikit_learns():
    """A judge's points beside its verdicts, which are right more often; and both against the reference."""
    points = drawn(np.random.default_rng(14), 50, missing=0.02)
    rng = np.random.default_rng(15)
    wrong = np.where(rng.random(points.reference.shape) < 0.8, points.reference_wrong, rng.random((50, 8)) < 0.2)
    said = np.where(rng.random(wrong.shape) < 0.02, np.nan, wrong)
    verdicts = replace(points, answer="error", predicted=said)
    rows = points_and_verdicts(points, verdicts)
    known = points.answered & verdicts.answered
    x, y = points.predicted_wrong[known], said[known] == 1
    found = {row.metric: row.value for row in rows.of(row="with each other")}
    assert found == pytest.approx({"kappa": sk.cohen_kappa_score(x, y), "same": (x == y).mean()})
    truth = points.reference_wrong.ravel()
    implied = np.nan_to_num(points.predicted, nan=9).ravel() < np.tile(points.max_score, 50)
    given = np.nan_to_num(said, nan=0).ravel() == 1
    for name, side in (("verdicts of the points", implied), ("verdicts", given)):
        of_library = {"mcc": sk.matthews_corrcoef, "precision": sk.precision_score, "recall": sk.recall_score}
        for metric, function in {**of_library, "f1": sk.f1_score}.items():
            assert rows.one(row=name, metric=metric).value == pytest.approx(function(truth, side))
    change = rows.one(row="verdicts - verdicts of the points", metric="mcc")
    expected = sk.matthews_corrcoef(truth, given) - sk.matthews_corrcoef(truth, implied)
    assert change.value == pytest.approx(expected) and change.p is not None
