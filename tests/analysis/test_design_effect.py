"""The design effect against the textbook, statsmodels and the variance of simulated clustered samples."""

from __future__ import annotations

import json

import numpy as np
import pytest
import statsmodels.api as sm

from siming_tasks.analysis.design_effect import DesignEffect, estimate_design_effect
from siming_tasks.analysis.power import PowerSettings, StudyDesign, plan, smallest_effects
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.metrics import ScoreMatrix


def clustered(rng, shape, videos, icc):
    """Standard normal values of samples of students with some videos each, ``float64[samples, students * videos]``."""
    shared, own = rng.standard_normal((*shape, 1)), rng.standard_normal((*shape, videos))
    return (np.sqrt(icc) * shared + np.sqrt(1 - icc) * own).reshape(shape[0], -1)


def panel(totals, students, unit="student"):
    """One step worth 100 points; the totals are the reference."""
    points = np.clip(50 + 10 * np.asarray(totals, float), 0, 100)[:, None]
    names = tuple(f"v{index}" for index in range(len(points)))
    how = {"clusters": tuple(map(str, students)), "unit": unit}
    return ScoreMatrix(names, ("s",), ("all",), [100], points, points, np.ones(points.shape, bool), "score", **how)


@pytest.mark.parametrize(("videos", "icc"), [(4, 0.3), (2, 0.5), (10, 0.05)])
def test_factor_is_that_of_the_textbook_and_of_simulated_means(videos, icc):
    """Kish (1965): 1 + (m - 1) rho. 4,000 samples of 50 students give a variance to 2.2 % (one standard error)."""
    effect = DesignEffect(per_cluster=videos, icc=icc)
    assert effect.factor == pytest.approx(1 + (videos - 1) * icc)
    means = clustered(np.random.default_rng(1), (4000, 50), videos, icc).mean(axis=1)
    assert means.var(ddof=1) * 50 * videos == pytest.approx(effect.factor, rel=0.07)


def test_unequal_clusters_count_more():
    """Sizes 1 and 7 of ICC .2: var of the sum = sum of m + m (m - 1) .2 = (1 + 7 + 8.4) each pair, / 8 = 2.05."""
    sizes = np.array([1, 7])
    by_hand = (sizes + sizes * (sizes - 1) * 0.2).sum() / sizes.sum()
    assert DesignEffect(4, 0.2, cv=sizes.std() / sizes.mean()).factor == pytest.approx(by_hand) == pytest.approx(2.05)


def test_a_correlation_of_two_clustered_totals_varies_less_than_a_mean_of_them():
    """Of independent x and y the products have the ICC rho^2, so the factor 1 + 3 * .25 is below 1 + 3 * .5."""
    rng = np.random.default_rng(2)
    x, y = (clustered(rng, (4000, 50), 4, 0.5) for _ in range(2))
    x, y = (side - side.mean(axis=1, keepdims=True) for side in (x, y))
    r = (x * y).sum(axis=1) / np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    assert r.var() * 200 == pytest.approx(1 + 3 * 0.25, rel=0.07)
    assert r.var() * 200 < DesignEffect(4, 0.5).factor


def test_intraclass_correlation_is_that_of_a_mixed_model():
    """For clusters of one size, analysis of variance and REML are the same."""
    totals = clustered(np.random.default_rng(3), (1, 40), 5, 0.4)[0]
    students = np.repeat(np.arange(40), 5)
    found = estimate_design_effect(panel(totals, students))
    model = sm.MixedLM(50 + 10 * totals, np.ones(200), groups=students).fit()
    between = float(model.cov_re[0][0])
    assert (found.per_cluster, found.cv, found.unit) == (5, 0, "student")
    assert found.icc == pytest.approx(between / (between + model.scale), abs=1e-3)


def test_intraclass_correlation_of_unequal_clusters_by_hand():
    """Donner (1986) with loops: three students of 1, 2 and 4 videos."""
    groups = [[1.0], [0.2, 0.6], [-1.0, -0.5, -0.8, -0.9]]
    everything = [value for group in groups for value in group]
    mean = sum(everything) / 7
    between = sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups) / 2
    within = sum((value - sum(g) / len(g)) ** 2 for g in groups for value in g) / 4
    usual = (7 - (1 + 4 + 16) / 7) / 2
    found = estimate_design_effect(panel(everything, [0, 1, 1, 2, 2, 2, 2]))
    assert found.icc == pytest.approx((between - within) / (between + (usual - 1) * within))
    assert found.per_cluster == pytest.approx(7 / 3)


def test_students_who_differ_less_than_chance_have_none():
    assert estimate_design_effect(panel([1, -1] * 10, np.repeat(np.arange(10), 2))).icc == 0


@pytest.mark.parametrize("students", [[0, 1, 2], [0, 0, 0]])
def test_what_cannot_be_estimated_says_so(students):
    of = f"3 labelled videos of {len(set(students))} students do not tell students and videos apart"
    with pytest.raises(DataError, match=f"{of}. Give --per-cluster and --icc."):
        estimate_design_effect(panel([0, 0.1, 0.2], students))


@pytest.mark.parametrize("wrong", [{"per_cluster": 0.5}, {"icc": 1.5}, {"icc": -0.1}, {"cv": -1.0}])
def test_bad_values_are_refused(wrong):
    with pytest.raises(DataError, match=f"{next(iter(wrong))} is"):
        DesignEffect(**wrong)


class TestPlans:
    def test_clusters_raise_the_smallest_effect_by_the_root_of_the_factor(self):
        """200 videos of 50 students, ICC .3: the same data sets, sqrt(1.9) and t with 49 degrees of freedom."""
        how = {"metrics": ("plcc",), "replicates": 200}
        alone, grouped = (
            smallest_effects(StudyDesign(steps=5), 200, rng=np.random.default_rng(4), clustering=clustering, **how)[0]
            for clustering in (None, DesignEffect(4, 0.3))
        )
        test = PowerSettings()
        assert (alone.clusters, grouped.clusters) == (200, 50)
        assert grouped.stderr == pytest.approx(alone.stderr * np.sqrt(1.9))
        wider = test.reach("two", 50) / test.reach("two", 200)
        assert grouped.two == pytest.approx(alone.two * np.sqrt(1.9) * wider)

    def test_below_five_clusters_nothing_is_found(self):
        found = smallest_effects(
            StudyDesign(steps=5), 200, rng=np.random.default_rng(4), metrics=("plcc",), replicates=50,
            clustering=DesignEffect(50, 0.01, unit="site"),
        )[0]  # fmt: skip
        assert (found.clusters, found.zero, found.two) == (4, None, None)

    def test_a_plan_asks_for_whole_students(self):
        how = {"metric": "plcc", "effect": 0.3, "replicates": 100}
        alone, grouped = (
            plan(StudyDesign(steps=5), rng=np.random.default_rng(5), clustering=clustering, **how)[0]
            for clustering in (None, DesignEffect(4, 0.3))
        )
        assert (alone.clusters, grouped.videos) == (alone.videos, 4 * grouped.clusters)
        # 1.9 times as many, in whole students, and a little more for Student's t with fewer degrees of freedom
        assert 1.9 * alone.videos <= grouped.videos <= 1.9 * alone.videos * 1.06 + 4


class TestCommand:
    def test_students_and_videos_are_printed(self, capsys):
        arguments = ["study", "power", "--metric", "plcc", "--replicates", "100", "--steps", "5"]
        assert main([*arguments, "--per-cluster", "4", "--icc", "0.3"]) == 0
        out = capsys.readouterr().out
        assert "A student has 4 videos, of an intraclass correlation of 0.30: the design effect is 1.90" in out
        assert "Smallest effect that 200 videos of 50 students show:" in out
        assert main([*arguments, "--per-cluster", "4", "--icc", "0.3", "--effect", "0.3", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["clusters"]["factor"] == pytest.approx(1.9)
        assert all(item["videos"] == 4 * item["clusters"] for item in found["results"])

    def test_one_flag_without_the_other_is_refused(self, capsys):
        assert main(["study", "power", "--icc", "0.3"]) == 2
        assert "--per-cluster and --icc belong together: give both, or --data" in capsys.readouterr().err
