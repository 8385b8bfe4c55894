"""Numbers of the answer formats, by hand."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit

from siming_tasks.benchmark.metrics.formats import abstention, accuracy, evidence, iou, merged, named_errors
from siming_tasks.benchmark.metrics.jackknife import jackknife
from siming_tasks.benchmark.tasks.answer_formats.answer_format import FormatInputs
from siming_tasks.benchmark.tasks.answer_formats.named_errors import NamedErrorsFormat

nan = np.nan


def test_abstention(matrix):
    """Ten videos of two steps; the second is "not visible" in four, where three of the labels are full."""
    reference, said = np.full((10, 2), 3.0), np.full((10, 2), 3.0)
    reference[:5, 0], said[:4, 0] = 1, 1  # nine of ten right
    reference[3, 1], said[:4, 1] = 0, nan
    often = abstention(matrix(reference, said), np.arange(20).reshape(10, 2) > 0).one(metric="abstained")
    assert often.value == 19 / 20 and 0 < often.low < 0.95 < often.high < 1  # within what a share can be
    rows = abstention(matrix(reference, said), np.isnan(said))
    assert rows.one(metric="abstained").value == 0.2
    assert rows.one(metric="accuracy").value == 15 / 16
    assert rows.one(metric="accuracy_full").value == 18 / 20
    assert rows.names("table") == ["abstention"] and rows.one(metric="abstained").low is not None
    rows = abstention(matrix([[3]] * 6, [[nan]] * 6), np.ones((6, 1), bool))
    assert rows.one(metric="abstained").value == 1 and rows.one(metric="abstained").low == 1 - 3 / 6
    assert rows.one(metric="accuracy").value is None and rows.one(metric="accuracy").why == "nothing-answered"
    assert rows.one(metric="accuracy_full").value == 1
    made = matrix([[3, 1], [2, 3]], [[0, 1], [0, nan]], answer="error")
    assert jackknife(accuracy(), made).value == 2 / 3


def test_evidence(matrix):
    """Two claims about spans of ten seconds: one half right (5 of 15 s), one elsewhere; and an answer without one."""
    made = matrix([[3, 3], [3, 3]], [[3, 3], [3, nan]])
    spans = np.array([[[10, 20], [30, 40]], [[10, 20], [30, 40]]], float)
    rows = evidence(made, {(0, 0): [(15, 25)], (0, 1): [(0, 5), (3, 6)]}, spans, np.array([50.0, 50]))
    assert rows.one(metric="claimed").value == 2 / 3
    assert rows.one(metric="iou").value == pytest.approx((5 / 15 + 0) / 2)
    # in the middle, 20 to 30 s and 22 to 28 s: neither meets its span
    assert rows.one(metric="iou_middle").value == 0
    six, span = matrix([[3]] * 6, [[3]] * 6), np.array([[[10.0, 20]]] * 6)
    for often, seldom in (((10, 20), (10, 15)), ((30, 40), (15, 25))):
        claims = {(v, 0): [often if v else seldom] for v in range(6)}
        row = evidence(six, claims, span, np.full(6, 50.0)).one(metric="iou")
        assert 0 < row.low < row.value < row.high < 1  # within what an IoU can be
    none = evidence(made, {}, np.full((2, 2, 2), nan), np.array([50.0, 50]))
    assert {row.value for row in none} == {None} and all(row.why for row in none)


@given(st.lists(st.tuples(st.floats(-10, 110), st.floats(-10, 110)), max_size=6))
def test_merged_parts_are_those_seconds(parts):
    parts = [(min(part), max(part)) for part in parts]
    union = merged(parts, 100.0)
    for second in np.linspace(0.05, 99.95, 50):
        assert any(a <= second <= b for a, b in union) == any(a <= second <= b for a, b in parts)
    assert all(end < start for (_, end), (start, _) in pairwise(union))


def test_iou():
    assert iou([(10, 20), (30, 40)], (15, 35)) == pytest.approx(1 / 3)
    assert iou([(0, 1)], (2, 3)) == 0 == iou([], (2, 2)) and iou([(2, 3)], (2, 3)) == 1


def test_named_errors(matrix):
    """Six times the same two videos: of three errors one is named, and two that are none."""
    asked = [[True, True], [True, False]] * 6
    made = matrix([[3, 1]] * 12, [[3, 1]] * 12, asked=asked)
    true, named = {}, {}
    for v in range(0, 12, 2):
        true |= {(v, 0): ["late", "weak"], (v, 1): ["late"], (v + 1, 0): [], (v + 1, 1): ["weak"]}
        named |= {(v, 0): ["late", "late"], (v, 1): ["weak"], (v + 1, 0): ["deep"]}
    rows = named_errors(made, true, named)
    assert {row.metric: row.value for row in rows} == {"precision": 1 / 3, "recall": 1 / 3, "f1": 1 / 3}
    assert all(0 < row.low < row.value < row.high < 1 for row in rows if row.metric != "recall")
    for row in (row for row in rows if row.metric != "recall"):  # on the logit of a share
        assert logit(row.low) + logit(row.high) == pytest.approx(2 * logit(row.value))
    assert (rows.one(metric="recall").clusters, rows.one(metric="f1").clusters) == (6, 12)  # those with an error
    nothing = named_errors(made, {(0, 0): []}, {})
    assert all(row.value is None and row.why == "no-error-named" for row in nothing)


def test_errors_of_steps_that_were_not_answered_are_not_named(matrix):
    """A judge that answers only the steps without an error has named none of the errors."""
    made = matrix([[0, 1]] * 6, [[nan, 1]] * 6)
    steps = [SimpleNamespace(id=name, errors=[SimpleNamespace(id=f"{name}.late")]) for name in made.step_ids]
    labels = [SimpleNamespace(step_id=step.id, errors_by=lambda _, ids=ids: ids)
              for step, ids in zip(steps, ([f"{made.step_ids[0]}.late"], []), strict=True)]  # fmt: skip
    videos = [SimpleNamespace(video_id=name, applicable=labels) for name in made.video_ids]
    records = [{"video_id": name, "named_errors": {made.step_ids[1]: []}} for name in made.video_ids]
    rows = NamedErrorsFormat().compute_results(FormatInputs(records, made, videos, steps, "full", "absolute"))
    assert rows.one(metric="recall").value == 0
