"""Power against statsmodels."""

import pytest
from statsmodels.stats.power import normal_power

from siming_tasks.benchmark.metrics import Estimate
from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.power import power, stated_rates


def test_the_smallest_difference_is_found_with_the_wanted_power():
    pilot = Estimate(0.1, stderr=0.02, n=200, clusters=200)
    rows = power(pilot, 800, 0.03)
    assert rows.one(metric="stderr").value == pytest.approx(0.01)
    assert rows.one(metric="power").value == pytest.approx(normal_power(3.0, 1, 0.05), abs=0.003)
    smallest = rows.one(metric="smallest").value
    assert power(pilot, 800, smallest).one(metric="power").value == pytest.approx(0.8, abs=1e-6)
    many = power(pilot, 800, smallest, comparisons=10)
    assert many.one(metric="power").value == pytest.approx(normal_power(smallest / 0.01, 1, 0.005), abs=0.005)
    assert {each.why for each in rows} == {"A planned value has no interval."}


@pytest.mark.weekly
def test_stated_rates_are_reached():
    """Kappa, and of verdicts MCC, of the simulated judges; the error at 2,000 exams is 2 % of what it would be."""
    for metric, kappa in (("qwk", 0.6), ("mcc", 0.4)):
        found = stated_rates(metric, 0.2, kappa, 0.1)
        assert abs(found.value - 0.1) < 3 * found.stderr and found.n == 2000


def test_what_cannot_be_planned_is_refused():
    short = Estimate(0.1, stderr=0.1, n=40, clusters=10)
    for pilot, videos in ((Estimate(0.1, n=200, clusters=200), 100), (short, 8)):
        with pytest.raises(DataError, match="nothing can be planned"):
            power(pilot, videos)
    for rates in ((0.0, 0.5, 0.0), (0.2, 1.0, 0.0), (0.2, 0.5, 0.6)):
        with pytest.raises(DataError, match="must be between 0 and 1"):
            stated_rates("qwk", *rates)
