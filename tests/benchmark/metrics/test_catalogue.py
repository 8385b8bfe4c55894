"""Values of the metrics: by hand, and those of scikit-learn and SciPy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from siming_tasks.benchmark.metrics import evaluate, ordinal_labels
from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, headline, select, statistic
from siming_tasks.benchmark.metrics.correlation import totals
from siming_tasks.benchmark.metrics.evaluate import ALL, ANSWERED, RANKED, READINGS, flagged
from siming_tasks.benchmark.metrics.jackknife import jackknife

nan = np.nan


def value(matrix, key, **how):
    return jackknife(statistic(key, **how), matrix).value


@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_scikit_learn_and_scipy(exams, seed):
    made = exams(np.random.default_rng(seed), missing=0.1)
    both = made.counted & made.answered
    for mapping in ("absolute", "proportional", "proportional-3/4"):
        x, y = (ordinal_labels(side, made.max_score, mapping)[both] for side in (made.reference, made.predicted))
        expected = sk.cohen_kappa_score(x, y, labels=range(4), weights="quadratic")
        assert value(made, "qwk", mapping=mapping) == pytest.approx(expected, abs=1e-12)
    verdicts = replace(made, answer="error", predicted=np.where(made.answered, made.predicted_wrong, nan))
    verdicts = verdicts if seed else made
    for positive in ("error", "correct"):
        x, y = (side[both] == (positive == "error") for side in (made.reference_wrong, verdicts.predicted_wrong))
        (p,), (r,), (f,), _ = sk.precision_recall_fscore_support(x, y, labels=[True])
        expected = {"mcc": sk.matthews_corrcoef(x, y), "precision": p, "recall": r, "f1": f}
        assert {key: value(verdicts, key, positive=positive) for key in expected} == pytest.approx(expected, abs=1e-12)
    whole = exams(np.random.default_rng(seed))
    x, y = (side.sum(axis=1) / whole.max_score.sum() for side in (whole.reference, whole.predicted))
    assert value(whole, "plcc") == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-9)
    assert value(whole, "srcc") == pytest.approx(stats.spearmanr(x.round(9), y.round(9))[0], abs=1e-12)


def test_totals_by_hand(matrix):
    reference = [[2, 5, 3], [nan, 1, 3], [2, 5, 3], [nan, nan, nan]]
    said = [[1, 5, 0], [2, 2, 2], [2, nan, 3], [1, 1, 1]]
    x, y = totals(matrix(reference, said, top=[2, 5, 3]))
    assert x[:2].tolist() == [1.0, 0.5] and y[:2].tolist() == [0.6, 0.5]
    assert np.isnan([x[2:], y[2:]]).all()  # two of three answered are under 80 %; no label
    five = matrix([[1] * 5], [[1, 1, 0, 0, nan]], top=1)
    assert totals(five) == (1.0, 0.5)  # four of five are 80 %, and its share is of the steps that it answered


def test_equal_shares_are_ties(matrix):
    x, _ = totals(matrix([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.ones((3, 3)), top=0.1 + 0.2 + 0.7))
    assert set(x.tolist()) == {0.333333333}


UNDEFINED = [
    ("score", "qwk", [[3, 3]] * 6, [[3, 3]] * 6, "one-label"),
    ("score", "plcc", [[3, 3]] * 6, [[3, 1]] * 3 + [[2, 1]] * 3, "equal-reference-totals"),
    ("score", "srcc", [[3, 1]] * 3 + [[3, 2]] * 3, [[3, 3]] * 6, "equal-judge-totals"),
    ("score", "plcc", [[3, 1], [1, 1]], [[3, 3], [1, 2]], "few-totals"),
    ("score", "qwk", [[nan, nan]] * 6, [[3, 3]] * 6, "nothing-answered"),
    ("error", "mcc", [[3, 1]] * 6, [[0, 0]] * 6, "one-class"),
    ("error", "precision", [[3, 1]] * 6, [[0, 0]] * 6, "none-called-wrong"),
    ("error", "recall", [[3, 3]] * 6, [[0, 1]] * 6, "none-wrong"),
    ("error", "f1", [[3, 3]] * 6, [[0, 0]] * 6, "none-wrong-or-called-so"),
    ("error", "coverage", [[3]], [[0]], ""),
]


@pytest.mark.parametrize(("answer", "key", "reference", "said", "why"), UNDEFINED)
def test_undefined_has_a_reason_and_is_not_zero(matrix, answer, key, reference, said, why):
    """Warnings of NumPy are errors in this suite: none is given here."""
    row = evaluate(matrix(reference, said, answer=answer)).one(ANSWERED, metric=key)
    if why:
        assert row.value is None and row.low is None and row.why == why and str(row) == "-"
    else:
        assert row.value == 1


def test_nothing_at_all_is_undefined_without_a_warning(matrix):
    for answer in ("score", "error"):
        rows = evaluate(matrix(np.empty((0, 2)), np.empty((0, 2)), answer=answer))
        assert {row.value for row in rows} == {None} and all(row.why for row in rows)


def test_a_constant_against_varied_labels_has_kappa_0(matrix):
    row = evaluate(matrix([[3, 1], [0, 3], [3, 3], [2, 1], [3, 0]], np.full((5, 2), 3.0))).one(ANSWERED, metric="qwk")
    assert row.value == 0 and row.low is None and row.why == "no-variation"


def test_tables_and_rows(exams):
    made = exams(np.random.default_rng(1), videos=30, skills=["cpr"] * 8 + ["aed"] * 4, missing=0.2)
    rows = evaluate(made)
    assert rows.names("table") == [ANSWERED, RANKED, READINGS] and rows.of(ANSWERED).names("row") == [ALL, "cpr", "aed"]
    assert rows.of(ANSWERED, ALL).names("metric") == ["plcc", "srcc", "qwk", "coverage"]
    alone = evaluate(made.skill("aed").imputed()).one(ANSWERED, metric="qwk")
    assert rows.one(RANKED, "aed", "qwk") == replace(alone.at(RANKED, "aed"), flags=("not-comparable",))
    assert rows.one(ANSWERED, ALL, "coverage").value == pytest.approx(made.answered_share)
    assert {(row.stderr, row.low, row.high, row.why) for row in rows.of(ANSWERED, metric="coverage")} == {
        (None, None, None, "")  # a count of this run, no sample
    }
    assert "not-comparable" in rows.one(RANKED, ALL, "qwk").flags  # 80 % answered
    row = replace(rows.one(RANKED, ALL, "qwk"), flags=())
    assert [flagged(row, "qwk", share).flags for share in (0.949, 0.95)] == [("not-comparable",), ()]
    assert flagged(replace(row, value=None), "qwk", 0.5).flags == ()  # nothing that could be compared
    assert "not-comparable" not in rows.one(ANSWERED, ALL, "coverage").flags
    assert rows.of(READINGS).names("row") == ["mapping proportional", "mapping proportional-3/4", "positive error",
                                              "positive correct"]  # fmt: skip
    verdicts = evaluate(exams(np.random.default_rng(1), answer="error"))
    assert verdicts.of(READINGS).names("row") == ["positive correct"] and verdicts.of(RANKED).names("row") == [ALL]


def test_order_of_the_videos_does_not_matter(exams):
    made = exams(np.random.default_rng(2), each=3)
    shuffled = made.videos(np.random.default_rng(3).permutation(60))
    assert evaluate(shuffled) == evaluate(made)


def test_the_catalogue():
    assert {*select("error")} >= {"mcc", "precision", "recall", "f1", "coverage"}
    assert {*select("score", compared=True)} >= {"plcc", "srcc", "qwk"}
    assert {*select("error", symmetric=True)} >= {"mcc", "f1"}
    assert not {*select(symmetric=True)} & {"precision", "recall", "coverage"}
    assert {key: row.low for key, row in CATALOGUE.items() if row.low}.keys() >= {"plcc", "srcc", "qwk", "mcc"}
    assert {row.low for row in CATALOGUE.values()} == {-1, 0}
    assert (headline("score"), headline("error")) == ("qwk", "mcc")
    assert all(row.label and row.title for row in CATALOGUE.values())
    with pytest.raises(KeyError):
        statistic("accuracy")
