"""The planning model against theory, scikit-learn and SciPy, and its plans against data sets of the planned size."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, f1_score, matthews_corrcoef
from statsmodels.stats.power import normal_power

from siming_tasks.cli import main
from siming_tasks.errors import DataError
from siming_tasks.metrics.catalogue import select
from siming_tasks.planning.model import Design, draw, score
from siming_tasks.planning.power import QUESTIONS, Test, plan, smallest_effects


@pytest.fixture(scope="module")
def sample():
    return draw(Design(), 400, 40, np.random.default_rng(0))


@pytest.fixture(scope="module")
def at_200():
    found = smallest_effects(Design(), 200, rng=np.random.default_rng(2), replicates=1500)
    return {item.metric: item for item in found}


class TestModel:
    def test_label_shares(self, sample):
        """.186 below 3, split 50 / 30 / 20; 528,000 labels with about 16,000 independent videos behind them."""
        shares = np.bincount(sample.reference.ravel(), minlength=4) / sample.reference.size
        assert shares == pytest.approx([0.186 * 0.2, 0.186 * 0.3, 0.186 * 0.5, 0.814], abs=0.004)

    @pytest.mark.parametrize("agreement", [0.4, 0.732, 0.9])
    def test_two_raters_reach_the_agreement(self, agreement):
        rng = np.random.default_rng(1)
        design = Design(agreement=agreement)
        true, *errors = rng.standard_normal((3, 60_000))
        raters = [np.sqrt(design.reliability) * true + np.sqrt(1 - design.reliability) * e for e in errors]
        labels = [np.searchsorted(design.cuts, rater) for rater in raters]
        assert cohen_kappa_score(*labels, weights="quadratic") == pytest.approx(agreement, abs=0.015)

    def test_scores_are_the_metrics(self, sample):
        reference, judged = sample.reference[:3], sample.judged(0.6)[:3]
        for i in range(3):
            x, y = reference[i].ravel(), judged[i].ravel()
            totals = reference[i].sum(1), judged[i].sum(1)
            blind = 2 * (x < 3).mean() * (y < 3).mean() / ((x < 3).mean() + (y < 3).mean())
            expected = {
                "plcc": stats.pearsonr(*totals).statistic,
                "srcc": stats.spearmanr(*totals).statistic,
                "qwk": cohen_kappa_score(x, y, weights="quadratic", labels=[0, 1, 2, 3]),
                "mcc": matthews_corrcoef(x < 3, y < 3),
                "f1": f1_score(x < 3, y < 3) - blind,
            }
            for metric in select(lifted=True):
                assert score(reference, judged, metric)[i] == pytest.approx(expected[metric], abs=1e-9), metric

    def test_a_blind_judge_scores_zero_and_a_better_one_more(self, sample):
        for metric in select(lifted=True):
            values = [score(sample.reference, sample.judged(skill), metric) for skill in (0.0, 0.3, 0.6, 1.0)]
            means = [value.mean() for value in values]
            assert abs(means[0]) < 4 * values[0].std() / np.sqrt(40)
            assert means == sorted(means)
            assert means[-1] < 1

    def test_constant_predictions_are_zero(self, sample):
        constant = np.full_like(sample.reference, 3)
        assert all((score(sample.reference, constant, metric) == 0).all() for metric in ("plcc", "srcc", "qwk", "mcc"))

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"prevalence": 1.5}, "prevalence is 1.5; it must lie between 0 and 1."),
            ({"agreement": 0.0}, "agreement is 0; it must lie between 0 and 1."),
            ({"steps": 0}, "steps is 0; a video has at least one."),
            ({"split": (0.5, 0.5, 0.5)}, "give three shares that sum to 1"),
            ({"video": 0.9, "step": 0.2}, "shares of a variance"),
        ],
    )
    def test_bad_designs(self, wrong, message):
        with pytest.raises(DataError, match=message):
            Design(**wrong)

    @pytest.mark.parametrize("wrong", [{"alpha": 2.0}, {"power": 0.0}, {"comparisons": 0}])
    def test_bad_tests(self, wrong):
        with pytest.raises(DataError, match="alpha and power lie between 0 and 1; there is at least one comparison"):
            Test(**wrong)


class TestDetectable:
    def test_standard_error_of_a_null_correlation(self, at_200):
        """Theory: 1 / sqrt(n - 1); 1,500 replicates give it to 1.8 % (one standard error)."""
        for metric in ("plcc", "srcc"):
            assert at_200[metric].stderr == pytest.approx(1 / np.sqrt(199), rel=0.06)

    @pytest.mark.parametrize(
        ("metric", "zero", "two", "holm", "within"),
        [
            ("plcc", 0.20, 0.28, 0.42, 0.06),
            ("qwk", 0.038, 0.052, 0.078, 0.08),
            ("mcc", 0.038, 0.052, 0.077, 0.08),
            ("f1", 0.035, 0.045, 0.068, 0.18),  # ours is the gain over a blind judge on the same videos: less spread
        ],
    )
    def test_figures_of_the_design_page(self, at_200, metric, zero, two, holm, within):
        """Found earlier with another simulator of 200 videos, 33 steps and 18.6 % imperfect steps."""
        item = at_200[metric]
        assert (item.zero, item.two, item.holm) == pytest.approx((zero, two, holm), rel=within)

    def test_reach_is_that_of_a_normal_test(self):
        test = Test(alpha=0.05, power=0.8, comparisons=66)
        assert test.reach("two") == pytest.approx(1.959964 + 0.841621, abs=1e-5)
        assert normal_power(test.reach("two"), 1, 0.05) == pytest.approx(0.8, abs=1e-4)
        assert normal_power(test.reach("holm"), 1, 0.05 / 66) == pytest.approx(0.8, abs=1e-4)

    def test_the_same_seed_the_same_numbers(self):
        runs = [smallest_effects(Design(steps=5), 30, rng=np.random.default_rng(7), replicates=50) for _ in range(2)]
        assert runs[0] == runs[1]


class TestPlan:
    def test_power_at_the_planned_size(self):
        """The check draws data sets of the planned size: 80 % are significant, give or take the simulation's error."""
        plans = plan(Design(), "mcc", 0.1, rng=np.random.default_rng(3), replicates=800)
        assert [item.question for item in plans] == list(QUESTIONS)
        sizes = [item.videos for item in plans]
        assert sizes == sorted(sizes)
        assert all(item.power == pytest.approx(0.8, abs=0.07) for item in plans)

    def test_correlation_size_is_that_of_theory(self):
        """n = (2.80 / .4)^2 + 1 = 50 for a null spread of 1 / sqrt(n - 1); the spread under the effect is smaller."""
        (zero, *_) = plan(Design(steps=10), "plcc", 0.4, rng=np.random.default_rng(4), replicates=600)
        assert 40 <= zero.videos <= 54

    def test_out_of_reach(self):
        plans = plan(Design(agreement=0.3), "qwk", 0.9, rng=np.random.default_rng(5), replicates=100)
        assert {(item.videos, item.power) for item in plans} == {(None, None)}
        assert "against raters with this agreement" in plans[0].reason

    def test_effect_must_be_positive(self):
        with pytest.raises(DataError, match=r"effect is -0\.1; give the difference to be shown, above 0"):
            plan(Design(), "qwk", -0.1, rng=np.random.default_rng(0))


class TestCommand:
    def test_table(self, capsys):
        assert main(["power", "--metric", "plcc", "--replicates", "200", "--videos", "100"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("Simulated: 33 steps, 18.6% not fully correct, raters' kappa 0.732")
        assert "| PLCC | 0.3" in out

    def test_json_and_bad_input(self, capsys):
        arguments = ["power", "--metric", "mcc", "--effect", "0.3", "--replicates", "100", "--steps", "10", "--json"]
        assert main(arguments) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["synthetic"] is True
        assert [item["question"] for item in found["results"]] == list(QUESTIONS)
        assert main(["power", "--videos", "3"]) == 2
        assert capsys.readouterr().err == "siming power: --videos '3' must be at least 10.\n"
        assert main(["power", "--alpha", "2"]) == 2
        assert capsys.readouterr().err == "siming power: --alpha '2' must be below 1.\n"
