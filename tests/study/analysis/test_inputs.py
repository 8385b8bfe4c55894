"""Ablations, sound and minimal pairs: by hand, against evaluate and a jackknife in loops, and with planted judges."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from siming_tasks.benchmark.metrics import evaluate
from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.inputs import NO_AGREEMENT, changed_input, minimal_pairs
from tests.study.analysis.exams import check_jackknife, drawn, exams, rubric

NAN = np.nan


def judged(matrix, share, seed):
    """The matrix with a share of its answers right and the others another video's."""
    rng = np.random.default_rng(seed)
    return matrix.predicting(np.where(rng.random(matrix.reference.shape) < share, matrix.reference,
                                      rng.permutation(matrix.reference)))  # fmt: skip


def test_both_sides_are_of_the_steps_answered_both_times():
    base = exams(*np.random.default_rng(0).integers(0, 4, (2, 40, 5)))
    plain, altered = judged(base, 0.7, 1), judged(base, 0.3, 2)
    gaps = np.random.default_rng(3).random(base.reference.shape) < 0.02
    altered = altered.predicting(np.where(gaps, NAN, altered.predicted))
    scopes = ["local"] * 3 + ["history"] * 2
    rows = changed_input("ablations", "no video", plain, altered, rubric(5, scopes=scopes))
    kept = [np.where(gaps, NAN, side.predicted) for side in (plain, altered)]
    for name, said in zip(("plain", "changed"), kept, strict=True):
        for metric in ("plcc", "srcc", "qwk"):
            expected = evaluate(base.predicting(said)).one("answered", metric=metric).value
            assert rows.one(row=f"no video: {name}", metric=metric).value == pytest.approx(expected)

    def kappa(side, videos, steps=slice(None)):
        known = ~gaps[videos][:, steps]
        x, y = base.reference[videos][:, steps][known], kept[side][videos][:, steps][known]
        return cohen_kappa_score(x, y, weights="quadratic", labels=range(4))

    change = rows.one(row="no video: change", metric="qwk")
    check_jackknife(change, lambda videos: kappa(1, videos) - kappa(0, videos), 40)
    assert change.p < 0.001
    survives = rows.one(row="no video: survives", metric="qwk")
    check_jackknife(survives, lambda videos: kappa(1, videos) / kappa(0, videos), 40)
    of_history = rows.one(row="no video, history steps: change", metric="qwk").value
    assert of_history == pytest.approx(kappa(1, range(40), [3, 4]) - kappa(0, range(40), [3, 4]))


def test_nothing_survives_where_nothing_was_shown():
    points = np.random.default_rng(4).integers(0, 4, (3, 20, 5))
    plain, other = exams(points[0], points[1]), exams(points[0], points[2])
    rows = changed_input("ablations", "other exam", plain, other, rubric(5))
    row = rows.one(row="other exam: survives", metric="qwk")
    assert (row.value, row.why) == (None, NO_AGREEMENT)
    with pytest.raises(DataError, match="share no videos"):
        changed_input("ablations", "x", plain.videos(range(5)), plain.videos(range(5, 10)), rubric(5))


def test_sound_stands_apart_for_the_steps_that_need_it():
    """The judge gains on the heard steps alone."""
    base = drawn(np.random.default_rng(14), 60)
    plain = judged(base, 0.4, 15)
    heard = plain.predicting(np.where(np.arange(8) < 3, base.reference, plain.predicted))
    rows = changed_input("sound", "audio", plain, heard, rubric(8, heard=(0, 1, 2)))
    whole, need, others = (rows.one(row=f"audio{of}: change", metric="qwk") for of in ("", ", need sound", ", others"))
    assert need.low > 0.2 and (others.value, others.p) == (0.0, None) and 0 < whole.value < need.value
    assert set(rows.names("table")) == {"sound"} and not any("survives" in row for row in rows.names("row"))
    assert not changed_input("sound", "audio", plain, heard, rubric(8)).of(row="audio, need sound: change")


TRUTH = np.array([[2, 3, 3], [2, 3, 0], [2, 3, 3], [2, 3, 0], [2, 3, 0], [2, 3, 3], [2, 3, 3], [2, 0, 3]], float)
PAIRS = [
    {"pair_id": str(i), "kind": kind, "video_a": f"v{2 * i:05d}", "video_b": f"v{2 * i + 1:05d}", "step_id": step,
     "direction": direction, "unchanged_steps": sorted({"s00", "s01", "s02"} - {step})}
    for i, (kind, step, direction) in enumerate(
        [("history", "s02", -1), ("local", "s02", -1), ("history", "s02", 1), ("local", "s01", -1)]
    )
]  # fmt: skip


def told(*changes):
    """The truth with some points changed: (video, step, points)."""
    said = TRUTH.copy()
    for video, step, points in changes:
        said[video, step] = points
    return said


@pytest.mark.parametrize(
    ("said", "answer", "expected"),
    [
        (TRUTH, "score", [1, 1, 0, 0, 0.5]),
        ((TRUTH < 2).astype(float), "error", [1, 1, 0, 0, 0.5]),  # verdicts turn the direction round
        # pair 0 is right and strays on one of two other steps, pair 1 does not move, pair 2 moves the wrong way
        (told((1, 0, 1), (3, 2, 3), (4, 2, 3), (5, 2, 1)), "score", [0.25, 0.5, 0.25, 0.125, 0.5]),
        # an unanswered step leaves its pair out; elsewhere it is only not counted
        (told((1, 2, NAN), (3, 0, NAN)), "score", [1, 1, 0, 0, 2 / 3]),
        (np.full_like(TRUTH, NAN), "score", [None] * 5),
    ],
)
def test_four_pairs_of_exams_by_hand(said, answer, expected):
    rows = minimal_pairs(exams(TRUTH, said, answer=answer), PAIRS)
    names = ("right", "moved", "wrong_way", "elsewhere", "local")
    assert [rows.one(metric=name).value for name in names] == pytest.approx(expected)


def test_the_interval_is_over_the_clusters_of_the_pairs():
    rng = np.random.default_rng(16)
    truth = np.tile(TRUTH[:2], (30, 1))
    hit = rng.random(30) < 0.6
    said = truth.copy()
    said[1::2][~hit] = said[::2][~hit]
    pairs = [{**PAIRS[0], "video_a": f"v{2 * i:05d}", "video_b": f"v{2 * i + 1:05d}"} for i in range(30)]
    students = [f"s{i // 4:02d}" for i in range(60)]
    matrix = exams(truth, said, clusters=tuple(students), unit="performance")
    check_jackknife(minimal_pairs(matrix, pairs).one(metric="moved"), lambda kept: hit[kept].mean(), students[::2], 0)
