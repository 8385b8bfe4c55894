"""Values against scikit-learn and SciPy; every degenerate case of the metric's definition by hand."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from siming_tasks.analysis.video_contribution import shuffle_p
from sklearn import metrics as sk

from siming_tasks.common.errors import DataError
from siming_tasks.metrics import ScoreMatrix, evaluate, ordinal_labels
from siming_tasks.metrics.correlation import shares, totals

TOL = 1e-12


def values(panel, **options):
    return {name: found.value for name, found in evaluate(panel, resamples=0, **options).metrics.items()}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mapping", ["absolute", "proportional", "proportional-3/4"])
def test_scores_equal_sklearn_and_scipy(synthetic, seed, mapping):
    panel = synthetic(np.random.default_rng(seed))
    got = values(panel, mapping=mapping)
    x, y = panel.reference.sum(axis=1), panel.predicted.sum(axis=1)
    labels = [ordinal_labels(side, panel.max_score, mapping).ravel() for side in (panel.reference, panel.predicted)]
    expected = {
        "plcc": stats.pearsonr(x, y)[0],
        "srcc": stats.spearmanr(x, y)[0],
        "qwk": sk.cohen_kappa_score(*labels, weights="quadratic", labels=[0, 1, 2, 3]),
        "coverage": 1.0,
    }
    assert got == pytest.approx(expected, abs=TOL)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("positive", ["error", "correct"])
def test_verdicts_equal_sklearn(synthetic, seed, positive):
    panel = synthetic(np.random.default_rng(seed), answer="error", missing=0.02)
    kept = ~np.isnan(panel.predicted)
    truth, guess = panel.reference_wrong[kept], panel.predicted[kept] == 1
    if positive == "correct":
        truth, guess = ~truth, ~guess
    expected = {
        "mcc": sk.matthews_corrcoef(truth, guess),
        "precision": sk.precision_score(truth, guess),
        "recall": sk.recall_score(truth, guess),
        "f1": sk.f1_score(truth, guess),
        "coverage": kept.mean(),
    }
    assert values(panel, positive=positive) == pytest.approx(expected, abs=TOL)


def test_per_skill_is_the_panel_of_that_skill(synthetic):
    panel = synthetic(np.random.default_rng(0))
    whole = evaluate(panel, resamples=200)
    for skill in ("cpr", "aed"):
        assert whole.per_skill[skill] == evaluate(panel.skill(skill), resamples=200).metrics


def test_pooled_kappa_is_not_the_mean_of_step_kappas(panel):
    """Steps 1 and 2 disagree at random; the difference between the steps is the whole of the pooled kappa."""
    reference = [[3, 0], [2, 1], [3, 1], [2, 0]]
    predicted = [[3, 0], [3, 0], [2, 1], [2, 1]]
    pooled = values(panel(reference, predicted))["qwk"]
    steps = [values(panel(reference, predicted).subset([s]))["qwk"] for s in ("s00", "s01")]
    assert steps == pytest.approx([0, 0])
    assert pooled == pytest.approx(0.8)  # cov = 1, var = 1.25 on both sides


# --- degenerate cases, one by one ------------------------------------------------------------------------------------


def only(found, **expected):
    assert {name: getattr(found, name) for name in expected} == expected


def test_constant_prediction_is_zero_and_defined(panel):
    found = evaluate(panel([[3, 1], [0, 2]], [[3, 3], [3, 3]]), resamples=100).metrics["qwk"]
    only(found, value=0.0, undefined=False, flags=("constant-prediction", "no-interval"), low=None, high=None)


def test_both_constant_same_label_is_undefined(panel):
    found = evaluate(panel([[3, 3], [3, 3]], [[3, 3], [3, 3]])).metrics["qwk"]
    only(found, value=0.0, undefined=True, low=None, stderr=None, flags=("constant-prediction", "constant-reference"))
    assert found.reason == "Reference and prediction are one and the same label everywhere: 0/0."


def test_both_constant_different_label_is_zero_and_defined(panel):
    found = evaluate(panel([[3, 3], [3, 3]], [[0, 0], [0, 0]])).metrics["qwk"]
    only(found, value=0.0, undefined=False, reason=None)


def test_one_pair_has_undefined_metrics_and_no_interval(panel):
    agree = evaluate(panel([[2]], [[2]])).metrics
    only(agree["qwk"], value=0.0, undefined=True, n_items=1)
    only(agree["plcc"], value=0.0, undefined=True, reason="A single video has no correlation.")
    only(evaluate(panel([[2]], [[1]])).metrics["qwk"], value=0.0, undefined=False, low=None)


def test_no_videos_give_no_values(panel):
    found = evaluate(panel(np.empty((0, 2)), np.empty((0, 2))))
    for metric in (*found.metrics.values(), *found.per_skill["cpr"].values()):
        only(metric, value=None, undefined=False, n_videos=0, coverage=None, reason="No step was asked about.")


def test_all_predictions_missing_give_no_value(panel):
    found = evaluate(panel([[3, 2], [1, 0]], np.full((2, 2), np.nan))).metrics
    for name in ("plcc", "srcc", "qwk"):
        only(found[name], value=None, undefined=False, reason="No step with a reference was answered.")
    only(found["coverage"], value=0.0, undefined=False, flags=("no-interval", "not-comparable"))


def test_withheld_labels_leave_the_coverage_only(panel):
    found = evaluate(panel(np.full((2, 2), np.nan), [[3, 2], [1, 0]])).metrics
    only(found["qwk"], value=None, reason="There is no reference: the labels are withheld.", coverage=1.0)
    only(found["coverage"], value=1.0)


def test_a_label_absent_on_both_sides_keeps_its_place(panel):
    """Labels 0, 1, 3 only; without ``labels=`` scikit-learn closes the gap and gets .684."""
    reference, predicted = [0, 0, 1, 1, 3, 3], [0, 1, 1, 0, 3, 1]
    kappa = values(panel([reference], [predicted]))["qwk"]
    assert kappa == pytest.approx(sk.cohen_kappa_score(reference, predicted, weights="quadratic", labels=[0, 1, 2, 3]))
    assert abs(kappa - sk.cohen_kappa_score(reference, predicted, weights="quadratic")) > 0.05


@pytest.mark.parametrize(("guess", "word"), [(1.0, "wrong"), (0.0, "correct")])
def test_mcc_of_a_constant_is_undefined(panel, guess, word):
    found = evaluate(panel([[3, 1], [0, 2]], np.full((2, 2), guess), answer="error")).metrics["mcc"]
    only(found, value=0.0, undefined=True, reason=f"Every step was predicted {word}: 0/0.")


def test_metrics_of_a_single_class(panel):
    found = evaluate(panel([[3, 3], [3, 3]], [[0, 1], [0, 0]], answer="error")).metrics
    only(found["mcc"], value=0.0, undefined=True, reason="Every step is correct in the reference: 0/0.")
    only(found["recall"], value=0.0, undefined=True, reason="No step is wrong in the reference: 0/0.")
    only(found["precision"], value=0.0, undefined=False)
    only(found["f1"], value=0.0, undefined=False)


def test_metrics_where_nothing_is_predicted_positive(panel):
    found = evaluate(panel([[3, 1], [0, 2]], np.zeros((2, 2)), answer="error")).metrics
    only(found["precision"], value=0.0, undefined=True, reason="No step was predicted wrong: 0/0.")
    only(found["recall"], value=0.0, undefined=False)
    only(found["f1"], value=0.0, undefined=False)


def test_neither_positives_nor_predicted_positives(panel):
    found = evaluate(panel([[3, 3]], [[0, 0]], answer="error")).metrics["f1"]
    only(found, undefined=True, reason="No step is wrong in the reference, and none was predicted so: 0/0.")


def test_totals_that_differ_by_rounding_noise_are_constant(panel):
    """0.1 + 0.2 + 0.3 in two orders differ by 1e-16; ranks of such noise would be a correlation of nothing."""
    predicted = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.2, 0.1, 0.3], [0.3, 0.1, 0.2]])
    assert len(set(predicted.sum(axis=1))) > 1
    found = evaluate(panel(np.diag([1.0, 2, 3, 1])[:, :3] + 0.5 * np.eye(4, 3), predicted, max_score=4.0)).metrics
    for name in ("plcc", "srcc"):
        only(found[name], value=0.0, undefined=True, reason="All predicted totals are equal: 0/0.")


@pytest.mark.parametrize("videos", range(3, 40))
def test_a_perfect_judge_has_exactly_one(panel, videos):
    """Not 0.9999999999999998: sqrt(5) sqrt(5) is not 5, sqrt(25) is."""
    points = np.stack([np.arange(videos) % 4, np.arange(videos) // 4 % 4, np.arange(videos) * 7 % 5 % 4], axis=1) * 1.0
    found = evaluate(panel(points, points), resamples=0).metrics
    assert [found[name].value for name in ("plcc", "srcc", "qwk")] == [1.0, 1.0, 1.0]


def test_constant_reference_totals(panel):
    found = evaluate(panel([[3, 1], [1, 3]], [[3, 1], [0, 0]])).metrics["srcc"]
    only(found, value=0.0, undefined=True, reason="All reference totals are equal: 0/0.")


def test_two_videos_are_flagged(panel):
    found = evaluate(panel([[3], [1]], [[0], [2]]), resamples=500).metrics["plcc"]
    only(found, value=-1.0, undefined=False)
    assert {"small-n", "no-interval", "undefined-replicates"} <= set(found.flags)
    assert found.undefined_share == pytest.approx(0.5, abs=0.1)  # the same video twice


# --- missing answers -------------------------------------------------------------------------------------------------


def test_totals_are_prorated_by_points(panel):
    """Five steps; video 0 lost the two-point step of 10 points: 6 of 8 earned -> 7.5 of 10."""
    max_score = [2, 2, 2, 2, 2]
    reference = [[2, 2, 1, 1, 2], [1, 1, 1, 1, 1], [2, 2, 2, 2, 2]]
    predicted = [[2, 2, 1, 1, np.nan], [0, 1, 1, 1, 1], [2, 2, 2, 2, 1]]
    got = values(panel(reference, predicted, max_score=max_score))
    assert got["plcc"] == pytest.approx(stats.pearsonr([8, 5, 10], [7.5, 4, 9])[0], abs=TOL)
    assert got["coverage"] == pytest.approx(14 / 15)


def test_totals_are_shares_where_a_step_does_not_apply(panel):
    """Step 3 (5 points) does not apply to video 2: of 10, 10, 5 and 10 points. Sums would put it last on both sides."""
    reference = [[3, 2, 5], [1, 1, 3], [3, 2, np.nan], [0, 2, 5]]
    predicted = [[3, 2, 4], [2, 1, 1], [3, 1, 5], [1, 2, 3]]
    found = evaluate(panel(reference, predicted, max_score=[3, 2, 5]), resamples=0).metrics
    parts = [10 / 10, 5 / 10, 5 / 5, 7 / 10], [9 / 10, 4 / 10, 4 / 5, 6 / 10]
    assert found["plcc"].value == pytest.approx(stats.pearsonr(*parts)[0], abs=TOL)
    assert found["srcc"].value == pytest.approx(stats.spearmanr(*parts)[0], abs=TOL)


def test_totals_are_shares_where_a_step_has_no_clip(panel):
    """Not asked about, with a label all the same; the answer that is left over is prorated within what was asked."""
    reference = [[3, 2, 5], [1, 1, 3], [3, 2, 0], [0, 2, 5], [2] * 3]
    predicted = [[3, 2, 4], [2, 1, 1], [3, 1, 5], [1, 2, 3], [1] * 3]
    asked = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 1], [0, 0, 1]], bool)
    found = evaluate(panel(reference, predicted, max_score=[3, 2, 5], asked=asked), resamples=0).metrics
    parts = [10 / 10, 5 / 10, 5 / 5, 7 / 10, 2 / 5], [9 / 10, 4 / 10, 4 / 5, 6 / 10, 1 / 5]
    assert found["plcc"].value == pytest.approx(stats.pearsonr(*parts)[0], abs=TOL)


def test_a_constant_judge_has_no_correlation_whatever_was_asked(synthetic):
    """One step in ten does not apply: its sums would correlate with the truth's."""
    rng = np.random.default_rng(0)
    whole = synthetic(rng, videos=80)
    gone = rng.random(whole.reference.shape) < 0.1
    for part in (replace(whole, reference=np.where(gone, np.nan, whole.reference)), replace(whole, asked=~gone)):
        for guess in (part.max_score, 0 * part.max_score):
            constant = part.predicting(np.broadcast_to(guess, part.reference.shape))
            found = evaluate(constant, resamples=0).metrics
            for name in ("plcc", "srcc"):
                only(found[name], value=0.0, undefined=True, reason="All predicted totals are equal: 0/0.")
            assert shuffle_p(constant, permutations=9)["plcc"] is None
    counted = ~gone
    sums = (np.where(counted, whole.max_score, 0).sum(axis=1), np.where(counted, whole.reference, 0).sum(axis=1))
    assert stats.pearsonr(*sums)[0] > 0.4  # the trap


def test_shares_of_complete_data_are_the_totals_to_the_last_bit(synthetic):
    complete = synthetic(np.random.default_rng(2), missing=0.05)
    for share, total in zip(shares(complete), totals(complete), strict=True):
        assert total.shape == (60,) and np.isfinite(total).any()
        np.testing.assert_array_equal(share, total)


def test_a_video_below_80_percent_leaves_the_correlation_only(panel):
    reference = [[3, 2, 1, 0, 3]] * 2 + [[1, 1, 1, 1, 1], [2, 2, 2, 2, 2], [0, 0, 0, 1, 0]]
    predicted = np.array(reference, float)
    predicted[0, :1] = np.nan  # 80 %: stays
    predicted[1, :2] = np.nan  # 60 %: goes
    found = evaluate(panel(reference, predicted), resamples=50).metrics
    only(found["plcc"], n_videos=4, n_items=4)
    only(found["qwk"], n_videos=5, n_items=22, value=1.0)
    assert "not-comparable" in found["qwk"].flags


def test_steps_not_asked_or_without_reference_do_not_count(panel):
    reference = [[3, 1, np.nan], [0, 2, 1], [2, 2, 2]]
    predicted = [[3, 0, 3], [0, np.nan, 1], [1, 2, 3]]
    asked = np.array([[True, True, True], [True, False, True], [True, True, True]])
    found = evaluate(panel(reference, predicted, asked=asked), resamples=0).metrics
    pairs = [(3, 3), (1, 0), (0, 0), (1, 1), (2, 1), (2, 2), (2, 3)]
    expected = sk.cohen_kappa_score(*zip(*pairs, strict=True), weights="quadratic", labels=[0, 1, 2, 3])
    assert found["qwk"].value == pytest.approx(expected, abs=TOL)
    assert found["qwk"].n_items == 7
    assert found["coverage"].value == 1.0
    parts = [4 / 6, 1 / 6, 6 / 9], [3 / 6, 1 / 6, 6 / 9]  # of the points of the steps that count
    assert found["plcc"].value == pytest.approx(stats.pearsonr(*parts)[0], abs=TOL)


def test_fill_sensitivity_by_hand(panel):
    reference, predicted = [[3, 1], [0, 2]], [[3, np.nan], [0, 2]]
    fill = evaluate(panel(reference, predicted), resamples=0).extra["fill"]
    for name, guess in (("zero", 0), ("adversarial", 3)):
        expected = sk.cohen_kappa_score([3, 1, 0, 2], [3, guess, 0, 2], weights="quadratic", labels=[0, 1, 2, 3])
        assert fill[name]["qwk"] == pytest.approx(expected, abs=TOL)


def test_fill_of_verdicts(panel):
    fill = evaluate(panel([[3, 1], [0, 3]], [[0, np.nan], [1, np.nan]], answer="error"), resamples=0).extra["fill"]
    assert fill["zero"]["recall"] == 1.0
    assert fill["zero"]["precision"] == pytest.approx(2 / 3)
    assert fill["adversarial"]["recall"] == pytest.approx(1 / 2)
    assert fill["adversarial"]["mcc"] == pytest.approx(0.0)


# --- what stands beside the headline ---------------------------------------------------------------------------------


def test_extra_holds_both_readings_and_both_classes(synthetic):
    panel = synthetic(np.random.default_rng(1))
    extra = evaluate(panel, resamples=50).extra
    for mapping in ("absolute", "proportional", "proportional-3/4"):
        assert extra["mapping"][mapping]["qwk"].value == pytest.approx(values(panel, mapping=mapping)["qwk"])
    truth, guess = panel.reference_wrong.ravel(), (panel.predicted < panel.max_score).ravel()
    assert extra["prevalence"] == pytest.approx(truth.mean())
    assert extra["predicted_positive_rate"] == pytest.approx(guess.mean())
    assert extra["positive"]["error"]["f1"].value == pytest.approx(sk.f1_score(truth, guess))
    assert extra["positive"]["correct"]["f1"].value == pytest.approx(sk.f1_score(~truth, ~guess))
    assert extra["positive"]["error"]["mcc"] == extra["positive"]["correct"]["mcc"]
    labels = [ordinal_labels(side, panel.max_score).ravel() for side in (panel.reference, panel.predicted)]
    assert extra["confusion"]["counts"] == sk.confusion_matrix(*labels, labels=[0, 1, 2, 3]).tolist()
    assert extra["counts"] == dict.fromkeys(extra["counts"], 60 * 33) | {"videos": 60}


# --- reproducibility -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["score", "error"])
def test_order_of_the_videos_does_not_matter(synthetic, answer):
    panel = synthetic(np.random.default_rng(2), answer=answer, missing=0.03)
    order = np.random.default_rng(3).permutation(60)
    assert evaluate(panel, resamples=300).to_json() == evaluate(panel.videos(order), resamples=300).to_json()


def test_same_bits_in_another_process(synthetic, tmp_path):
    panel = synthetic(np.random.default_rng(4), missing=0.03)
    np.savez(tmp_path / "panel.npz", max_score=panel.max_score, reference=panel.reference, predicted=panel.predicted)
    code = (
        "import sys, json, numpy as np\n"
        "from siming_tasks.metrics import ScoreMatrix, evaluate\n"
        "a = np.load(sys.argv[1]); v, s = a['reference'].shape\n"
        "p = ScoreMatrix(tuple(f'v{i:05d}' for i in range(v)), tuple(map(str, range(s))), ('cpr',) * s,\n"
        "          a['max_score'], a['reference'], a['predicted'], np.ones((v, s), bool), 'score')\n"
        "print(json.dumps({k: m.to_json() for k, m in evaluate(p, resamples=1000).metrics.items()}))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "panel.npz")],
        capture_output=True, text=True, check=True, env={"OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    here = {name: found.to_json() for name, found in evaluate(panel, resamples=1000).metrics.items()}
    assert json.loads(run.stdout) == here


def test_another_seed_gives_other_intervals(synthetic):
    panel = synthetic(np.random.default_rng(5))
    assert evaluate(panel, resamples=100, seed=1).metrics != evaluate(panel, resamples=100, seed=2).metrics


@pytest.mark.parametrize("resamples", [0, 1])
def test_no_interval_from_fewer_than_two_resamples(synthetic, resamples):
    panel = synthetic(np.random.default_rng(5))
    found = evaluate(panel, resamples=resamples).metrics["qwk"]
    assert (found.stderr, found.low, found.high) == (None, None, None)


def test_an_unknown_method_is_refused(synthetic):
    with pytest.raises(DataError, match="The method is 'magic'; it must be 'bootstrap' or 'jackknife'"):
        evaluate(synthetic(np.random.default_rng(0)), method="magic")


def has_nan(value) -> bool:
    if isinstance(value, dict):
        return any(map(has_nan, value.values()))
    if isinstance(value, list):
        return any(map(has_nan, value))
    return isinstance(value, float) and not math.isfinite(value)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_no_nan_in_any_json(data):
    """Whatever is missing, constant or tiny."""
    v, s = data.draw(st.integers(0, 4)), data.draw(st.integers(1, 3))
    answer = data.draw(st.sampled_from(["score", "error"]))
    cell = lambda top: st.sampled_from([np.nan, *map(float, range(top + 1))])  # noqa: E731
    grid = lambda top: data.draw(st.lists(cell(top), min_size=v * s, max_size=v * s))  # noqa: E731
    panel = ScoreMatrix(
        video_ids=tuple(map(str, range(v))),
        step_ids=tuple(map(str, range(s))),
        skills=tuple(data.draw(st.lists(st.sampled_from("ab"), min_size=s, max_size=s))),
        max_score=[2.0] * s,
        reference=np.reshape(grid(2), (v, s)),
        predicted=np.reshape(grid(2 if answer == "score" else 1), (v, s)),
        asked=np.reshape(data.draw(st.lists(st.booleans(), min_size=v * s, max_size=v * s)), (v, s)).astype(bool),
        answer=answer,
    )
    for method in ("bootstrap", "jackknife"):
        found = evaluate(panel, resamples=20, method=method)
        written = found.to_json()
        assert not has_nan(written)
        json.dumps(written, allow_nan=False)
        for metric in found.metrics.values():
            assert (metric.value is None) == (metric.n_items == 0)
            assert (metric.reason is not None) == (metric.undefined or metric.value is None)


def test_estimates_refuse_nan(synthetic):
    found = evaluate(synthetic(np.random.default_rng(0)), resamples=0).metrics["qwk"]
    with pytest.raises(ValueError, match=r"Estimate\.value is nan; use None for 'no value'"):
        replace(found, value=float("nan"))
    with pytest.raises(ValueError, match="Estimate: unknown flag 'shiny'"):
        replace(found, flags=("shiny",))
