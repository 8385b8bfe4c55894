"""Sample size of equivalence: the textbook's, and the power that it promises in data sets that are drawn anew."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from siming_tasks.analysis.design_effect import DesignEffect
from siming_tasks.analysis.equivalence_power import equivalence_size, videos_for_margin
from siming_tasks.analysis.power import PowerSettings, StudyDesign, draw, score
from siming_tasks.common.errors import DataError


def test_chow_shao_wangs_worked_example():
    """One sample, sigma .10, margin .05, level .05, power .8: about 35 (Sample Size Calculations, section 3.1)."""
    assert math.ceil(videos_for_margin(0.10, 0.05, PowerSettings())) == 35


def test_power_of_the_two_tests_by_the_normal_distribution():
    """At that size both tests reject with the wanted power: 2 Phi(margin / se - z) - 1."""
    n = videos_for_margin(0.3, 0.04, PowerSettings(alpha=0.025, power=0.9))
    assert 2 * stats.norm.cdf(0.04 / (0.3 / math.sqrt(n)) - stats.norm.isf(0.025)) - 1 == pytest.approx(0.9)


def test_power_at_the_planned_size():
    design = StudyDesign(steps=20)
    planned = equivalence_size(design, 0.06, rng=np.random.default_rng(1), replicates=300)
    sample = draw(design, planned.videos, 400, np.random.default_rng(2), judges=2)
    second, judge = (sample.judged(math.sqrt(design.reliability), number) for number in (0, 1))
    beside = [score(first, judge, "qwk") for first in (sample.reference, second)]
    gap = np.mean(beside, axis=0) - score(sample.reference, second, "qwk")
    assert abs(gap.mean()) < 4 * gap.std() / 20  # the three are exchangeable
    stderr = planned.spread * math.sqrt(200 / planned.videos)
    assert (np.abs(gap) < 0.06 - stats.norm.isf(0.05) * stderr).mean() == pytest.approx(0.8, abs=0.07)


def test_clusters_cost_the_design_effect_and_a_margin_is_above_zero():
    def videos(**how):
        return equivalence_size(StudyDesign(steps=10), 0.05, rng=np.random.default_rng(1), replicates=50, **how).videos

    assert videos(clustering=DesignEffect(per_cluster=4, icc=0.3)) == pytest.approx(1.9 * videos(), rel=0.05)
    with pytest.raises(DataError, match="the margin is 0"):
        equivalence_size(StudyDesign(), 0, rng=np.random.default_rng(1))
