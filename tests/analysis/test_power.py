"""The planning model against theory, scikit-learn and SciPy, and its plans against data sets of the planned size."""

from __future__ import annotations

import json
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, f1_score, matthews_corrcoef
from statsmodels.stats.power import normal_power

from siming_tasks.analysis.power import QUESTIONS, PowerSettings, StudyDesign, draw, plan, score, smallest_effects
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.catalogue import select


@pytest.fixture(scope="module")
def sample():
    return draw(StudyDesign(), 400, 40, np.random.default_rng(0))


@pytest.fixture(scope="module")
def at_200():
    found = smallest_effects(StudyDesign(), 200, rng=np.random.default_rng(2), replicates=1500)
    return {item.metric: item for item in found}


def null_spread(design, videos, labels):
    """Standard deviation of the correlation between reference and no-video baseline over all cells, from the model's
    text.

    Of standardised labels x (reference) and y (judge) of S cells a video: sqrt(E[(sum x y)^2] / (videos S^2)), where
    E[(sum x y)^2] = S + r (E[(sum x)^2] - S), and r is the correlation of a no-video baseline's labels within a video.
    Labels of a video are independent given its ability (or the judge's opinion of it), a standard normal: quadrature.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    two, one, zero = (design.prevalence * share for share in design.split)
    cuts = stats.norm.ppf([zero, zero + one, zero + one + two])

    def moments(mean, spread):
        """Mean label and mean squared label of cells whose latents have these means and one spread."""
        upper = stats.norm.sf((cuts - mean[..., None]) / spread)
        shares = -np.diff(np.concatenate([np.ones_like(mean)[..., None], upper, np.zeros_like(mean)[..., None]], -1))
        return shares @ np.array(labels, float), shares @ np.square(labels, dtype=float)

    opinion, _ = moments(np.sqrt(design.halo) * points, np.sqrt(1 - design.halo))
    mean, square = moments(np.zeros(1), 1.0)
    within = (weights @ opinion**2 - mean[0] ** 2) / (square[0] - mean[0] ** 2)

    ease = stats.norm.ppf((np.arange(design.steps) + 0.5) / design.steps)
    seen = np.sqrt(design.reliability)
    latent = seen * (np.sqrt(design.video) * points[:, None] + np.sqrt(design.step) * ease / ease.std())
    given, squared = moments(latent, np.sqrt(1 - seen**2 * (design.video + design.step)))
    centre = (weights @ given).mean()
    variance = (weights @ squared).mean() - centre**2
    deviation = given - centre
    pairs = weights @ (deviation.sum(1) ** 2 - (deviation**2).sum(1)) / variance
    return np.sqrt((design.steps + within * pairs) / (videos * design.steps**2))


class TestModel:
    def test_label_shares(self, sample):
        """.186 below 3, split 50 / 30 / 20; 528,000 labels with about 16,000 independent videos behind them."""
        shares = np.bincount(sample.reference.ravel(), minlength=4) / sample.reference.size
        assert shares == pytest.approx([0.186 * 0.2, 0.186 * 0.3, 0.186 * 0.5, 0.814], abs=0.004)

    @pytest.mark.parametrize("agreement", [0.4, 0.732, 0.9])
    def test_two_raters_reach_the_agreement(self, agreement):
        rng = np.random.default_rng(1)
        design = StudyDesign(agreement=agreement)
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
            assert set(select(lifted=True)) == set(expected)
            for metric in expected:
                assert score(reference, judged, metric)[i] == pytest.approx(expected[metric], abs=1e-9), metric

    def test_a_blind_judge_scores_zero_and_a_better_one_more(self, sample):
        assert {"plcc", "qwk", "mcc", "f1"} <= set(select(lifted=True))
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
    def test_bad_designs_are_refused(self, wrong, message):
        with pytest.raises(DataError, match=message):
            StudyDesign(**wrong)

    @pytest.mark.parametrize("wrong", [{"alpha": 2.0}, {"power": 0.0}, {"comparisons": 0}])
    def test_bad_tests_are_refused(self, wrong):
        with pytest.raises(DataError, match="alpha and power lie between 0 and 1; there is at least one comparison"):
            PowerSettings(**wrong)


class TestDetectable:
    def test_standard_error_of_a_null_correlation(self, at_200):
        """Theory: 1 / sqrt(n - 1); 1,500 replicates give it to 1.8 % (one standard error)."""
        for metric in ("plcc", "srcc"):
            assert at_200[metric].stderr == pytest.approx(1 / np.sqrt(199), rel=0.06)

    @pytest.mark.parametrize("metric", select(lifted=True))
    def test_the_smallest_effects_are_those_of_theory(self, at_200, metric):
        """A baseline's estimates are sums of products of independent labels, so their spread can be written down."""
        spread = {
            "plcc": 1 / np.sqrt(199),
            "srcc": 1 / np.sqrt(199),
            "qwk": null_spread(StudyDesign(), 200, labels=(0, 1, 2, 3)),
            "mcc": null_spread(StudyDesign(), 200, labels=(0, 0, 0, 1)),
            # F1 = 2 hits / (a + b): with a = b = p, over blind it is covariance / p = MCC (1 - p)
            "f1": null_spread(StudyDesign(), 200, labels=(0, 0, 0, 1)) * (1 - StudyDesign().prevalence),
        }[metric]
        power = NormalDist().inv_cdf(0.8)
        five, hardest = stats.t.ppf([1 - 0.05 / 2, 1 - 0.05 / 66 / 2], 199)
        expected = (
            spread * (five + power),
            spread * np.sqrt(2) * (five + power),
            spread * np.sqrt(2) * (hardest + power),
        )
        item = at_200[metric]
        assert (item.zero, item.two, item.holm) == pytest.approx(expected, rel=0.06)

    def test_an_effect_that_no_judge_can_have_is_out_of_reach(self, capsys):
        """Twelve videos: a correlation of 1.3 would be found; none is above 1."""
        found = smallest_effects(StudyDesign(), 12, rng=np.random.default_rng(0), metrics=("plcc",), replicates=200)[0]
        assert found.two is None and found.holm is None and found.zero <= 1
        assert main(["study", "power", "--videos", "12", "--replicates", "100", "--metric", "plcc"]) == 0
        assert capsys.readouterr().out.count("out of reach") == 2

    def test_reach_is_that_of_a_normal_test(self):
        test = PowerSettings(alpha=0.05, power=0.8, comparisons=66)
        assert test.reach("two") == pytest.approx(1.959964 + 0.841621, abs=1e-5)
        assert normal_power(test.reach("two"), 1, 0.05) == pytest.approx(0.8, abs=1e-4)
        assert normal_power(test.reach("holm"), 1, 0.05 / 66) == pytest.approx(0.8, abs=1e-4)
        assert test.critical("two", 10) == pytest.approx(2.262157, abs=1e-6)  # Student's table, 9 degrees of freedom

    def test_the_same_seed_the_same_numbers(self):
        runs = [
            smallest_effects(StudyDesign(steps=5), 30, rng=np.random.default_rng(7), replicates=50) for _ in range(2)
        ]
        assert runs[0] == runs[1]


class TestPlan:
    def test_power_at_the_planned_size(self):
        """The check draws data sets of the planned size: 80 % are significant, give or take the simulation's error."""
        plans = plan(StudyDesign(), "mcc", 0.1, rng=np.random.default_rng(3), replicates=800)
        assert [item.question for item in plans] == list(QUESTIONS)
        sizes = [item.videos for item in plans]
        assert sizes == sorted(sizes)
        assert all(item.power == pytest.approx(0.8, abs=0.07) for item in plans)

    def test_correlation_size_is_that_of_theory(self):
        """n = (2.80 / .4)^2 + 1 = 50 for a null spread of 1 / sqrt(n - 1); the spread under the effect is smaller."""
        (zero, *_) = plan(StudyDesign(steps=10), "plcc", 0.4, rng=np.random.default_rng(4), replicates=600)
        assert 40 <= zero.videos <= 54

    def test_an_effect_out_of_reach_states_its_reason(self):
        plans = plan(StudyDesign(agreement=0.3), "qwk", 0.9, rng=np.random.default_rng(5), replicates=100)
        assert {(item.videos, item.power) for item in plans} == {(None, None)}
        assert "against raters with this agreement" in plans[0].reason

    def test_effect_must_be_positive(self):
        with pytest.raises(DataError, match=r"effect is -0\.1; give the difference to be shown, above 0"):
            plan(StudyDesign(), "qwk", -0.1, rng=np.random.default_rng(0))


class TestCommand:
    def test_the_command_prints_the_table_of_metrics(self, capsys):
        assert main(["study", "power", "--metric", "plcc", "--replicates", "200", "--videos", "100"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("Simulated: 33 steps, 18.6% not fully correct, raters' kappa 0.732")
        assert "| PLCC | 0.3" in " ".join(out.split())  # columns are padded

    def test_json_and_bad_input(self, capsys):
        arguments = [
            "study",
            "power",
            "--metric",
            "mcc",
            "--effect",
            "0.3",
            "--replicates",
            "100",
            "--steps",
            "10",
            "--json",
        ]
        assert main(arguments) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["synthetic"] is True
        assert [item["question"] for item in found["results"]] == list(QUESTIONS)
        assert main(["study", "power", "--videos", "3"]) == 2
        assert capsys.readouterr().err == "siming study power: --videos '3' must be at least 10.\n"
        assert main(["study", "power", "--alpha", "2"]) == 2
        assert capsys.readouterr().err == "siming study power: --alpha '2' must be below 1.\n"
