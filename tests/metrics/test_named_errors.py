"""Agreement of named errors, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from siming_tasks.metrics.named_errors import NO_LABELS, named_errors


def cells(**values: str) -> dict[tuple[int, int], frozenset[str]]:
    """``v0s1="ab"``: the errors a and b of video 0, step 1."""
    return {(int(name[1]), int(name[3])): frozenset(errors) for name, errors in values.items()}


YES = np.ones((2, 3), dtype=np.bool_)


def test_micro_averages_by_hand() -> None:
    """Three of the five named errors are among the four stated; of v1s1 the judge lists nothing, which is a miss."""
    stated = cells(v0s0="ab", v0s1="", v1s0="a", v1s1="c")
    named = cells(v0s0="ab", v0s1="d", v1s0="ab", v1s2="a")
    reasoned = np.array([[True, True, False], [False, False, False]])
    results = named_errors(named, stated, reasoned, YES, resamples=200)
    values = {name: estimate.value for name, estimate in vars(results).items()}
    assert values == pytest.approx({
        "listed": 4 / 6, "reasoned": 2 / 6, "precision": 3 / 5, "recall": 3 / 4, "f1": 2 * 3 / (5 + 4), "exact": 1 / 4
    })  # fmt: skip
    assert results.precision.n_videos == 2 and results.exact.n_items == 4


def test_an_unanswered_step_does_not_count() -> None:
    answered = YES.copy()
    answered[0, 0] = False
    results = named_errors(cells(v0s0="b", v1s0="a"), cells(v0s0="a", v1s0="a"), YES, answered)
    assert (results.f1.value, results.listed.value, results.reasoned.value) == (1.0, 1 / 5, 1.0)


def test_without_labels_the_agreement_is_undefined_with_a_reason() -> None:
    results = named_errors(cells(v0s0="a"), {}, YES, YES)
    for estimate in (results.precision, results.recall, results.f1, results.exact):
        assert estimate.value is None and estimate.reason == NO_LABELS
    assert results.listed.value == 1 / 6


def test_labels_without_any_error_leave_the_recall_undefined() -> None:
    results = named_errors(cells(v0s0=""), cells(v0s0="", v1s0=""), YES, YES)
    assert results.exact.value == 0.5
    assert results.recall.value is None and "state no error" in (results.recall.reason or "")
    assert results.f1.value is None and "names no error" in (results.f1.reason or "")


def test_scikit_learn_gives_the_same_averages() -> None:
    rng = np.random.default_rng(0)
    truth, said = rng.random((2, 12, 5, 4)) < 0.4
    kinds = np.array(list("abcd"))
    stated, named = (
        {(v, s): frozenset(kinds[side[v, s]]) for v in range(12) for s in range(5)} for side in (truth, said)
    )
    yes = np.ones((12, 5), dtype=np.bool_)
    results = named_errors(named, stated, yes, yes, resamples=100)
    expected = precision_recall_fscore_support(truth.reshape(-1, 4), said.reshape(-1, 4), average="micro")[:3]
    assert [results.precision.value, results.recall.value, results.f1.value] == pytest.approx(list(expected))
