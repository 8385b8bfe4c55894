"""History and requirements against scikit-learn and counts by hand."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.history import (
    CONTRAST,
    FAILED,
    PASSED,
    SCOPES,
    after_requirements,
    history,
    rubric_steps,
)
from tests.study.analysis.exams import check_jackknife, exams, rubric

OF_STEPS = ("local",) * 4 + ("mixed",) * 2 + ("history",) * 4


def kappa(x, y, columns=slice(None)):
    return cohen_kappa_score(x[:, columns].ravel(), y[:, columns].ravel(), weights="quadratic", labels=[0, 1, 2, 3])


def test_values_are_pooled_kappas_and_the_contrast_is_paired():
    x, y, z = np.random.default_rng(0).integers(0, 4, (3, 30, 10)).astype(float)
    rows = history(exams(x, y), rubric(10, scopes=OF_STEPS), {"a": x, "b": y, "c": z})
    at = {name: [s for s, scope in enumerate(OF_STEPS) if scope == name] for name in SCOPES}
    for name, columns in at.items():
        assert rows.one("history", name, "judge").value == pytest.approx(kappa(x, y, columns))
        pairs = np.concatenate([x, x, y]), np.concatenate([y, z, z])
        assert rows.one("history", name, "physicians").value == pytest.approx(kappa(*pairs, columns))
    found, excess = (rows.one("history", CONTRAST, metric) for metric in ("judge", "excess"))
    check_jackknife(
        found, lambda kept: kappa(x[kept], y[kept], at["local"]) - kappa(x[kept], y[kept], at["history"]), 30
    )
    assert excess.value == pytest.approx(found.value - rows.one("history", CONTRAST, "physicians").value)
    assert found.p is not None
    itself = history(exams(x, y), rubric(10, scopes=OF_STEPS), {"a": x, "b": y}).one(metric="excess")
    assert (itself.value, itself.stderr, itself.p) == (0.0, 0.0, None), "a judge that is a physician has no excess"


def test_kappa_by_requirement_by_hand():
    """Step 1 requires step 0, which has no points in videos 0 to 3."""
    reference = np.array([[0, 0], [0, 1], [0, 2], [0, 3], [3, 3], [2, 3], [3, 3], [1, 2]], float)
    predicted = np.array([[0, 1], [0, 3], [1, 3], [3, 3], [0, 3], [3, 3], [3, 3], [3, 1]], float)
    rows = history(exams(reference, predicted), rubric(2, requires={1: [0]}), {"a": reference, "b": predicted})
    for row, part in ((FAILED, slice(0, 4)), (PASSED, slice(4, 8))):
        expected = kappa(reference[part], predicted[part], [1])
        for who in ("judge", "physicians"):
            found = rows.one("requirements", row, who)
            assert (found.value, found.n) == (pytest.approx(expected), 4)
    assert rows.one("history", CONTRAST, "judge").why == "No history step of the rubric was judged."


def test_an_unknown_requirement_has_neither_failed_nor_passed():
    matrix = exams([[0, 0, 1], [3, 3, 3], [np.nan, 3, 0], [np.nan, 0, 0]], np.ones((4, 3)))
    failed, passed = after_requirements(matrix, rubric_steps(matrix, rubric(3, requires={2: [0, 1]})))
    assert failed[:, 2].tolist() == [True, False, False, True]
    assert passed[:, 2].tolist() == [False, True, False, False]
    assert not failed[:, :2].any() and not passed[:, :2].any()
    with pytest.raises(DataError, match="Step 's02' is not in rubric 'test'"):
        history(matrix, rubric(2))
