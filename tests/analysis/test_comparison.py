from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from siming_tasks.analysis.human_ceiling import human_ratio
from siming_tasks.analysis.paired_tests import detectable, holm, jackknife_t
from siming_tasks.analysis.rater_agreement import inter_rater_table
from siming_tasks.metrics.abstention import abstention
from siming_tasks.metrics.no_video_baselines import step_prior
from statsmodels.stats.multitest import multipletests

from siming_tasks.analysis.comparison import PARTIAL_TOTALS, compare_scores
from siming_tasks.analysis.power import StudyDesign, draw
from siming_tasks.common.errors import DataError
from siming_tasks.metrics import ScoreMatrix, evaluate
from siming_tasks.metrics.alignment import ComparisonEntry, align
from siming_tasks.report.table import to_markdown
from siming_tasks.report.tables.comparison import comparison_section


@pytest.fixture
def judges(synthetic):
    """Four synthetic judges of the same 80 exams: a good one, a weak one, a copy of the weak one, a constant."""
    rng = np.random.default_rng(0)
    weak = synthetic(rng, videos=80, agreement=0.2, missing=0.01)
    good = weak.predicting(np.where(rng.random(weak.reference.shape) < 0.7, weak.reference, weak.predicted))
    constant = weak.predicting(np.broadcast_to(weak.max_score, weak.reference.shape))
    return [
        ComparisonEntry("good", good),
        ComparisonEntry("weak", weak),
        ComparisonEntry("copy", weak),
        ComparisonEntry("constant", constant),
    ]


# --- tests of differences --------------------------------------------------------------------------------------------


def test_holm_equals_statsmodels():
    for seed in range(20):
        p = np.random.default_rng(seed).random(7) ** 3
        np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1], rtol=0, atol=1e-12)


def test_jackknife_t_of_a_mean_is_the_paired_t_test():
    """Leaving one out of a mean gives back the data: estimate, interval and p are the textbook's."""
    x = np.random.default_rng(0).normal(0.4, 1, 23)
    ours = jackknife_t(x.mean(), (x.sum() - x) / 22)
    theirs = stats.ttest_1samp(x, 0)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-9)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval()))
    assert ours.stderr == pytest.approx(x.std(ddof=1) / np.sqrt(23))


def test_jackknife_t_where_there_is_nothing_to_test():
    assert jackknife_t(0.0, np.zeros(30))[1:] == (0, 0, 0, 1, 30)
    constant = jackknife_t(0.5, np.full(30, 0.5))
    assert constant.stderr == 0 and np.isnan(constant[2:5]).all()
    assert np.isnan(jackknife_t(0.5, np.linspace(0.4, 0.6, 9))[2:5]).all()  # nine videos
    assert np.isnan(jackknife_t(0.5, np.r_[np.nan, np.linspace(0.4, 0.6, 30)])[2:5]).all()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(10, 40), st.floats(0, 1), st.sampled_from(["score", "error"]))
def test_interval_and_p_never_disagree(seed, videos, shared, answer):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, (3, videos, 3)).astype(float)
    points[2] = np.where(rng.random((videos, 3)) < shared, points[1], points[2])
    said = points[1:] if answer == "score" else (points[1:] < 2).astype(float)
    said[0][rng.random((videos, 3)) < 0.02] = np.nan
    base = ScoreMatrix(
        [f"v{v}" for v in range(videos)], "abc", "xxx", [2.0] * 3, points[0], said[0], np.ones((videos, 3)), answer
    )
    found = compare_scores([ComparisonEntry("a", base), ComparisonEntry("b", base.predicting(said[1]))], resamples=2)
    assert found.skipped or found.differences
    for row in found.differences:
        if row.p is not None:
            if row.stderr > 0:
                assert (row.p <= 0.05) == (not row.low < 0 < row.high) or row.p == pytest.approx(0.05, abs=1e-9)
            else:
                assert (row.low, row.high, row.p) == (0, 0, 1)
            assert row.low <= row.value <= row.high
            assert row.p <= row.p_holm


def test_detectable_effect_of_a_correlation_over_200_videos():
    """Standard error of a null correlation is 1 / sqrt(n); two independent runs, and 66 comparisons."""
    one = 1 / np.sqrt(200)
    assert detectable(one, 200) == pytest.approx(0.20, abs=0.005)
    assert detectable(one * np.sqrt(2), 200) == pytest.approx(0.28, abs=0.005)
    assert detectable(one * np.sqrt(2), 200, 66) == pytest.approx(0.427, abs=0.005)
    assert detectable(1.0, 12) == pytest.approx(stats.t.ppf(0.975, 11) + stats.norm.ppf(0.8))


# --- the whole comparison --------------------------------------------------------------------------------------------


def test_estimates_are_those_of_evaluate(judges):
    found = compare_scores(judges, resamples=300)
    assert list(found.estimates) == [run.name for run in judges] != []
    for run in judges:
        assert found.estimates[run.name] == evaluate(run.panel, resamples=300).metrics


def test_equal_runs_differ_by_exactly_nothing(judges):
    rows = [d for d in compare_scores(judges, resamples=200).differences if (d.a, d.b) == ("weak", "copy")]
    assert len(rows) == 3
    for row in rows:
        assert (row.value, row.stderr, row.low, row.high, row.p, row.p_holm) == (0, 0, 0, 0, 1, 1)


def test_a_better_judge_is_found_and_ranks_first(judges):
    found = compare_scores(judges, resamples=999)
    row = next(d for d in found.differences if (d.metric, d.a, d.b) == ("qwk", "good", "weak"))
    assert row.low > 0.2
    assert row.family == "headline" and row.p < 1e-9
    assert row.p_holm == pytest.approx(row.p * 6)  # the smallest of the six comparisons of kappa
    assert row.better == "good" and row.holds
    standing = found.ranks["qwk"]
    assert [standing[name].rank for name in ("good", "weak", "copy", "constant")] == [1, 2, 2, 4]
    assert (standing["good"].low, standing["good"].high, standing["constant"].low) == (1, 1, 4)
    assert found.detectable["qwk"].pairs == 6


def test_detectable_effects_come_from_runs_that_vary(judges):
    """The constant's standard error of zero is no noise; the median of the other three is that of the equal pair."""
    found = compare_scores(judges, resamples=400)
    stderr = found.imputed["weak"]["plcc"].stderr
    assert found.detectable["plcc"].against_zero == pytest.approx(detectable(stderr, 80), rel=1e-9)


def test_an_oracle_does_not_vary_and_is_no_noise(judges):
    """Its standard error of 8e-17 is rounding: half of the others' median would be called detectable."""
    oracle = ComparisonEntry("oracle", judges[0].panel.predicting(judges[0].panel.reference))
    weak = judges[1]
    found = compare_scores([oracle, weak], resamples=400)
    stderr = found.imputed["weak"]["plcc"].stderr
    assert found.detectable["plcc"].against_zero == pytest.approx(detectable(stderr, 80))
    assert found.imputed["oracle"]["plcc"].low is None


def test_zero_is_no_benchmark_of_precision(synthetic):
    runs = [ComparisonEntry(str(k), synthetic(np.random.default_rng(k), videos=40, answer="error")) for k in (0, 1)]
    runs[1] = ComparisonEntry("1", runs[0].panel.predicting(runs[1].panel.predicted))
    found = compare_scores(runs, resamples=50).detectable
    assert found["precision"].against_zero is found["f1"].against_zero is None
    assert found["mcc"].against_zero > 0 and found["f1"].between_two > 0


def test_pairing_shortens_the_interval(judges):
    """Half of the answers are shared: the difference is surer than two separate intervals suggest."""
    good, weak = judges[:2]
    half = np.where(np.arange(33) < 28, good.panel.predicted, weak.panel.predicted)
    found = compare_scores([good, ComparisonEntry("half", good.panel.predicting(half))], resamples=500)
    row = next(d for d in found.differences if d.metric == "qwk")
    apart = np.hypot(*(found.estimates[name]["qwk"].stderr for name in ("good", "half")))
    assert row.stderr < 0.7 * apart


def test_every_run_is_compared_with_the_named_one(judges):
    found = compare_scores(judges, against="weak", resamples=50)
    assert [(d.a, d.b) for d in found.differences if d.metric == "plcc"] == [("good", "weak"), ("copy", "weak")]
    assert [(d.a, d.b) for d in found.differences if d.metric == "qwk"] == [
        ("good", "weak"), ("copy", "weak"), ("constant", "weak"),
    ]  # fmt: skip


def test_order_of_videos_and_steps_in_a_run_does_not_matter(judges):
    good, weak = judges[:2]
    mixed = weak.panel.videos(np.random.default_rng(1).permutation(80)).subset(weak.panel.step_ids[::-1])
    a, b = (compare_scores([good, ComparisonEntry("weak", panel)], resamples=100) for panel in (weak.panel, mixed))
    assert a.to_json() == b.to_json()


def test_json_and_markdown(judges):
    found = compare_scores(judges, resamples=50)
    json.dumps(found.to_json(), allow_nan=False)
    text = to_markdown(comparison_section(found))
    assert text.startswith("4 runs over the same 80 videos.\n")
    assert "constant is not compared in SRCC: All predicted totals are equal: 0/0." in text
    assert "nan" not in text.lower()


def test_markdown_says_that_fifty_videos_are_few(judges):
    few = [replace(run, panel=run.panel.videos(range(20))) for run in judges]
    assert "**Fewer than 50 videos: the interval is not to be trusted.**" in to_markdown(
        comparison_section(compare_scores(few, resamples=50))
    )


def test_an_undefined_metric_is_skipped_for_that_run_alone(judges):
    """Ranked and tested as 0 it would stand above a judge with a negative correlation."""
    found = compare_scores(judges, resamples=50)
    reason = "All predicted totals are equal: 0/0."
    assert found.skipped == {name: {"constant": reason} for name in ("plcc", "srcc")}
    assert set(found.ranks["plcc"]) == {"good", "weak", "copy"} and "constant" in found.ranks["qwk"]
    assert {d.metric for d in found.differences if "constant" in (d.a, d.b)} == {"qwk"}
    assert f"constant is not compared in PLCC: {reason}" in to_markdown(comparison_section(found))


def test_a_run_that_said_nothing_is_skipped_and_the_others_are_compared(judges):
    silent = ComparisonEntry("silent", judges[1].panel.predicting(np.full(judges[1].panel.reference.shape, np.nan)))
    found = compare_scores([*judges[:2], silent], resamples=50)
    assert {name: list(why) for name, why in found.skipped.items()} == {
        key: ["silent"] for key in ("plcc", "srcc", "qwk")
    }
    assert found.imputed["silent"]["qwk"].value is None
    assert {(d.a, d.b) for d in found.differences} == {("good", "weak")}


def test_nothing_is_tested_below_ten_videos(judges):
    few = [replace(run, panel=run.panel.videos(range(9))) for run in judges[:2]]
    found = compare_scores(few, resamples=50)
    assert all(d.low is d.high is d.p is d.p_holm is None for d in found.differences)
    assert "| - | - | - |" in to_markdown(comparison_section(found))
    json.dumps(found.to_json(), allow_nan=False)


def test_secondary_metrics_are_one_family(judges):
    """Nine of twelve p-values are of the headline metric's family of six or of the secondary's six by hand."""
    found = compare_scores(judges, resamples=50)
    assert found.headline == "qwk"
    for family, count in (("headline", 6), ("secondary", 6)):
        rows = [d for d in found.differences if d.family == family]
        assert len(rows) == count
        np.testing.assert_allclose([d.p_holm for d in rows], multipletests([d.p for d in rows], method="holm")[1])


# --- answering less --------------------------------------------------------------------------------------------------


@pytest.fixture
def unsure(judges, synthetic):
    """A judge, and itself answering only what it is right about (and a bit more), or listing errors alone."""
    rng = np.random.default_rng(4)
    honest = judges[1].panel.imputed()
    right = (honest.predicted == honest.reference) | (rng.random(honest.predicted.shape) < 0.1)
    errors = honest.predicted < honest.max_score
    return honest, *(honest.predicting(np.where(kept, honest.predicted, np.nan)) for kept in (right, errors))


def test_no_abstainer_ranks_above_its_honest_self(unsure, judges):
    honest, sure, errors = (
        ComparisonEntry(name, panel) for name, panel in zip(("honest", "sure", "errors"), unsure, strict=True)
    )
    found = compare_scores([sure, honest, errors, judges[0]], resamples=200)
    assert found.estimates["sure"]["qwk"].value > found.estimates["honest"]["qwk"].value + 0.3  # the trap
    assert found.imputed["errors"]["qwk"] == replace(found.imputed["honest"]["qwk"])  # what it says is the same
    for name in ("sure", "errors"):
        assert name not in found.ranks["qwk"]  # it answered too little
        assert found.skipped["plcc"][name] == found.skipped["srcc"][name] == PARTIAL_TOTALS
    assert all(d.better != "sure" or (d.a != "honest" and d.b != "honest") for d in found.differences)
    row = next(d for d in found.differences if d.metric == "qwk" and {d.a, d.b} == {"sure", "honest"})
    assert row.answered == 0 and row.answered_p == 1 and not row.holds and row.p < 0.05


@pytest.mark.parametrize("answer", ["score", "error"])
def test_the_worst_of_three_judges_does_not_rise_by_abstaining(answer):
    """It answers its surest 4 %; the step prior of the other videos, made of the test labels, would fill the rest."""
    rng = np.random.default_rng(7)
    data = draw(StudyDesign(), 120, 1, rng, judges=3)
    names = tuple(map(str, range(120))), tuple(map(str, range(33))), ("all",) * 33

    def panel(judge, skill, **more):
        labels = data.judged(skill, judge)[0].astype(float)
        said = labels if answer == "score" else (labels < 3).astype(float)
        return ScoreMatrix(*names, np.full(33, 3.0), data.reference[0], said, np.ones((120, 33)), answer, **more)

    worst, middle, best = (panel(judge, skill) for judge, skill in enumerate((0.1, 0.2, 0.3)))
    surest = np.abs(data.quality[0]) >= np.quantile(np.abs(data.quality[0]), 0.96)
    shy = replace(
        worst.predicting(np.where(surest, worst.predicted, np.nan)),
        fallback=np.where(surest, np.nan, step_prior(worst).predicted),
    )
    with_prior = abstention(shy, resamples=0).headline.value
    key = "qwk" if answer == "score" else "mcc"
    assert with_prior > evaluate(middle, resamples=0).metrics[key].value  # what it would have been ranked by
    runs = [ComparisonEntry(*row) for row in (("shy", shy), ("middle", middle), ("best", best))]
    found = compare_scores(runs, resamples=100)
    assert [found.ranks[key][name].rank for name in ("best", "middle")] == [1, 2]
    assert "shy" not in found.ranks[key]  # it answered too little for a rank
    assert "shy" not in {item.better for item in found.differences}
    for metric in ("plcc", "srcc") if answer == "score" else ():
        assert found.skipped[metric] == {"shy": PARTIAL_TOTALS} and set(found.ranks[metric]) == {"middle", "best"}


def test_a_run_that_answered_too_little_is_never_better(judges):
    """The reference itself on 94 % of the steps, ahead of a weak judge in every way, but not called better."""
    weak = judges[1].panel
    most = np.random.default_rng(0).random(weak.asked.shape) < 0.94
    oracle = weak.predicting(np.where(most, weak.reference, np.nan))
    for panel, better in ((oracle, None), (weak.predicting(weak.reference), "oracle")):
        found = compare_scores([ComparisonEntry("oracle", panel), judges[1]], resamples=50)
        (row,) = [item for item in found.differences if item.metric == "qwk"]
        assert row.p_holm < 0.001 and row.holds and row.better == better
        assert ("✗ |" in to_markdown(comparison_section(found))) == (better is None)


def test_a_physician_who_loses_a_few_videos_keeps_its_correlation(judges):
    """Two of eighty videos lost: zero points would take most of the correlation away."""
    panel = judges[0].panel
    lost = panel.predicting(np.where(np.arange(80)[:, None] < 2, np.nan, panel.predicted))
    whole, found = evaluate(panel, resamples=0), evaluate(lost, resamples=0)
    assert found.imputed["plcc"].value > whole.metrics["plcc"].value - 0.1
    assert found.extra["fill"]["zero"]["plcc"] < whole.metrics["plcc"].value - 0.4


def test_a_saboteur_does_not_drag_others_down(judges):
    """It answers a handful of items, where it is right; whoever answered more need not be ahead on those."""
    good, weak = judges[:2]
    few = np.zeros(weak.panel.asked.shape, bool)
    few[::9, ::7] = True
    sab = weak.panel.predicting(np.where(few, weak.panel.reference, np.nan))
    found = compare_scores([good, weak, ComparisonEntry("sab", sab)], resamples=50)
    assert {name: rank.rank for name, rank in found.ranks["qwk"].items()} == {"good": 1, "weak": 2}


def test_a_partial_run_changes_nothing_among_the_others(judges):
    """Ranks, their intervals and the headline's corrected p are those without it; its own tests are secondary."""
    good, weak = judges[:2]
    some = np.zeros(weak.panel.asked.shape, bool)
    some[:60] = True
    partial = ComparisonEntry("some", weak.panel.predicting(np.where(some, weak.panel.predicted, np.nan)))
    found, alone = (compare_scores(runs, resamples=50) for runs in ([good, weak, partial], [good, weak]))
    assert found.partial == ["some"] and found.ranks == alone.ranks and found.families["headline"] == 1
    of_headline = [item for item in found.differences if item.family == "headline"]
    assert of_headline == [item for item in alone.differences if item.family == "headline"]
    assert {(item.a, item.b) for item in found.differences if item.metric == "qwk"} >= {("good", "some")}


# --- refusals --------------------------------------------------------------------------------------------------------


def refuses(runs, message, **options):
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        compare_scores(runs, resamples=10, **options)


def test_too_few_runs_resamples_or_videos_are_refused(judges):
    refuses(judges[:1], "A comparison needs at least two runs; 1 given.")
    refuses([judges[0], judges[0]], "Two runs are called 'good'. Give each its own name.")
    refuses(judges, "There is no run 'x' to compare with. The runs are good, weak, copy, constant.", against="x")
    with pytest.raises(DataError, match="A comparison needs at least two resamples; 1 given"):
        compare_scores(judges, resamples=1)
    refuses(
        [replace(run, panel=run.panel.videos([0])) for run in judges],
        "The runs share a single video; videos are the unit of comparison, so at least two are needed.",
    )


def test_an_empty_run_is_refused(judges):
    panel = judges[1].panel
    nothing = replace(panel, asked=np.zeros(panel.asked.shape, bool))
    message = "Run 'weak' is empty: no question of it was found. Is it the right folder and setting?"
    refuses([judges[0], ComparisonEntry("weak", nothing)], message)


def test_all_predictions_missing(judges):
    panel = judges[1].panel
    silent = ComparisonEntry("weak", panel.predicting(np.full(panel.reference.shape, np.nan)))
    refuses([judges[0], silent], "Run 'weak' has nothing to compare. No step with a reference was answered.")


def test_different_videos_are_refused_or_narrowed(judges):
    good, weak = judges[:2]
    fewer = ComparisonEntry("weak", weak.panel.videos(range(2, 80)))
    refuses(
        [good, fewer],
        "Runs 'good' and 'weak' are over different videos: 2 only in 'good' (v00000, v00001). Compare runs over the "
        "same videos, or accept the difference (--allow videos) to use the 78 they share.",
    )
    assert compare_scores([good, fewer], allow=["videos"], resamples=10).n_videos == 78
    refuses(
        [replace(good, panel=good.panel.videos([0, 1])), fewer],
        "The runs share no videos; there is nothing to compare.",
        allow=["videos"],
    )


def test_different_steps(judges):
    good, weak = judges[:2]
    fewer = ComparisonEntry("weak", weak.panel.subset(weak.panel.step_ids[4:]))
    refuses(
        [good, fewer],
        "Runs 'good' and 'weak' are over different steps: 4 only in 'good' (s00, s01, s02, ...). Compare runs over the "
        "same steps, or accept the difference (--allow steps) to use the 29 they share.",
    )
    assert [run.panel.step_ids for run in align([good, fewer], ["steps"])] == [fewer.panel.step_ids] * 2


def test_different_questions(judges):
    good, weak = judges[:2]
    asked = weak.panel.asked.copy()
    asked[3, 5] = False
    runs = [good, ComparisonEntry("weak", replace(weak.panel, asked=asked))]
    refuses(
        runs,
        "Runs 'good' and 'weak' were not asked the same: step 's05' of video 'v00003' is in one only. Run both on the "
        "same data, or accept the difference (--allow steps) to use what both were asked.",
    )
    assert not align(runs, ["steps"])[0].panel.asked[3, 5]


def test_different_reference_and_rubric(judges):
    good, weak = judges[:2]
    other = np.where(weak.panel.reference == 1, 0, weak.panel.reference)
    refuses(
        [good, ComparisonEntry("weak", replace(weak.panel, reference=other))],
        "Runs 'good' and 'weak' are scored against different references. Use the same labels and rater for both, or "
        "allow the difference (reference).",
    )
    compare_scores(
        [good, ComparisonEntry("weak", replace(weak.panel, reference=other))], allow=["reference"], resamples=10
    )
    refuses(
        [good, ComparisonEntry("weak", replace(weak.panel, max_score=weak.panel.max_score + (np.arange(33) == 7)))],
        "Runs 'good' and 'weak' have different points for step 's07'. Use the same rubric for both.",
    )


def test_different_facts(judges):
    good, weak = (replace(run, facts={"media": mode}) for run, mode in zip(judges, ("frames", "video"), strict=False))
    refuses(
        [good, weak],
        "Runs 'good' and 'weak' differ in media: frames against video. Compare runs with the same media, or accept the "
        "difference (--allow media).",
    )
    text = to_markdown(comparison_section(compare_scores([good, weak], allow=["media"], resamples=10)))
    assert "**Differences between the runs that were allowed: media.**" in text


def test_a_fact_that_is_not_stated_is_no_difference_but_hides_none(judges):
    a, b, c = (
        replace(run, facts={"media": mode} if mode else {}) for run, mode in zip(judges, ("x", None, "y"), strict=False)
    )
    assert compare_scores([a, b], resamples=10).options["facts"] == {"media": "x"}
    refuses(
        [a, b, c],
        "Runs 'good' and 'copy' differ in media: x against y. Compare runs with the same media, or accept the "
        "difference (--allow media).",
    )


def test_different_answers(judges, synthetic):
    verdicts = ComparisonEntry("verdicts", synthetic(np.random.default_rng(0), videos=80, answer="error"))
    refuses(
        [judges[0], verdicts],
        "Run 'good' gives answers of the kind 'score' and 'verdicts' of the kind 'error'; no metric is common to both. "
        "Compare runs of the same setting.",
    )


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_the_runs_are_the_outcome_is_json_or_one_sentence(data):
    """Tiny panels of missing, constant and withheld answers through everything that compares."""
    v, s = data.draw(st.integers(0, 4)), data.draw(st.integers(1, 2))

    def grid(top):
        cell = st.sampled_from([np.nan, *map(float, range(top + 1))])
        return np.reshape(data.draw(st.lists(cell, min_size=v * s, max_size=v * s)), (v, s))

    answer = data.draw(st.sampled_from(["score", "error"]))
    base = ScoreMatrix(
        video_ids=tuple(map(str, range(v))),
        step_ids=tuple(map(str, range(s))),
        skills=("a",) * s,
        max_score=[2.0] * s,
        reference=grid(2),
        predicted=grid(1),
        asked=np.ones((v, s), bool),
        answer=answer,
    )
    a, b = base, base.predicting(grid(1))
    other = replace(base, reference=grid(2))
    for call in (
        lambda: compare_scores([ComparisonEntry("a", a), ComparisonEntry("b", b)], resamples=20).to_json(),
        lambda: to_markdown(
            comparison_section(compare_scores([ComparisonEntry("a", a), ComparisonEntry("b", b)], resamples=20))
        ),
        lambda: {k: m.to_json() for k, m in human_ratio(b, base, other, resamples=20).items()},
        lambda: inter_rater_table(*(replace(p, answer="score") for p in (base, other, base)), resamples=20).to_json(),
    ):
        try:
            text = json.dumps(call(), allow_nan=False)
        except DataError as error:
            assert "\n" not in str(error)
            continue
        assert "nan" not in text.lower()


# --- clusters --------------------------------------------------------------------------------------------------------


def test_students_are_the_unit_of_every_test(judges):
    """The difference of shares of a jackknife over 20 students, by leaving out each with a slow loop."""
    students = [f"s{v % 20:02d}" for v in range(80)]
    good, weak = (replace(run, panel=replace(run.panel, clusters=students, unit="student")) for run in judges[:2])
    found = compare_scores([good, weak], resamples=200)
    assert (found.options["unit"], found.options["n_clusters"]) == ("student", 20)
    (row,) = (d for d in found.differences if d.metric == "qwk")

    def kappa(run, kept):
        return evaluate(run.panel.videos(kept), resamples=0).imputed["qwk"].value

    panels = [good, weak]
    every = np.arange(80)
    without = [
        np.subtract(*(kappa(run, every[[s != name for s in good.panel.clusters]]) for run in panels))
        for name in sorted(set(students))
    ]
    stderr = np.sqrt(19 / 20 * np.square(np.array(without) - np.mean(without)).sum())
    assert row.clusters == 20 and row.stderr == pytest.approx(stderr)
    assert row.p == pytest.approx(2 * stats.t.sf(abs(row.value) / stderr, 19))
    assert found.detectable["qwk"].between_two == pytest.approx(detectable(stderr, 20))
    text = to_markdown(comparison_section(found))
    assert "2 runs over the same 80 videos of 20 students, which are what is resampled" in text
    assert "the jackknife's t over students" in text and "95 % intervals over videos" not in text
