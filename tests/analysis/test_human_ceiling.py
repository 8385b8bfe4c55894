from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics as sk

from siming_tasks.analysis.human_ceiling import human_ratio
from siming_tasks.analysis.rater_agreement import inter_rater_table, rater_pair_matrix
from siming_tasks.common.errors import DataError
from siming_tasks.metrics import evaluate, ordinal_labels
from siming_tasks.report.table import to_markdown
from siming_tasks.report.tables.raters import human_ratio_section, rater_section


@pytest.fixture
def raters(synthetic):
    """Synthetic raters A and B who each follow the truth in most steps, and a consensus that sides with one of them."""
    rng = np.random.default_rng(0)
    truth = synthetic(rng, videos=70)

    def rater(share):
        return np.where(rng.random(truth.reference.shape) < share, truth.reference, truth.predicted)

    a, b = rater(0.9), rater(0.9)
    consensus = np.where(rng.random(a.shape) < 0.5, a, b)
    return tuple(replace(truth, reference=points) for points in (a, b, consensus))


def kappa(a, b, max_score):
    labels = (ordinal_labels(side, max_score).ravel() for side in (a, b))
    return sk.cohen_kappa_score(*labels, weights="quadratic", labels=range(4))


def test_agreement_and_differences_equal_direct_counts(raters):
    a, b, _ = raters
    found = inter_rater_table(*raters, resamples=300)
    assert found.agreement.metrics["qwk"].value == pytest.approx(
        kappa(a.reference, b.reference, a.max_score), abs=1e-12
    )
    differ = a.reference != b.reference
    assert found.differ["steps"].value == pytest.approx(differ.mean(), abs=1e-12)
    assert found.differ["videos"].value == pytest.approx(differ.any(axis=1).mean(), abs=1e-12)
    assert found.differ["steps"].low < differ.mean() < found.differ["steps"].high
    for skill in ("cpr", "aed"):
        columns = np.array(a.skills) == skill
        assert found.per_skill[skill]["steps"].value == pytest.approx(differ[:, columns].mean(), abs=1e-12)
        assert found.agreement.per_skill[skill]["qwk"].n_items == 70 * columns.sum()
    row = found.per_step["s03"]
    assert row.qwk.value == pytest.approx(kappa(a.reference[:, 3], b.reference[:, 3], a.max_score[3]), abs=1e-12)
    assert row.differ.value == pytest.approx(differ[:, 3].mean())
    assert row.imperfect == (a.reference_wrong | b.reference_wrong)[:, 3].sum()
    json.dumps(found.to_json(), allow_nan=False)


def test_inflation_is_positive_when_the_consensus_is_made_of_the_raters(raters):
    a, b, consensus = raters
    found = inter_rater_table(*raters, resamples=300).inflation["rater_a"]["qwk"]
    expected = kappa(consensus.reference, a.reference, a.max_score) - kappa(a.reference, b.reference, a.max_score)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.low > 0.02


def test_steps_that_only_one_rater_scored_do_not_count(raters):
    a, b, _ = raters
    half = replace(b, reference=np.where(np.arange(33) < 10, b.reference, np.nan))
    found = inter_rater_table(a, half, resamples=50)
    assert found.agreement.metrics["qwk"].n_items == 70 * 10
    assert found.agreement.metrics["coverage"].value == 1.0
    assert found.per_step["s20"].qwk.value is None
    assert found.inflation == {}
    assert "nan" not in to_markdown(rater_section(found))


def test_markdown_warns_of_the_inflated_consensus(raters):
    text = to_markdown(rater_section(inter_rater_table(*raters, resamples=100)))
    assert text.startswith("rater_b against rater_a, before adjudication.\n")
    assert "A rater against the consensus is inflated, because the raters made the consensus" in text
    assert text.count("\n| s0") + text.count("\n| s1") + text.count("\n| s2") + text.count("\n| s3") == 33
    assert "No kappa: fewer than" in text and " differ | " in text


def test_verdicts_of_a_rater(raters):
    a, b, _ = raters
    humans = rater_pair_matrix(replace(a, answer="error", predicted=np.full(a.reference.shape, np.nan)), b)
    found = evaluate(humans, resamples=0).metrics["mcc"].value
    assert found == pytest.approx(sk.matthews_corrcoef(a.reference_wrong.ravel(), b.reference_wrong.ravel()), abs=1e-12)


# --- the human ratio -------------------------------------------------------------------------------------------------


def test_ratio_by_definition(raters):
    a, b, consensus = raters
    run = consensus.predicting(np.roll(consensus.reference, 1, axis=0))
    found = human_ratio(run, a, b, resamples=200)["qwk"]
    sides = [kappa(side.reference, run.predicted, run.max_score) for side in (a, b)]
    assert found.value == pytest.approx(np.mean(sides) / kappa(a.reference, b.reference, a.max_score), abs=1e-12)
    assert found.low < found.value < found.high


def test_a_third_physician_has_ratio_one(synthetic):
    """Three exchangeable raters: the third agrees with the others as they do with each other."""
    rng = np.random.default_rng(1)
    truth = synthetic(rng, videos=400)
    a, b, c = (
        np.where(rng.random(truth.reference.shape) < 0.9, truth.reference, rng.permutation(truth.predicted))
        for _ in range(3)
    )
    found = human_ratio(truth.predicting(c), replace(truth, reference=a), replace(truth, reference=b), resamples=300)
    for name in ("plcc", "srcc", "qwk"):
        assert found[name].low < 1 < found[name].high
        assert found[name].value == pytest.approx(1, abs=0.1)


def test_ratio_of_verdicts_and_of_a_constant(raters):
    a, b, consensus = raters
    never = replace(consensus, answer="error", predicted=np.zeros(a.reference.shape))
    found = human_ratio(never, a, b, resamples=50)
    assert set(found) == {"mcc", "f1"}
    assert found["mcc"].value == 0.0


def test_no_ratio_where_the_raters_do_not_agree(panel):
    """Kappa of the raters is -1: a ratio to it would turn signs."""
    a = panel([[3], [0], [3], [0]], [[3], [0], [3], [0]])
    found = human_ratio(a, a, replace(a, reference=3 - a.reference), resamples=20)["qwk"]
    assert (found.value, found.undefined) == (0.0, True)
    assert found.reason == "The raters do not agree beyond chance, so there is no ceiling to compare with."


def test_markdown_of_the_human_ratio(raters):
    a, b, consensus = raters
    text = to_markdown(human_ratio_section({"run": human_ratio(consensus, a, b, resamples=20)}, ("x", "y")))
    assert "mean(metric(run, x), metric(run, y)) / metric(x, y)" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda a, b, c: inter_rater_table(replace(a, answer="error", predicted=0 * a.predicted), b),
            "The inter-rater table needs points, not verdicts.",
        ),
        (
            lambda a, b, c: inter_rater_table(a, b.videos([0])),
            "The two raters' labels are not of the same videos and steps.",
        ),
        (
            lambda a, b, c: inter_rater_table(
                a, replace(b, reference=np.full(b.reference.shape, np.nan)), names=("x", "y")
            ),
            "No step was scored by both x and y; their agreement cannot be computed.",
        ),
        (
            lambda a, b, c: human_ratio(c, a, replace(b, reference=np.full(b.reference.shape, np.nan))),
            "No step was scored by both raters: the human ratio cannot be computed.",
        ),
        (
            lambda a, b, c: human_ratio(c.videos([0, 1]), a, b),
            "The run and the raters' labels are not of the same videos and steps.",
        ),
    ],
)  # fmt: skip
def test_unfit_raters_are_refused_by_name(raters, call, message):
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        call(*raters)
