"""A judge in the place of a physician: beside judges that never look, and against other libraries."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.weightstats import ttost_paired

from siming_tasks.analysis.paired_tests import Paired, jackknife_t
from siming_tasks.analysis.physician_equivalence import MARGIN, equivalence_test, physician_equivalence
from siming_tasks.analysis.power import StudyDesign, draw
from siming_tasks.analysis.video_contribution import no_video_matrices
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.no_video_baselines import always_correct

LABELS = [0, 1, 2, 3]


@pytest.fixture(scope="module")
def exams():
    """Three raters with the paper's kappa (.732) at its prevalence of imperfect steps (18.6 %): float[3, 200, 33]."""
    design = StudyDesign()
    sample = draw(design, 200, 1, np.random.default_rng(3), judges=2)
    other = [sample.judged(np.sqrt(design.reliability), judge)[0] for judge in (0, 1)]
    return np.array([sample.reference[0], *other], float)


@pytest.fixture
def judged(panel, exams):
    """The third rater as the judge of the first two, with the first as the reference."""
    return panel(exams[0], exams[2])


def by(judge, exams, names="ab", **how):
    raters = [replace(judge, reference=points) for points, _ in zip(exams, names, strict=False)]
    no_video = {name: m for name, m in no_video_matrices(judge).items() if m.answered.any()}
    return physician_equivalence(judge, raters, no_video, **how)


def test_agreement_beyond_chance_tells_it_from_a_physician(judged, exams):
    """The same judges by kappa: full points for everything is .73 short, a third rater is equivalent."""
    blind = by(always_correct(judged), exams)
    assert not blind.judge.not_inferior
    assert blind.judge.value == pytest.approx(-cohen_kappa_score(*exams[:2].reshape(2, -1), weights="quadratic"))
    third = by(judged, exams)
    assert third.judge.equivalent and third.passed_unseen == ()
    assert third.sentence.startswith("The judge agrees with these physicians as they agree with each other")
    assert set(third.no_video) >= {"always-correct", "always-failed", "step-prior"}


def test_nothing_is_claimed_where_a_judge_that_never_looks_meets_the_margin(judged, exams):
    wide = by(judged, exams, margin=0.9)
    assert wide.judge.equivalent and "always-correct" in wide.passed_unseen
    assert wide.sentence == (
        "The test cannot tell here: without any video, always correct, always failed, step prior meets the same margin "
        "of 0.900 kappa (quadratic)."
    )


def test_value_is_that_of_scikit_learn(judged, exams):
    def kappa(a, b):
        return cohen_kappa_score(a.ravel(), b.ravel(), weights="quadratic", labels=LABELS)

    found = by(judged, exams)
    expected = np.mean([kappa(exams[2], person) for person in exams[:2]]) - kappa(exams[0], exams[1])
    assert found.judge.value == pytest.approx(expected, abs=1e-12)
    assert found.physicians == pytest.approx(kappa(exams[0], exams[1]), abs=1e-12)
    assert (found.margin, found.pairs, found.unit, found.clusters) == (MARGIN, 1, "video", 200)


def test_margin_of_three_physicians_is_half_the_range_of_their_pairs(panel, exams):
    rng = np.random.default_rng(8)
    careless = np.where(rng.random(exams[0].shape) < 0.2, 3.0, exams[1])
    people = [exams[0], exams[2], careless]
    pairs = [cohen_kappa_score(a.ravel(), b.ravel(), weights="quadratic", labels=LABELS)
             for a, b in combinations(people, 2)]  # fmt: skip
    found = by(panel(exams[0], exams[1]), people, "abc")
    assert found.pairs == 3
    assert found.margin == pytest.approx((max(pairs) - min(pairs)) / 2, abs=1e-12)
    assert "half the range" in found.margin_from


@pytest.mark.parametrize("margin", [0.05, 0.3, 1.0])
def test_two_one_sided_tests_are_those_of_statsmodels(margin):
    """The jackknife of a mean is the t test of the mean."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(0.1, 1, (2, 60))
    gap = x - y
    left_out = (gap.sum() - gap) / 59
    found = equivalence_test(jackknife_t(float(gap.mean()), left_out), margin)
    p, lower, _ = ttost_paired(x, y, -margin, margin)
    assert found.p_different == pytest.approx(p)
    assert found.p_inferior == pytest.approx(lower[1])
    reach = stats.t.ppf(0.95, 59) * gap.std(ddof=1) / np.sqrt(60)
    assert (found.low, found.high) == pytest.approx((gap.mean() - reach, gap.mean() + reach))
    assert found.equivalent == (-margin < found.low and found.high < margin)


def test_nothing_is_tested_on_nine_videos(judged, exams):
    few = judged.videos(range(9))
    found = by(few, exams[:, :9])
    assert found.judge.p_inferior is None and not found.judge.not_inferior
    assert found.sentence.endswith("cannot be tested here.")


def test_copies_of_a_video_are_no_evidence(panel, exams):
    """Four copies of every exam: with the exam as the cluster the interval is that of the exams (to the t's factor)."""
    once = by(panel(exams[0, :50], exams[2, :50]), exams[:, :50])
    of = np.tile(np.arange(50), 4)
    copied = panel(exams[0, of], exams[2, of])
    copied = replace(copied, clusters=tuple(f"c{i}" for i in of), unit="student")
    again = by(copied, exams[:, of])
    assert again.clusters == 50 and again.unit == "student"
    assert again.judge.stderr == pytest.approx(once.judge.stderr, rel=1e-9)


def test_a_bad_margin_is_refused(judged, exams):
    with pytest.raises(DataError, match="the margin is 0; give a difference in agreement, above 0"):
        by(judged, exams, margin=0)


def test_equal_judges_differ_by_nothing_for_certain():
    sure = equivalence_test(Paired(0.0, 0.0, 0.0, 0.0, 1.0, 20), 0.05)
    assert (sure.p_inferior, sure.p_different, sure.equivalent) == (0.0, 0.0, True)


def test_not_every_exam_needs_all_three_physicians(panel, exams):
    """Each third of the exams was scored by another two of three: every pair counts, on its own exams."""

    def kappa(a, b):
        return cohen_kappa_score(a.ravel(), b.ravel(), weights="quadratic", labels=LABELS)

    rng = np.random.default_rng(4)
    people = np.array([exams[0], exams[1], np.where(rng.random(exams[0].shape) < 0.9, exams[0], 3)])
    third = np.arange(200) % 3
    for rater in range(3):
        people[rater, third == rater] = np.nan
    found = by(panel(exams[0], exams[2]), people, "abc")
    gaps, pairs = [], []
    for a, b, absent in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        on = third == absent
        pairs.append(kappa(people[a, on], people[b, on]))
        gaps.append(np.mean([kappa(exams[2, on], people[who, on]) for who in (a, b)]))
    assert found.pairs == 3 and found.physicians == pytest.approx(np.mean(pairs), abs=1e-12)
    assert found.judge.value == pytest.approx(np.mean(gaps) - np.mean(pairs), abs=1e-12)
    assert found.clusters == 200 and found.judge.stderr > 0
