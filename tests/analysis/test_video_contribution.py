from __future__ import annotations

import json
import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from siming_tasks.analysis.video_contribution import (
    AgreementDecomposition,
    ExcessCorrelation,
    ShuffledAnswers,
    numeric_labels,
    shuffle_p,
    video_contribution,
)
from siming_tasks.metrics import evaluate
from siming_tasks.metrics import no_video_baselines as baselines
from siming_tasks.metrics.correlation import Paired, totals
from siming_tasks.metrics.resample import Stream, bootstrap, observed, stream
from siming_tasks.metrics.sufficient_stats import Tally


def kappa(reference, predicted):
    """Scikit-learn's, of points 0..3 on steps of three points, which are their own labels."""
    return sk.cohen_kappa_score(np.ravel(reference), np.ravel(predicted), weights="quadratic", labels=range(4))


@pytest.fixture
def small(panel):
    """Five videos, four steps of three points: the label is the points."""
    rng = np.random.default_rng(0)
    return panel(*(rng.integers(0, 4, (2, 5, 4)) | np.array([0, 0, 2, 3])).clip(0, 3))


# --- the split -------------------------------------------------------------------------------------------------------


def test_parts_equal_all_permutations(small):
    """Shuffle whole videos in all 5! ways; shuffle the steps of every video alike in all 4! ways."""
    x, y = small.reference, small.predicted
    parts = observed(AgreementDecomposition(small).compute, 5)
    total = kappa(x, y)
    prior = np.mean([kappa(x, y[list(order)]) for order in permutations(range(5))])
    video = np.mean([kappa(x, y[:, list(order)]) for order in permutations(range(4))])
    assert parts["total"] == pytest.approx(total, abs=1e-12)
    assert parts["prior"] == pytest.approx(prior, abs=1e-12)
    assert parts["video"] == pytest.approx(video, abs=1e-12)
    assert parts["local"] == pytest.approx(total - prior - video, abs=1e-12)


def test_local_is_the_interaction(small):
    x, y = (
        side - side.mean(axis=0) - side.mean(axis=1, keepdims=True) + side.mean()
        for side in (small.reference, small.predicted)
    )
    a, b = small.reference, small.predicted
    expected = 2 * (x * y).mean() / (a.var() + b.var() + (a.mean() - b.mean()) ** 2)
    assert observed(AgreementDecomposition(small).compute, 5)["local"] == pytest.approx(expected, abs=1e-12)


def test_split_of_mcc_equals_all_permutations(panel):
    rng = np.random.default_rng(2)
    verdicts = panel(rng.integers(0, 4, (5, 4)), rng.integers(0, 2, (5, 4)), answer="error")
    truth, guess = verdicts.reference_wrong, verdicts.predicted == 1
    parts = observed(AgreementDecomposition(verdicts).compute, 5)
    mcc = lambda guess: sk.matthews_corrcoef(truth.ravel(), guess.ravel())  # noqa: E731
    assert parts["total"] == pytest.approx(mcc(guess), abs=1e-12)
    prior = np.mean([mcc(guess[list(order)]) for order in permutations(range(5))])
    assert parts["prior"] == pytest.approx(prior, abs=1e-12)


def test_sum_is_kappa_with_missing_answers(synthetic):
    panel = synthetic(np.random.default_rng(3), missing=0.1)
    parts = observed(AgreementDecomposition(panel).compute, 60)
    assert parts["prior"] + parts["video"] + parts["local"] == pytest.approx(parts["total"], abs=1e-12)
    assert parts["total"] == pytest.approx(evaluate(panel, resamples=0).metrics["qwk"].value, abs=1e-12)


@pytest.mark.parametrize("answer", ["score", "error"])
def test_a_resample_is_not_shuffled_with_copies_of_itself(synthetic, answer):
    """A perfect judge of 20 videos: in a resample a plain shuffle meets the same video twice as often as it should.

    The part is exact for the data, and resamples scatter around it instead of around a number that is 1/20 larger.
    """
    panel = synthetic(np.random.default_rng(17), videos=20, answer=answer)
    panel = panel.predicting(panel.reference if answer == "score" else panel.reference_wrong)
    for item, name in (
        (AgreementDecomposition(panel), "prior"),
        (ShuffledAnswers(Tally.of(panel)), "qwk" if answer == "score" else "mcc"),
    ):
        drawn = bootstrap(item.compute, np.arange(20), resamples=3000, seed=0)[name]
        value = observed(item.compute, 20)[name]
        assert drawn.mean() - value == pytest.approx(0, abs=0.015)


def test_a_constant_has_no_part_in_any_resample(synthetic):
    panel = synthetic(np.random.default_rng(18), videos=20)
    constant = panel.predicting(np.broadcast_to(panel.max_score, panel.reference.shape))
    drawn = bootstrap(AgreementDecomposition(constant).compute, np.arange(20), resamples=100, seed=0)
    assert set(drawn) == {"prior", "video", "local", "total"}
    for values in drawn.values():
        assert values.shape == (100,)
        np.testing.assert_allclose(values, 0, atol=1e-12)


def test_each_source_shows_in_its_own_part(panel):
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 4, (300, 30)).astype(float)
    by_step, by_video = np.array([0.0, 3.0]).repeat(15), rng.permutation(np.array([0.0, 3.0]).repeat(150))[:, None]
    for source, reference in (
        ("prior", np.where(rng.random(truth.shape) < 0.7, by_step, truth)),
        ("video", np.where(rng.random(truth.shape) < 0.7, by_video, truth)),
        ("local", truth),
    ):
        predicted = {"prior": by_step, "video": by_video, "local": truth}[source] + 0 * truth
        parts = observed(AgreementDecomposition(panel(reference, predicted)).compute, 300)
        assert parts[source] > 0.5
        assert all(abs(parts[name]) < 0.05 for name in {"prior", "video", "local"} - {source})


# --- the shuffle test ------------------------------------------------------------------------------------------------


def test_shuffle_p_of_a_perfect_and_of_a_blind_judge(synthetic):
    panel = synthetic(np.random.default_rng(5))
    perfect = shuffle_p(panel.predicting(panel.reference), permutations=99)
    assert perfect == {"qwk": 0.01, "plcc": 0.01}
    blind = panel.predicting(np.broadcast_to(np.floor(panel.max_score / 2), panel.reference.shape))
    assert shuffle_p(blind, permutations=99) == {"qwk": 1.0, "plcc": None}


def test_shuffle_p_is_uniform_for_judges_who_know_only_the_steps(synthetic):
    """Judges with a strong step prior and random answers otherwise: kappa is large, p is not small."""
    p = []
    for seed in range(60):
        panel = synthetic(np.random.default_rng(seed), videos=30, steps=10, agreement=0.0, missing=0.05)
        p.append(shuffle_p(panel, permutations=199, seed=seed)["qwk"])
    assert stats.kstest(p, "uniform").pvalue > 0.001
    assert np.mean(np.array(p) <= 0.05) < 0.15


def test_shuffle_p_of_verdicts(synthetic):
    panel = synthetic(np.random.default_rng(6), answer="error", agreement=0.5)
    assert shuffle_p(panel, permutations=99) == {"mcc": 0.01}


@pytest.mark.parametrize("answer", ["score", "error"])
@pytest.mark.parametrize("steps", [1, 5, 33, 70])
def test_shuffle_p_is_that_of_the_tables_counted_one_by_one(synthetic, answer, steps):
    """The same exchanges, each counted by scikit-learn from the labels written out."""
    panel = synthetic(np.random.default_rng(steps), videos=12, steps=steps, answer=answer, agreement=0.2, missing=0.2)
    x, y, both = numeric_labels(panel, "absolute")
    pairs = Paired(*totals(panel)) if answer == "score" else ()
    rng = np.random.default_rng(stream(4, Stream.EXCHANGES))
    found = []
    for draw in range(100):
        order = rng.permutation(12) if draw else np.arange(12)
        if draw:
            rng.permutation(len(pairs))
        kept = (both > 0) & (both[order] > 0)
        sides = x[kept], y[order][kept]
        found.append(kappa(*sides) if answer == "score" else sk.matthews_corrcoef(*sides))
    expected = float(np.mean(np.nan_to_num(found) >= found[0] - 1e-9))
    name = "qwk" if answer == "score" else "mcc"
    assert shuffle_p(panel, permutations=99, seed=4)[name] == pytest.approx(expected, abs=1e-12)


def test_the_shuffle_test_grows_with_the_videos_not_their_square(synthetic):
    """Peak memory in bytes: twice as many videos need no more than twice as much (and a little for Python)."""
    peaks = []
    for videos in (1000, 2000, 4000):
        panel = synthetic(np.random.default_rng(0), videos=videos, steps=3)
        tracemalloc.start()
        shuffle_p(panel, permutations=9)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2.2 * peaks[0]
    assert peaks[2] < 2.2 * peaks[1]


# --- no-video baselines --------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["score", "error"])
def test_shuffled_self_equals_all_permutations(panel, answer):
    """With all answers present the metrics are linear in the shuffled counts, so the expectation is exact."""
    rng = np.random.default_rng(7)
    p = panel(rng.integers(0, 4, (5, 4)), rng.integers(0, 4 if answer == "score" else 2, (5, 4)), answer=answer)
    got = observed(ShuffledAnswers(Tally.of(p)).compute, 5)
    rows = [
        {k: m.value for k, m in evaluate(p.predicting(p.predicted[list(order)]), resamples=0).metrics.items()}
        for order in permutations(range(5))
    ]
    for name in ("qwk",) if answer == "score" else ("mcc", "precision", "recall", "f1"):
        assert got[name] == pytest.approx(np.mean([row[name] for row in rows]), abs=1e-12)
    if answer == "score":
        assert got["plcc"] == 0 == pytest.approx(np.mean([row["plcc"] for row in rows]), abs=1e-12)


def test_shuffled_self_is_the_prior_part(synthetic):
    panel = synthetic(np.random.default_rng(8))
    shuffled = observed(ShuffledAnswers(Tally.of(panel)).compute, 60)["qwk"]
    assert shuffled == pytest.approx(observed(AgreementDecomposition(panel).compute, 60)["prior"], abs=1e-12)


def test_step_prior_by_hand(panel):
    """Videos 1 and 2 hold [3, 0, 0], [3, 3, 0]: shares 0, 0, 0, 1, 1, 1. Steps rank C (0), B (1/2), A (1).

    Quantiles 1/6, 1/2, 5/6 of the six shares are 0, 0 and 1, so video 0 is given [3, 0, 0] whatever happened in it.
    """
    p = panel([[0, 0, 3], [3, 0, 0], [3, 3, 0]], np.zeros((3, 3)))
    assert baselines.step_prior(p).predicted[0].tolist() == [3, 0, 0]


def test_step_prior_of_verdicts(panel):
    p = panel([[0, 0, 3], [3, 0, 0], [3, 3, 0]], np.zeros((3, 3)), answer="error")
    assert baselines.step_prior(p).predicted[0].tolist() == [0, 1, 1]


def test_step_prior_never_sees_its_own_video(synthetic):
    panel = synthetic(np.random.default_rng(9), videos=12)
    before = baselines.step_prior(panel).predicted
    for v in range(12):
        reference = panel.reference.copy()
        reference[v] = np.where(np.arange(33) % 3, 0, np.nan)
        other = type(panel)(**{**vars(panel), "reference": reference})
        np.testing.assert_array_equal(baselines.step_prior(other).predicted[v], before[v])


def test_step_prior_of_a_single_video_is_missing(panel):
    assert np.isnan(baselines.step_prior(panel([[3, 1]], [[3, 1]])).predicted).all()


def test_step_prior_is_a_strong_blind_judge(synthetic):
    """Matching the spread makes it better than predicting each step's mean or its most common label."""
    panel = synthetic(np.random.default_rng(10), videos=200)
    values = {}
    for name, predicted in (
        ("prior", baselines.step_prior(panel).predicted),
        ("mean", np.broadcast_to(panel.reference.mean(axis=0).round(), panel.reference.shape)),
        ("mode", np.broadcast_to(stats.mode(panel.reference).mode, panel.reference.shape)),
    ):
        values[name] = evaluate(panel.predicting(predicted), resamples=0).metrics["qwk"].value
    assert values["prior"] > max(values["mean"], values["mode"]) + 0.02


# --- mismatch --------------------------------------------------------------------------------------------------------


def test_a_judge_who_follows_every_step_equally_has_no_excess(panel):
    """Points = truth + independent noise, so the closed form holds; totals and steps have different agreement."""
    rng = np.random.default_rng(11)
    truth = rng.normal(0, 0.3, (4000, 1)) + rng.normal(0, 1, (4000, 20))
    reference, predicted = 50 + 4 * truth, 50 + 4 * truth + rng.normal(0, 8, truth.shape)
    found = observed(ExcessCorrelation(panel(reference, predicted, max_score=100)).compute, 4000)
    assert found["plcc"] == pytest.approx(np.corrcoef(reference.sum(axis=1), predicted.sum(axis=1))[0, 1], abs=1e-9)
    assert found["excess"] == pytest.approx(0, abs=0.03)
    assert found["plcc"] > 0.5


def test_an_overall_impression_is_an_excess(panel):
    """A judge who only knows how good the trainee is agrees on the totals, hardly on the steps."""
    rng = np.random.default_rng(12)
    trainee = rng.normal(0, 0.4, (2000, 1))
    reference = 50 + 4 * (trainee + rng.normal(0, 1, (2000, 20)))
    predicted = 50 + 4 * (trainee + rng.normal(0, 1, (2000, 20)))
    assert observed(ExcessCorrelation(panel(reference, predicted, max_score=100)).compute, 2000)["excess"] > 0.1


def test_errors_that_pile_up_in_a_video_are_a_deficit(panel):
    rng = np.random.default_rng(13)
    reference = rng.normal(50, 4, (2000, 20))
    predicted = reference + rng.normal(0, 4, (2000, 1))
    assert observed(ExcessCorrelation(panel(reference, predicted, max_score=100)).compute, 2000)["excess"] < -0.2


# --- everything together ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["score", "error"])
def test_parts_of_the_contribution_sum_to_the_metric(synthetic, answer):
    panel = synthetic(np.random.default_rng(14), answer=answer, missing=0.02)
    found = video_contribution(panel, resamples=300, permutations=99)
    metric = "qwk" if answer == "score" else "mcc"
    plain = evaluate(panel, resamples=300).metrics
    assert found.rows["run"] == plain
    assert found.parts["total"].value == pytest.approx(plain[metric].value, abs=1e-12)
    best = max(found.rows[row][metric].value for row in found.rows if row != "run")
    lift = found.lift[metric]
    assert lift.estimate.value == pytest.approx(plain[metric].value - best, abs=1e-12)
    assert lift.estimate.low < lift.estimate.value < lift.estimate.high
    assert found.rows[lift.over][metric].value == best
    assert found.rows["step-prior"][metric].n_items == plain[metric].n_items  # the same steps as the run answered
    json.dumps(found.to_json(), allow_nan=False)


def test_correlation_of_the_step_prior_is_undefined_not_minus_one(synthetic):
    """Leaving a video out turns its sign: the naive correlation of the prior's totals is strongly negative."""
    panel = synthetic(np.random.default_rng(15))
    row = video_contribution(panel, resamples=20, permutations=9).rows["step-prior"]
    for name in ("plcc", "srcc"):
        assert (row[name].value, row[name].undefined) == (0.0, True)
        assert row[name].reason.startswith("The step prior gives every video the same total")


def test_always_positive_is_hard_to_beat_on_f1(synthetic):
    panel = synthetic(np.random.default_rng(16), answer="error")
    f1 = video_contribution(panel, resamples=20, permutations=9).rows["always-failed"]["f1"].value
    prevalence = panel.reference_wrong.mean()
    assert f1 == pytest.approx(2 * prevalence / (1 + prevalence), abs=1e-12)


@pytest.mark.parametrize("answer", ["score", "error"])
@pytest.mark.parametrize("shape", [(0, 2), (1, 2), (2, 1), (3, 3)])
@pytest.mark.parametrize("kind", ["missing", "withheld", "constant"])
def test_degenerate_panels_do_not_break_it(panel, answer, shape, kind):
    reference = np.full(shape, np.nan if kind == "withheld" else 3.0)
    predicted = np.full(shape, np.nan if kind == "missing" else 1.0)
    found = video_contribution(panel(reference, predicted, answer=answer), resamples=20, permutations=9)
    json.dumps(found.to_json(), allow_nan=False)
    assert set(found.shuffle_p.values()) <= {None, 1.0}
