"""The paper's claims against all permutations, the definitions in NumPy, scikit-learn and planted judges."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from sklearn import metrics as sk

from siming_tasks.analysis.claims import full_video_and_clip, points_and_verdicts, totals_and_steps
from siming_tasks.common.errors import DataError
from siming_tasks.metrics import difference, evaluate
from siming_tasks.metrics.catalogue import statistic
from tests.analysis.exams import drawn, exams, in_loops


def kappa(reference, predicted):
    """Scikit-learn's, of points 0..3 on steps of three points, which are their own labels."""
    return sk.cohen_kappa_score(np.ravel(reference), np.ravel(predicted), weights="quadratic", labels=range(4))


def parts(matrix):
    return {each.metric: each.value for each in totals_and_steps(matrix).of("parts of the agreement")}


@pytest.fixture
def small():
    """Five videos, four steps of three points, two of them seldom wrong."""
    return exams(*(np.random.default_rng(0).integers(0, 4, (2, 5, 4)) | np.array([0, 0, 2, 3])).clip(0, 3))


@pytest.fixture
def both():
    """A judge's points, and its verdicts, which are right more often."""
    points = drawn(np.random.default_rng(14), 50, missing=0.02)
    rng = np.random.default_rng(15)
    wrong = np.where(rng.random(points.reference.shape) < 0.8, points.reference_wrong, rng.random((50, 8)) < 0.2)
    said = np.where(rng.random(wrong.shape) < 0.02, np.nan, wrong)
    return points, replace(points, answer="error", predicted=said)


class TestParts:
    """Kappa as the sum of prior, video and local."""

    def test_they_equal_all_permutations(self, small):
        """Shuffle whole videos in all 5! ways; shuffle the steps of every video alike in all 4! ways."""
        x, y = small.reference, small.predicted
        prior = np.mean([kappa(x, y[list(order)]) for order in permutations(range(5))])
        video = np.mean([kappa(x, y[:, list(order)]) for order in permutations(range(4))])
        total = kappa(x, y)
        expected = {"prior": prior, "video": video, "local": total - prior - video, "total": total}
        assert parts(small) == pytest.approx(expected, abs=1e-12)

    def test_local_is_the_interaction(self, small):
        a, b = small.reference, small.predicted
        x, y = (s - s.mean(axis=0) - s.mean(axis=1, keepdims=True) + s.mean() for s in (a, b))
        expected = 2 * (x * y).mean() / (a.var() + b.var() + (a.mean() - b.mean()) ** 2)
        assert parts(small)["local"] == pytest.approx(expected, abs=1e-12)

    def test_of_verdicts_they_are_parts_of_mcc(self):
        rng = np.random.default_rng(2)
        verdicts = exams(rng.integers(0, 4, (5, 4)), rng.integers(0, 2, (5, 4)), answer="error")
        truth, said = verdicts.reference_wrong, verdicts.predicted == 1
        mcc = [sk.matthews_corrcoef(truth.ravel(), said[list(order)].ravel()) for order in permutations(range(5))]
        found = parts(verdicts)
        assert (found["total"], found["prior"]) == pytest.approx((mcc[0], np.mean(mcc)), abs=1e-12)

    @pytest.mark.parametrize("answer", ["score", "error"])
    def test_with_missing_answers_the_sum_is_exact(self, answer):
        matrix = drawn(np.random.default_rng(3), missing=0.1, answer=answer)
        found = parts(matrix)
        headline = evaluate(matrix).one("answered", "all steps", "qwk" if answer == "score" else "mcc")
        assert found["prior"] + found["video"] + found["local"] == pytest.approx(found["total"], abs=1e-12)
        assert found["total"] == pytest.approx(headline.value, abs=1e-12)
        total = totals_and_steps(matrix).one(metric="total")
        assert (total.low, total.high) == pytest.approx((headline.low, headline.high))

    def test_the_interval_of_a_part_is_the_jackknifes(self):
        rng = np.random.default_rng(4)
        x, y = rng.integers(0, 4, (2, 30, 3))

        def prior(kept):
            a, b = x[kept].astype(float), y[kept].astype(float)
            covariance = (a.mean(axis=0) * b.mean(axis=0)).mean() - a.mean() * b.mean()
            return 2 * covariance / (a.var() + b.var() + (a.mean() - b.mean()) ** 2)

        found = totals_and_steps(exams(x, y)).one(metric="prior")
        assert (found.value, found.stderr, found.low, found.high) == pytest.approx(in_loops(prior, 30))

    def test_each_source_shows_in_its_own_part(self):
        rng = np.random.default_rng(5)
        truth = rng.integers(0, 4, (300, 30)).astype(float)
        by_step, by_video = np.array([0.0, 3.0]).repeat(15), rng.permutation(np.array([0.0, 3.0]).repeat(150))[:, None]
        for source, reference, said in (
            ("prior", np.where(rng.random(truth.shape) < 0.7, by_step, truth), by_step),
            ("video", np.where(rng.random(truth.shape) < 0.7, by_video, truth), by_video),
            ("local", truth, truth),
        ):
            found = parts(exams(reference, said + 0 * truth))
            assert found[source] > 0.5
            assert all(abs(found[name]) < 0.05 for name in {"prior", "video", "local"} - {source})

    def test_a_constant_has_none_of_them(self):
        found = totals_and_steps(exams([[3, 3], [3, 3], [3, 3]], np.full((3, 2), 3.0)))
        assert {each.value for each in found} == {None}
        assert found.one(metric="prior").why == "A side has one and the same label: 0/0."


class TestTotals:
    """The correlation that the agreement on the steps implies."""

    @staticmethod
    def implied(x, y):
        a, b = x - x.mean(axis=0), y - y.mean(axis=0)
        r = (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())
        g = np.sqrt(x.sum(axis=1).var() / x.var(axis=0).sum())
        return r * g / np.sqrt(1 - r**2 + (r * g) ** 2)

    def test_value_and_interval_by_definition(self):
        matrix = drawn(np.random.default_rng(6), 50)
        x, y = matrix.reference, matrix.predicted
        rows = totals_and_steps(matrix).of("totals and steps")
        found = rows.one(metric="implied")
        expected = in_loops(lambda kept: self.implied(x[kept], y[kept]), 50)
        assert (found.value, found.stderr, found.low, found.high) == pytest.approx(expected, abs=1e-9)
        plcc = lambda kept: np.corrcoef(x[kept].sum(axis=1), y[kept].sum(axis=1))[0, 1]  # noqa: E731
        expected = in_loops(lambda kept: plcc(kept) - self.implied(x[kept], y[kept]), 50)
        excess = rows.one(metric="excess")
        assert (excess.value, excess.stderr, excess.low, excess.high) == pytest.approx(expected, abs=1e-7)

    def test_independent_errors_have_no_excess_and_an_impression_has_some(self):
        """Steps are followed equally well, with errors independent or shared by the steps of a video."""
        rng = np.random.default_rng(7)
        points = lambda latent: np.clip(np.round(latent + 1.5), 0, 3)  # noqa: E731
        quality = 0.6 * rng.normal(size=(900, 1)) + 0.8 * rng.normal(size=(900, 20))
        truth, noise = points(quality), rng.normal(size=(900, 20))
        judges = {
            "alone": np.where(rng.random(truth.shape) < 0.5, truth, rng.permuted(truth, axis=0)),
            "shared": points(quality + rng.normal(size=(900, 1))),
            "seen": points(0.3 * quality + 1.4 * quality.mean(axis=1, keepdims=True) + noise),
        }
        z = {}
        for name, said in judges.items():
            excess = totals_and_steps(exams(truth, said)).one(metric="excess")
            z[name] = excess.value / excess.stderr
        assert abs(z["alone"]) < 3 and z["shared"] < -5 and z["seen"] > 5

    def test_verdicts_have_no_totals(self):
        assert not totals_and_steps(drawn(np.random.default_rng(8), answer="error")).of("totals and steps")


class TestFullVideoAndClip:
    """One judge in two settings."""

    def test_differences_are_paired_over_what_both_were_asked(self):
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
            assert rows.one(row="clip", metric=metric).value == pytest.approx(
                evaluate(b).one("ranked", "all steps", metric).value
            )

    def test_missing_answers_count_as_full_points_and_too_many_forbid_the_test(self):
        full = drawn(np.random.default_rng(11), 40)
        for share, tested in ((0.03, True), (0.08, False)):
            gaps = np.random.default_rng(12).random(full.reference.shape) < share
            clip = full.predicting(np.where(gaps, np.nan, full.reference))
            row = full_video_and_clip(full, clip).one(row="clip - full video", metric="qwk")
            assert (row.p is not None) == tested and ("not-comparable" in row.flags) != tested
            filled = full.predicting(np.where(gaps, full.max_score, full.reference))
            assert row.value == pytest.approx(difference(statistic("qwk"), filled, full).value)

    def test_other_labels_and_other_videos_are_refused(self):
        full = drawn(np.random.default_rng(13), 10)
        with pytest.raises(DataError, match="different references"):
            full_video_and_clip(full, replace(full, reference=full.max_score - full.reference))
        with pytest.raises(DataError, match="share no videos"):
            full_video_and_clip(full.videos(range(5)), full.videos(range(5, 10)))


class TestPointsAndVerdicts:
    """What points imply beside what was said."""

    def test_agreement_with_each_other_is_scikit_learns(self, both):
        points, verdicts = both
        known = points.answered & verdicts.answered
        x, y = points.predicted_wrong[known], verdicts.predicted[known] == 1
        rows = points_and_verdicts(points, verdicts).of(row="with each other")
        assert rows.one(metric="kappa").value == pytest.approx(sk.cohen_kappa_score(x, y))
        assert rows.one(metric="same").value == pytest.approx((x == y).mean())

    def test_both_stand_against_the_reference(self, both):
        points, verdicts = both
        rows = points_and_verdicts(points, verdicts)
        truth = points.reference_wrong.ravel()
        implied = np.nan_to_num(points.predicted, nan=9).ravel() < np.tile(points.max_score, 50)
        given = np.nan_to_num(verdicts.predicted, nan=0).ravel() == 1
        for name, side in (("verdicts of the points", implied), ("verdicts", given)):
            found = {each.metric: each.value for each in rows.of(row=name)}
            assert found == pytest.approx({
                "mcc": sk.matthews_corrcoef(truth, side), "precision": sk.precision_score(truth, side),
                "recall": sk.recall_score(truth, side), "f1": sk.f1_score(truth, side),
            })  # fmt: skip
        change = rows.one(row="verdicts - verdicts of the points", metric="mcc")
        expected = sk.matthews_corrcoef(truth, given) - sk.matthews_corrcoef(truth, implied)
        assert change.value == pytest.approx(expected) and change.p is not None

    def test_the_other_class_changes_f1_alone(self, both):
        error, correct = (points_and_verdicts(*both, positive=side) for side in ("error", "correct"))
        for metric, same in (("mcc", True), ("f1", False)):
            values = [rows.one(row="verdicts", metric=metric).value for rows in (error, correct)]
            assert (values[0] == pytest.approx(values[1])) == same
