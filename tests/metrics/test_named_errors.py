"""Agreement of named errors, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from siming_tasks.metrics.named_errors import NO_LABELS, named_errors
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support


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
    expected = {"listed": 4 / 6, "reasoned": 2 / 6, "precision": 3 / 5, "recall": 3 / 4, "f1": 6 / 9, "exact": 1 / 4}
    assert {name: getattr(results, name).value for name in expected} == pytest.approx(expected)
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
    each = precision_recall_fscore_support(truth.reshape(-1, 4), said.reshape(-1, 4), average=None)
    for place, kind in enumerate("abcd"):
        row = results.kinds[kind]
        assert [row.precision.value, row.recall.value, row.f1.value] == pytest.approx(
            [float(x[place]) for x in each[:3]]
        )
        counts = truth[..., place].sum(), said[..., place].sum(), (truth & said)[..., place].sum()
        assert (row.stated, row.named, row.both) == counts
    assert results.macro_f1.value == pytest.approx(float(each[2].mean()))
    words = [["".join(kinds[side[v, s]]) for v in range(12) for s in range(5)] for side in (truth, said)]
    assert results.kappa.value == pytest.approx(cohen_kappa_score(*words))
    given = [pair for pair in zip(*words, strict=True) if all(pair)]
    assert 0 < len(given) < 60
    assert results.reason_kappa.value == pytest.approx(cohen_kappa_score(*zip(*given, strict=True)))
    assert results.reason_kappa.n_items == len(given)


def test_kinds_are_errors_without_their_step_by_hand() -> None:
    """Slips are stated at both steps and found at one; a late start is named once and stated never."""
    stated = cells(v0s0="", v1s0="") | {(0, 1): frozenset(["b.slip"]), (1, 1): frozenset(["b.slip"])}
    stated |= {(0, 0): frozenset(["a.slip"]), (1, 0): frozenset()}
    named = {(0, 0): frozenset(["a.slip"]), (1, 0): frozenset(["a.late"]), (0, 1): frozenset(["b.slip"])}
    results = named_errors(named, stated, YES, YES, resamples=100)
    assert list(results.kinds) == ["slip", "late"]
    slip, late = results.kinds.values()
    assert (slip.stated, slip.named, slip.both) == (3, 2, 2) and slip.f1.value == pytest.approx(4 / 5)
    assert (late.stated, late.named, late.both) == (0, 1, 0) and late.f1.value == 0 and late.recall.value is None
    assert results.macro_f1.value == pytest.approx((4 / 5 + 0) / 2)
    # slip slip, none late, slip slip, slip none: 2 of 4 alike; by chance (3 x 2 + 1 x 1 + 0 x 1) / 16
    assert results.kappa.value == pytest.approx((2 / 4 - 7 / 16) / (1 - 7 / 16))


def test_a_kappa_of_one_category_is_undefined() -> None:
    """Both always say why in the same word: chance explains all of it."""
    results = named_errors(cells(v0s0="a", v1s0="a"), cells(v0s0="a", v1s0="a"), YES, YES)
    assert results.reason_kappa.undefined and results.reason_kappa.low is None and results.f1.value == 1


def test_judges_without_a_video_by_hand() -> None:
    """Of three videos two make a at step 0 and one makes b at step 1; each video is judged by the other two."""
    stated = cells(v0s0="a", v0s1="", v1s0="a", v1s1="b", v2s0="", v2s1="")
    yes = np.ones((3, 2), dtype=np.bool_)
    results = named_errors(stated, stated, yes, yes, errors=["ax", "b"], resamples=100)
    none, every, usual = (results.baselines[name] for name in ("none", "every", "usual"))
    assert (none["f1"].value, none["recall"].value, none["exact"].value) == (0, 0, 3 / 6)
    assert every["recall"].value == 1 and every["precision"].value == 3 / 9  # two errors of step 0, one of step 1
    # For video 0 the others make a in 1 of 2 and b in 1 of 2: naming both has F1 2 x 2 / (4 + 2), naming a 2 / (2 + 2).
    # For video 1 only a, in 1 of 2; for video 2 a in 2 of 2 (2 x 2 / (2 + 3) = .8), with b 2 x 3 / (4 + 3) = .857.
    # So a, b are named of v0, a of v1, a and b of v2: right are a of v0 and a of v1; 5 named, 3 stated.
    assert (usual["precision"].value, usual["recall"].value) == (2 / 5, 2 / 3)
    assert usual["f1"].value == pytest.approx(2 * 2 / (5 + 3))
    assert results.f1.value == 1 and not named_errors(stated, stated, yes, yes).baselines


def test_the_usual_error_is_learnt_from_other_clusters() -> None:
    """Two takes of one performance: what the one shows is not known to the judge of the other."""
    stated = cells(v0s0="a", v1s0="a", v2s0="")
    yes = np.ones((3, 1), dtype=np.bool_)
    alone = named_errors(stated, stated, yes, yes, errors=["a"], resamples=50)
    takes = named_errors(stated, stated, yes, yes, errors=["a"], clusters=np.array([0, 0, 1]), resamples=50)
    assert alone.baselines["usual"]["recall"].value == 1 and takes.baselines["usual"]["recall"].value == 0
