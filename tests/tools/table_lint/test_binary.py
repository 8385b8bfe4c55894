"""Binary identities against whole confusion tables scored by scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn import metrics

from siming_tasks.report.published_tables import document_from, parse
from siming_tasks.tools.table_lint import binary as lint_binary
from siming_tasks.tools.table_lint.binary import f1_range, highest_prevalence, implied_prevalence

counts = st.integers(0, 400)


def scored(tp, fp, fn, tn):
    truth = np.repeat([1, 0, 1, 0], [tp, fp, fn, tn])
    said = np.repeat([1, 1, 0, 0], [tp, fp, fn, tn])
    negative = metrics.recall_score(truth, said, pos_label=0, zero_division=0)
    return {
        "precision": metrics.precision_score(truth, said),
        "recall": metrics.recall_score(truth, said),
        "f1": metrics.f1_score(truth, said),
        "mcc": metrics.matthews_corrcoef(truth, said),
        "accuracy": metrics.accuracy_score(truth, said),
        "specificity": negative,
        "prevalence": truth.mean(),
    }


@settings(max_examples=60, deadline=None)
@given(counts.filter(bool), counts, counts, counts.filter(bool))
def test_identities_equal_scikit_learn(tp, fp, fn, tn):
    s = scored(tp, fp, fn, tn)
    p, r, pi = s["precision"], s["recall"], s["prevalence"]
    assert lint_binary.f1(p, r) == pytest.approx(s["f1"], abs=1e-12)
    for name in ("mcc", "accuracy", "specificity"):
        assert getattr(lint_binary, name)(pi, p, r) == pytest.approx(s[name], abs=1e-9)
    assert pi <= highest_prevalence(p, r)


@settings(max_examples=80, deadline=None)
@example(1, 45, 108, 0, 3, "mcc")
@given(
    counts.filter(bool), counts, counts, counts, st.integers(2, 4), st.sampled_from(["mcc", "accuracy", "specificity"])
)
def test_a_true_table_is_never_called_inconsistent(tp, fp, fn, tn, places, kind):
    """The prevalence of the table that was printed always lies in the implied interval."""
    assume(fp + tn > 0)
    s = scored(tp, fp, fn, tn)
    text = {name: parse(f"{value:.{places}f}") for name, value in s.items()}
    assume(text["precision"].low > 0 and text["recall"].low > 0)
    low, high = implied_prevalence(text["precision"], text["recall"], text[kind], kind)
    assert low - 1e-9 <= s["prevalence"] <= high + 1e-9
    f_low, f_high = f1_range(text["precision"], text["recall"])
    assert text["f1"].within(f_low - 1e-9, f_high + 1e-9)


def test_interval_is_tight_on_a_grid():
    """GPT-5.2's printed row: a search over the rounding box finds the same ends."""
    p, r, m = parse("0.212"), parse("0.909"), parse("0.132")
    pi = np.linspace(0.15, 0.22, 70_001)[:, None]
    corners = [(a, b) for a in (p.low, p.high) for b in (r.low, r.high)]
    grid = np.column_stack([np.sqrt(b / (1 - pi)) * (a - pi) / np.sqrt(a - b * pi) for a, b in corners])
    inside = ((grid.min(1) <= m.high) & (grid.max(1) >= m.low)).nonzero()[0]
    assert implied_prevalence(p, r, m) == pytest.approx((pi[inside[0], 0], pi[inside[-1], 0]), abs=2e-6)


@pytest.mark.parametrize(
    ("p", "r", "third"),
    [
        ("0.500", "0.100", "0.900"),  # MCC is at most sqrt(P R) = 0.22
        ("0.900", "0.900", "-0.500"),
    ],
)
def test_impossible_rows(p, r, third):
    assert implied_prevalence(parse(p), parse(r), parse(third)) is None


def test_zero_precision_fixes_nothing():
    assert implied_prevalence(parse("0.000"), parse("0.000"), parse("0.000")) is None


def eda_findings(rows: str) -> dict[str, list]:
    found: dict[str, list] = {}
    for finding in lint_binary.check_eda(document_from(rows, "t.csv").tables[0]):
        found.setdefault(finding.code, []).append(finding)
    return found


def test_eda_is_an_accuracy() -> None:
    """TP 30, FP 20, FN 10, TN 140: accuracy .850 at a prevalence of .2, where "all correct" has .800."""
    found = eda_findings(
        "name,p,r,f1,mcc,eda,prevalence\na,0.600,0.750,0.667,0.577,0.850,0.200\nb,0.250,0.500,0.333,0.102,0.600,0.200\n"
    )
    assert found.keys() == {"constant-eda"}
    (constant,) = found["constant-eda"]
    assert constant.kind == "baseline" and constant.rows == ("b",) and "1 of 2 printed EDA are lower" in constant.what
    assert "EDA 0.7995 to 0.8005" in constant.what
    moved = eda_findings("name,p,r,mcc,eda,prevalence\na,0.600,0.750,0.577,0.950,0.200\n")
    assert moved["eda-no-such-table"][0].rows == ("a",) and moved["eda-no-such-table"][0].kind == "note"


def test_eda_alone_is_said() -> None:
    """A printed EDA of 69.8 says nothing where the constant is not known."""
    found = eda_findings("model,Error Detection Accuracy (%)\nOURS,69.8\nother,62.7\n")
    assert found.keys() == {"eda-alone"} and found["eda-alone"][0].rows == ("OURS", "other")
    assert not eda_findings("model,mcc\na,0.3\n")
