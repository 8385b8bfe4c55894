"""Agreed and disputed steps, and strict sequential credit, against counts by hand."""

import numpy as np
import pytest

from siming_tasks.study.analysis.disputed import AGREED, CONTRAST, DISPUTED, agreement, disputed_steps
from siming_tasks.study.analysis.sequence import sequential_credit
from tests.study.analysis.exams import check_jackknife, exams

nan = np.nan


def test_shares_where_physicians_agreed_and_where_not():
    """Of 3 physicians, one of whom left a step out; a step that one alone scored is in neither."""
    a = np.array([[3, 3, 1], [2, 0, 3], [3, 1, 1], [0, 2, 3], [3, 3, 3], [1, 1, 2]], float)
    b = np.array([[3, 2, 1], [2, 0, 2], [3, 1, 3], [0, 1, 3], [3, 3, 3], [1, 2, 2]], float)
    c = np.array([[3, 3, nan], [2, 0, 2], [3, nan, nan], [1, 2, 3], [3, 3, nan], [1, 1, 2]], float)
    a[5, 2] = b[5, 2] = nan  # scored by c alone
    reference = np.fmax(a, np.nan_to_num(b))
    judge = np.where(np.arange(18).reshape(6, 3) % 4 == 0, 0.0, reference)
    judge[2, 1] = nan
    agreed, disputed = agreement(exams(reference, judge), {"a": a, "b": b, "c": c})
    assert np.argwhere(disputed).tolist() == [[0, 1], [1, 2], [2, 2], [3, 0], [3, 1], [5, 1]]
    assert agreed.sum() == 11 and not (agreed | disputed)[5, 2]
    rows = disputed_steps(exams(reference, judge), {"a": a, "b": b, "c": c})

    def same(kept, where):
        part = (where & ~np.isnan(judge))[kept]
        return float((judge == reference)[kept][part].mean())

    have = np.array([0, 1, 2, 3, 5])  # videos with a disputed step
    check_jackknife(rows.one(row=AGREED, metric="same"), lambda kept: same(kept, agreed), 6, 0)
    check_jackknife(rows.one(row=DISPUTED, metric="same"), lambda kept: same(have[kept], disputed), 5, 0)
    check_jackknife(rows.one(row=CONTRAST), lambda kept: same(kept, agreed) - same(kept, disputed), 6)
    assert rows.one(row=AGREED, metric="share").value == pytest.approx(11 / 17)
    assert rows.one(row=DISPUTED, metric="share").value == pytest.approx(6 / 17)


def test_of_verdicts_the_verdicts_are_compared_and_one_physician_has_no_table():
    reference = np.array([[3, 1.0], [2, 3]])
    points = {"a": np.array([[3, 1.0], [2, 3]]), "b": np.array([[3, 2.0], [1, 2]])}
    agreed, disputed = agreement(exams(reference, reference < 3, answer="error"), points)
    assert agreed.tolist() == [[True, True], [True, False]] and disputed.tolist() == [[False, False], [False, True]]
    assert not disputed_steps(exams(reference, reference), {"a": reference})


@pytest.mark.parametrize("answer", ["score", "error"])
def test_credit_ends_at_the_first_mistake(answer):
    """Of four steps: all right 1, first wrong 0, third wrong 1/2; a step without a reference is passed over."""
    reference = np.array([[3, 3, 1, 3], [1, 3, 3, 3], [3, 3, 3, 3], [3, nan, 1, 3], [3, 3, 3, 0], [3, 3, 3, 3]], float)
    wrong = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]], bool)
    said = np.where(wrong, (reference < 3) * 3.0, reference)
    said = np.where(np.isnan(said), 3.0, said) if answer == "score" else np.where(wrong, reference >= 3, reference < 3)
    said = said.astype(float)
    said[4, 0] = nan  # counts as full points, or correct, which is right
    rows = sequential_credit(exams(reference, said, answer=answer))
    judge, constant = np.array([1, 0, 1 / 2, 2 / 3, 1, 1 / 4]), np.array([1 / 2, 0, 1, 1 / 3, 3 / 4, 1])
    check_jackknife(rows.one(row="judge"), lambda kept: judge[kept].mean(), 6, 0)
    check_jackknife(rows.one(row="always-correct"), lambda kept: constant[kept].mean(), 6, 0)
    lead = rows.one(row="judge - always-correct")
    check_jackknife(lead, lambda kept: (judge - constant)[kept].mean(), 6)
    assert lead.p is not None
