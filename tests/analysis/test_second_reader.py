"""Readers against an instrument: closed forms, statsmodels, a case whose truth is known, and a published table."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from siming_tasks import Options, open_dataset, read_run
from siming_tasks.analysis.second_reader import Reading, mcnemar, read_steps, reader_study
from siming_tasks.common.errors import DataError
from siming_tasks.metrics.thresholds import THIN
from siming_tasks.report.table import to_markdown
from siming_tasks.report.tables.second_reader import reader_section


def study(wrong, *readers, known=None, clusters=None, **how):
    """A study of 2-D marks; readers are (name, kind, wrong) or (name, kind, wrong, given)."""
    wrong = np.asarray(wrong, dtype=bool)
    everything = np.ones_like(wrong)
    readings = [
        Reading(name, kind, np.asarray(said, bool), *(given or [everything])) for name, kind, said, *given in readers
    ]
    clusters = np.arange(len(wrong)) if clusters is None else np.asarray(clusters)
    return read_steps("manikin", wrong, everything if known is None else known, readings, clusters,
                      **{"resamples": 400, "seed": 1, **how})  # fmt: skip


def column(*runs):
    """``(count, value)`` runs as one column of marks."""
    return np.concatenate([np.full(count, value, dtype=bool) for count, value in runs])[:, None]


def test_shares_ratios_and_counts_by_hand():
    # 40 wrong steps, of which 30 are found; 60 right ones, of which 12 are called wrong
    wrong = column((40, True), (60, False))
    said = column((30, True), (10, False), (12, True), (48, False))
    row = study(wrong, ("li", "human", said)).readers["li"]
    assert (row.tp, row.fn, row.fp, row.tn) == (30, 10, 12, 48)
    assert row.sensitivity.value == pytest.approx(0.75) and row.specificity.value == pytest.approx(0.8)
    assert row.lr_positive.value == pytest.approx(0.75 / 0.2)
    assert row.lr_negative.value == pytest.approx(0.25 / 0.8)
    assert row.against.p == pytest.approx(statsmodels_mcnemar([[30, 10], [12, 48]], exact=True).pvalue)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (0, 6), (5, 12), (40, 61)])
def test_mcnemar_is_that_of_statsmodels(b, c):
    first = column((b, True), (c, False), (7, True), (9, False))
    second = column((b, False), (c, True), (7, True), (9, False))
    test = mcnemar(first, second)
    assert (test.first_only, test.second_only) == (b, c)
    assert test.p == pytest.approx(statsmodels_mcnemar([[7, b], [c, 9]], exact=True).pvalue)


def test_a_second_reader_by_hand():
    #                   wrong steps            right steps
    wrong = column((6, True), (6, False))
    li = np.array([[1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]], bool).T
    model = np.array([[1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0]], bool).T
    kim = np.array([[1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]], bool).T
    (pair, _) = study(wrong, ("li", "human", li), ("kim", "human", kim), ("m", "model", model)).pairs
    assert (pair.human, pair.model) == ("li", "m")
    assert (pair.misses, pair.caught_count, pair.reread_count) == (4, 2, 4)
    assert pair.caught.value == 2 / 4
    assert pair.rereads.value == pytest.approx(4 / 12)
    assert pair.worth.value == 2 / 4
    assert pair.disagreements.value == pytest.approx(6 / 12)
    cells = {name: (row.tp, row.fn, row.fp, row.tn) for name, row in pair.rules.items()}
    # third: li and m differ on steps 2, 3, 4 (wrong) and 7, 8, 9 (right); kim calls 2, 3 and 8 wrong
    assert cells == {"either": (4, 2, 3, 3), "both": (1, 5, 0, 6), "third: kim": (3, 3, 1, 5)}
    assert pair.sensitivity_gain.value == pytest.approx(3 / 6 - 2 / 6)
    assert (pair.on_wrong.first_only, pair.on_wrong.second_only) == (2, 1)
    assert pair.specificity_gain.value == pytest.approx(4 / 6 - 5 / 6)
    assert (pair.on_right.first_only, pair.on_right.second_only) == (1, 2)


def test_only_what_both_judged_is_compared():
    wrong = column((4, True), (4, False))
    said = column((8, True))
    given = column((3, True), (5, False))
    result = study(wrong, ("li", "human", said), ("m", "model", ~said, given))
    assert result.pairs[0].first.tp == 3 and result.readers["li"].tp == 4
    assert result.readers["m"].fn == 3
    nobody = study(wrong, ("li", "human", said), ("m", "model", said, column((8, False))))
    assert not nobody.pairs and "m" not in nobody.readers
    with pytest.raises(DataError, match="manikin has judged no step"):
        study(wrong, known=np.zeros_like(wrong))


def test_a_models_unanswered_steps_are_said_and_catch_nothing():
    wrong, li = column((10, True), (59, False)), column((5, True), (64, False))
    model = column((8, True), (61, False))
    given = column((5, True), (3, True), (2, False), (52, True), (7, False))  # 60 of 69, 8 of the 10 wrong ones
    result = study(wrong, ("li", "human", li), ("m", "model", model, given))
    assert (result.readers["li"].judged, result.readers["m"].judged, result.steps) == (69, 60, 69)
    assert (
        "10 of 69 steps are wrong by manikin; li missed 5 of 10, and m as second reader would have" in result.sentence
    )
    assert "caught 3 of these for 3 re-reads of 69 readings (m judged 60 of 69 steps)" in result.sentence
    assert result.notes == ["m judged 60 of the 69 steps that manikin judged; its shares are of these alone."]
    printed = str(to_markdown(reader_section(result, 400)))
    assert "60 of the 69" in printed and "p against manikin" in printed and "instrument" not in printed
    complete = study(wrong, ("li", "human", li), ("m", "model", model))
    assert not complete.notes and complete.sentence.endswith("69 readings.")


def test_a_readers_name_is_its_own():
    said = column((4, True))
    with pytest.raises(DataError, match=r"two readers are called 'm'.*NAME=PATH"):
        study(said, ("m", "model", said), ("m", "model", ~said))


@pytest.mark.parametrize(("reference", "words"), [("consensus", "made of judgements"), ("rater_a", "is a person and")])
def test_a_reference_that_is_no_instrument_is_called_by_its_name_and_warned_of(short_demo, reference, words):
    result = reader_study(open_dataset(short_demo), reference, options=Options(resamples=50))
    assert words in result.notes[0] and "independent" in result.notes[0]
    printed = str(to_markdown(reader_section(result, 50)))
    assert f"p against {reference}" in printed and "against the instrument" not in printed


def test_a_run_that_does_not_name_its_data_set_is_named(short_demo, tmp_path):
    dataset = open_dataset(short_demo)
    digests = {"named": dataset.digest, "other": "0" * 64}
    for name, digest in digests.items():
        lines = [
            {
                "setting": "full_score",
                "video_id": video.video_id,
                "scores": {step.step_id: step.scores["rater_b"] for step in video.applicable},
                "dataset": digest,
            }
            for video in dataset.videos
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = Options(resamples=50)
    run = read_run(tmp_path / "named.jsonl", dataset)
    records = {  # as of a sample log of a task that does not state it
        name: [replace(each, conditions=replace(each.conditions, dataset=None)) for each in of]
        for name, of in run.records.items()
    }
    named, nameless = (
        reader_study(dataset, "rater_a", [each], options) for each in (run, replace(run, records=records))
    )
    assert not any("which data set" in note for note in named.notes)
    assert any(note.startswith("named does not say which data set") for note in nameless.notes)
    with pytest.raises(DataError, match="made on dataset 000000000000"):
        read_run(tmp_path / "other.jsonl", dataset)


def test_thin_counts_have_no_interval_and_no_ratio_is_no_zero():
    wrong = column((THIN - 1, True), (60, False))
    said = column((5, True), (THIN + 55 - 1, False))
    row = study(wrong, ("li", "human", said)).readers["li"]
    assert row.sensitivity.value is not None and row.sensitivity.low is None
    assert row.specificity.low is not None
    assert row.lr_positive.value is None and "No false alarm" in row.lr_positive.reason
    assert row.lr_negative.value == pytest.approx((4 / 9) / 1) and row.lr_negative.low is None


def test_the_standard_error_is_the_cluster_robust_one():
    """Against statsmodels' sandwich of the mean over the wrong steps, clusters of five alike steps."""
    rng = np.random.default_rng(5)
    skill = rng.beta(0.6, 0.3, size=(120, 1))
    wrong = rng.random((120, 5)) < 0.5
    said = np.where(wrong, rng.random((120, 5)) < skill, rng.random((120, 5)) < 0.2)
    row = study(wrong, ("li", "human", said), resamples=4000).readers["li"]
    clusters = np.repeat(np.arange(120), 5).reshape(120, 5)[wrong]
    fit = sm.OLS(said[wrong].astype(float), np.ones(wrong.sum())).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    assert row.sensitivity.stderr == pytest.approx(fit.bse[0], rel=0.06)
    naive = np.sqrt(fit.params[0] * (1 - fit.params[0]) / wrong.sum())
    assert row.sensitivity.stderr > 1.3 * naive, "steps of one exam are not independent"


def test_intervals_hold_a_known_truth():
    """SYNTHETIC: sensitivity .7, specificity .85, a model that catches .6 of the misses; steps of an exam are alike."""
    rng = np.random.default_rng(11)
    held = dict.fromkeys(("sensitivity", "specificity", "caught", "lr_positive"), 0)
    truth = {"sensitivity": 0.7, "specificity": 0.85, "caught": 0.6, "lr_positive": 0.7 / 0.15}
    trials = 60
    for trial in range(trials):
        wrong = rng.random((100, 4)) < 0.4
        finds = rng.random((100, 4)) < rng.beta(7, 3, size=(100, 1))  # mean .7
        alarms = rng.random((100, 4)) < rng.beta(1.5, 8.5, size=(100, 1))  # mean .15
        catches = rng.random((100, 4)) < rng.beta(6, 4, size=(100, 1))  # mean .6
        said = np.where(wrong, finds, alarms)
        (pair,) = study(wrong, ("li", "human", said), ("m", "model", catches), resamples=300, seed=trial).pairs
        found = {"caught": pair.caught, **{name: getattr(pair.first, name) for name in truth if name != "caught"}}
        for name, value in truth.items():
            held[name] += found[name].low <= value <= found[name].high
    assert all(count >= 0.87 * trials for count in held.values()), held  # .95 less 2.8 standard errors


PUBLISHED = {"expert": ((77.8, 84.3), (24.6, 47.8)), "model": ((35.6, 40.6), (69.2, 76.1))}
"""Sensitivity and specificity, lowest and highest of four metrics, percent, of 110 recordings: abstract of Park, Choi
and Lee, J. Clin. Med. 15 (12), 4436 (2026), doi 10.3390/jcm15124436. Which class is positive it does not say."""


def counts_of(percent, n):
    """Whole counts of n that print as this percentage."""
    return [count for count in range(n + 1) if f"{100 * count / n:.1f}" == f"{percent:.1f}"]


def test_the_published_comparison_is_reproduced_from_counts_that_fit_it():
    """The counts themselves are not in the abstract and the full text could not be had: these are *reconstructed*.

    The four lower ends can stand in one row of 110 recordings with one number of positives alone, 45, and then with
    one table of counts alone. Whether they do stand in one row is not known; the ends of each range need not.
    """
    lowest = {name: (sensitivity[0], specificity[0]) for name, (sensitivity, specificity) in PUBLISHED.items()}
    rows = [
        (positives, [(counts_of(a, positives), counts_of(b, 110 - positives)) for a, b in lowest.values()])
        for positives in range(1, 110)
    ]
    fitting = [(positives, cells) for positives, cells in rows if all(a and b for a, b in cells)]
    assert fitting == [(45, [([35], [16]), ([16], [45])])]
    highest = [
        p for p in range(1, 110) if all(counts_of(a[1], p) and counts_of(b[1], 110 - p) for a, b in PUBLISHED.values())
    ]
    assert not highest, "the upper ends are of several rows"

    positive = column((45, True), (65, False))
    expert = column((35, True), (10, False), (49, True), (16, False))
    model = column((16, True), (29, False), (20, True), (45, False))
    result = study(positive, ("expert", "human", expert), ("model", "model", model))
    for name, (sensitivity, specificity) in lowest.items():
        row = result.readers[name]
        assert f"{100 * row.sensitivity.value:.1f}" == f"{sensitivity:.1f}"
        assert f"{100 * row.specificity.value:.1f}" == f"{specificity:.1f}"
    assert result.readers["expert"].lr_positive.value == pytest.approx((35 / 45) / (49 / 65))
    assert result.readers["model"].lr_negative.value == pytest.approx((29 / 45) / (45 / 65))
