"""Existence of confusion tables: against loops over every table, scikit-learn, and rows that were changed."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn import metrics

from siming_tasks.report.printed_number import parse
from siming_tasks.report.published_tables import document_from
from siming_tasks.tools.table_lint.feasibility import METRICS, feasible
from siming_tasks.tools.table_lint.lint import lint


def values_of(tp: int, fp: int, fn: int, tn: int, zero_division: float = 0.0) -> dict[str, float]:
    """All metrics of a table by their definitions; what is 0/0 is ``zero_division``, MCC then 0."""

    def share(part: int, whole: int) -> float:
        return part / whole if whole else zero_division

    sides = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return {
        "precision": share(tp, tp + fp),
        "recall": share(tp, tp + fn),
        "f1": share(2 * tp, 2 * tp + fp + fn),
        "mcc": (tp * tn - fp * fn) / math.sqrt(sides) if sides else 0.0,
        "accuracy": (tp + tn) / (tp + fp + fn + tn),
        "specificity": share(tn, tn + fp),
        "prevalence": (tp + fn) / (tp + fp + fn + tn),
    }


def printed(values: dict[str, float], digits: int, percent: bool = False) -> dict[str, tuple[float, float]]:
    """The intervals that a row of such digits stands for; what is NaN is not printed."""
    texts = {
        name: f"{100 * value:.{digits - 2}f} %" if percent else f"{value:.{digits}f}"
        for name, value in values.items()
        if not math.isnan(value)
    }
    numbers = {name: parse(text) for name, text in texts.items()}
    return {name: (number.low, number.high) for name, number in numbers.items() if number}


def tables(n: int) -> list[tuple[int, int, int, int]]:
    return [(a, b, c, n - a - b - c) for a, b, c in product(range(n + 1), repeat=3) if a + b + c <= n]


def test_the_definitions_here_are_scikit_learns() -> None:
    for tp, fp, fn, tn in tables(4):
        truth, said = np.repeat([1, 0, 1, 0], [tp, fp, fn, tn]), np.repeat([1, 1, 0, 0], [tp, fp, fn, tn])
        for zero in (0.0, 1.0):
            own = values_of(tp, fp, fn, tn, zero)
            assert own["precision"] == metrics.precision_score(truth, said, zero_division=zero)
            assert own["recall"] == metrics.recall_score(truth, said, zero_division=zero)
            assert own["f1"] == pytest.approx(metrics.f1_score(truth, said, zero_division=zero))
        if 0 < tp + fn < 4 and 0 < tp + fp < 4:
            assert own["mcc"] == pytest.approx(metrics.matthews_corrcoef(truth, said))


@settings(max_examples=150, deadline=None)
@given(
    counts=st.tuples(*[st.sampled_from([0, 0, 1, 2, 7, 60, 400, 5306])] * 4).filter(any),
    zero_division=st.sampled_from([0.0, 1.0, math.nan]),
    digits=st.integers(2, 4),
    percent=st.booleans(),
    names=st.sets(st.sampled_from(METRICS), min_size=1),
)
@example((0, 66, 1228, 5306), 0.0, 3, False, set(METRICS))
@example((0, 0, 1228, 5306), 0.0, 4, False, set(METRICS))
@example((1, 0, 0, 0), 0.0, 2, True, set(METRICS))
def test_no_real_table_is_called_impossible(
    counts: tuple[int, ...], zero_division: float, digits: int, percent: bool, names: set[str]
) -> None:
    """Tables with empty rows and columns too, under every convention of 0/0, with and without the number of items."""
    values = {name: value for name, value in values_of(*counts, zero_division).items() if name in names}
    spans = printed(values, digits, percent)
    assert feasible(spans) and feasible(spans, sum(counts))


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_whole_counts_are_decided_as_a_loop_over_all_tables_decides(n: int) -> None:
    """Both ways: what the loop finds is found, and what it does not find is refused."""
    rng = np.random.default_rng(n)
    every = [values_of(*table, zero) for table in tables(n) for zero in (0.0, 1.0)]
    for table in tables(n):  # MCC of a table of one class: 0, or all right and all wrong
        values = values_of(*table)
        if table[1] + table[2] == 0 or table[0] + table[3] == 0:
            end = 1.0 if table[1] + table[2] == 0 else -1.0
            every += [{**values_of(*table, zero), "mcc": end} for zero in (0.0, 1.0)]
        assert feasible(printed(values, 3), n)
    refused = 0
    for _ in range(300):
        names = rng.choice(METRICS, size=rng.integers(1, 5), replace=False)
        base = every[rng.integers(len(every))]
        spans = {}
        for name in names:
            value = base[name] if rng.random() < 0.6 else rng.random()
            spans[name] = (value - 0.02, value + 0.02)
        found = any(all(low <= row[name] <= high for name, (low, high) in spans.items()) for row in every)
        if found:
            assert feasible(spans, n)
        elif not feasible(spans, n):
            refused += 1
        else:  # each 0/0 of one table may be printed by its own convention here; the loop has one for all of them
            assert n <= 9 and {"precision", "recall", "f1", "specificity"} & set(names)
    assert refused > 50


def test_no_table_of_any_size_agrees_with_what_is_refused_for_all_sizes() -> None:
    rng = np.random.default_rng(0)
    every = {name: [] for name in METRICS}
    for n in range(1, 26):
        for table in tables(n):
            for name, value in values_of(*table).items():
                every[name].append(value)
    columns = {name: np.array(values) for name, values in every.items()}
    refused = 0
    for _ in range(200):
        names = rng.choice(METRICS, size=3, replace=False)
        spans = {name: (value - 0.005, value + 0.005) for name, value in zip(names, rng.random(3), strict=True)}
        if not feasible(spans):
            refused += 1
            inside = [(low <= columns[name]) & (columns[name] <= high) for name, (low, high) in spans.items()]
            assert not np.logical_and.reduce(inside).any()
    assert refused > 60


def test_most_rows_with_one_changed_number_are_found() -> None:
    """One of P, R, F1, MCC and accuracy is moved by 0.03 to 0.2: all but a few such rows have no table any more.

    Only all but a few: a moved number may have another table that rounds to the whole row.
    """
    rng, found, of = np.random.default_rng(5), 0, 120
    for _ in range(of):
        counts = rng.multinomial(6600, rng.dirichlet([2, 2, 2, 6])).tolist()
        values = values_of(*counts)
        row = {name: values[name] for name in ("precision", "recall", "f1", "mcc", "accuracy")}
        name = rng.choice(list(row))
        row[name] += rng.choice([-1, 1]) * rng.uniform(0.03, 0.2)
        found += not feasible(printed(row, 3))
    assert found / of > 0.97


@pytest.mark.parametrize(
    ("row", "n", "possible"),
    [
        ({"accuracy": "0.33"}, 40, True),  # 13 / 40 = .325
        ({"accuracy": "0.34"}, 40, False),  # 13 / 40 = .325, 14 / 40 = .350
        ({"accuracy": "0.34"}, 6600, True),
        ({"precision": "0.500", "recall": "0.100", "mcc": "0.900"}, None, False),  # MCC is at most sqrt(P R) = .22
        ({"precision": "0.000", "recall": "0.000", "f1": "0.000", "mcc": "-0.048"}, None, True),
        ({"precision": "0.000", "recall": "0.000", "f1": "0.000", "mcc": "0.048"}, None, False),
        ({"precision": "0.000", "recall": "0.000", "f1": "0.000", "mcc": "0.000"}, None, True),
        ({"precision": "1.000", "recall": "0.000", "f1": "0.000", "mcc": "0.000"}, None, True),  # zero_division=1
        ({"f1": "0.90", "accuracy": "0.50", "prevalence": "0.10"}, None, False),  # F1 >= .9 errs on < .022 of items
        ({"accuracy": "0.900", "specificity": "0.500", "prevalence": "0.100"}, None, False),  # at most .1 + .45
    ],
)
def test_rows_decided_by_hand(row: dict[str, str], n: int | None, possible: bool) -> None:
    numbers = {name: parse(text) for name, text in row.items()}
    assert feasible({name: (number.low, number.high) for name, number in numbers.items() if number}, n) is possible


def codes(rows: str, **about: object) -> list[tuple[str, str]]:
    document = document_from({"tables": [{"name": "t", "rows": rows, **about}]}, "made-up")
    return [(finding.code, finding.kind) for finding in lint(document).findings]


def test_rows_that_are_right_are_not_accused() -> None:
    """TP 0, FP 66, FN 1228, TN 5306; a judge that calls nothing wrong; and percent points under their heading."""
    assert codes("name,p,r,f1,mcc\na,0,0,0,-0.048\n") == []
    assert codes("name,p,r,f1,mcc\na,0,0,0,0\n") == [("constant-negative", "note")]
    head, rows = "name,P (%),R (%),F1 (%),MCC", "a,60.0,75.0,66.7,0.577\nb,25.0,50.0,33.3,0.102\n"
    assert codes(f"{head}\n{rows}") == []
    assert codes(f"name,p,r,f1,mcc\n{rows}") == [("read-as-percent", "note")] * 3


def test_impossible_numbers_are_found() -> None:
    assert codes("name,p\na,125 %\n") == [("out-of-range", "inconsistent")]
    assert codes("name,count,percent,of\na,,125 %,200\nb,7,35 %,6\n") == [("share-impossible", "inconsistent")] * 2
    assert codes("name,percent,of\na,15.6 %,200\n") == [("share-impossible", "inconsistent")]  # 31 are 15.5 %
    assert codes("name,percent,of\na,15.5 %,200\n") == []
    assert codes("name,accuracy,n\na,0.34,40\n") == [("no-such-count", "inconsistent")]
    assert codes("name,p,f1,mcc\na,0.500,0.100,0.900\n") == [("no-such-table", "inconsistent")]


def test_items_without_an_answer_explain_a_count() -> None:
    """Where the table states the number asked, a row may have been scored on fewer: 13 of 38 are .342."""
    (finding,) = lint(
        document_from({"tables": [{"name": "t", "n_items": 40, "rows": "name,accuracy\na,0.34\n"}]}, "made-up")
    ).findings
    assert (finding.code, finding.kind) == ("no-such-count", "note")
    assert finding.what == (
        "No confusion table of 40 items has accuracy 0.34. One of 38 items has (2 without an answer)."
    )


@pytest.mark.parametrize(
    ("kappa", "kind"), [("0.99", "inconsistent"), ("0.90", "note"), ("0.70", None), ("0.20", None)]
)
def test_kappa_beside_disagreement(kappa: str, kind: str | None) -> None:
    """At 29.5 % disagreement: 1 - d = .705; with quadratic weights on four labels 1 - .295 / (4.5 + .295²) = .9357."""
    found = codes(f"name,kappa,disagreement\na,{kappa},30 %\n")
    assert found == ([("kappa-too-high", kind)] if kind else [])


def test_no_ratings_on_four_labels_exceed_the_bound_on_kappa() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        first = rng.choice([0, 3] if rng.random() < 0.5 else [0, 1, 2, 3], size=60)
        second = np.where(rng.random(60) < rng.uniform(0, 0.6), np.clip(first + rng.choice([-1, 1], 60), 0, 3), first)
        d = (first != second).mean()
        for weights, most in ((None, 1 - d), ("quadratic", 1 - d / (4.5 + d * d)), ("linear", 1 - d / (4.5 + d * d))):
            kappa = metrics.cohen_kappa_score(first, second, weights=weights, labels=[0, 1, 2, 3])
            assert math.isnan(kappa) or kappa <= most + 1e-12
