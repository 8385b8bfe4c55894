"""Ablations, sound and minimal pairs: by hand, against evaluate and a jackknife in loops, and with planted judges."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from siming_tasks.analysis.inputs import NO_AGREEMENT, changed_input, changed_inputs, minimal_pairs, run_inputs
from siming_tasks.common.errors import DataError
from siming_tasks.metrics import evaluate
from siming_tasks.options import Options
from tests.analysis.exams import drawn, exams, in_loops, rubric

NAN = np.nan


def judged(matrix, share, seed):
    """The matrix with a share of its answers right and the others another video's."""
    rng = np.random.default_rng(seed)
    return matrix.predicting(np.where(rng.random(matrix.reference.shape) < share, matrix.reference,
                                      rng.permutation(matrix.reference)))  # fmt: skip


class TestAblations:
    """What is left without the evidence."""

    def test_both_sides_are_of_the_steps_answered_both_times(self):
        base = exams(*np.random.default_rng(0).integers(0, 4, (2, 40, 5)))
        plain, altered = judged(base, 0.7, 1), judged(base, 0.3, 2)
        gaps = np.random.default_rng(3).random(base.reference.shape) < 0.02
        altered = altered.predicting(np.where(gaps, NAN, altered.predicted))
        rows = changed_inputs("ablations", plain, {"no video": altered}, rubric(5))
        kept = [np.where(gaps, NAN, side.predicted) for side in (plain, altered)]
        for name, said in zip(("plain", "changed"), kept, strict=True):
            for metric in ("plcc", "srcc", "qwk"):
                expected = evaluate(base.predicting(said)).one("answered", metric=metric).value
                assert rows.one(row=f"no video: {name}", metric=metric).value == pytest.approx(expected)

        def kappa(side, videos):
            known = ~gaps[videos]
            x, y = base.reference[videos][known], kept[side][videos][known]
            return cohen_kappa_score(x, y, weights="quadratic", labels=range(4))

        for name, function in (
            ("change", lambda videos: kappa(1, videos) - kappa(0, videos)),
            ("survives", lambda videos: kappa(1, videos) / kappa(0, videos)),
        ):
            found = rows.one(row=f"no video: {name}", metric="qwk")
            assert (found.value, found.stderr, found.low, found.high) == pytest.approx(in_loops(function, 40))
        assert rows.one(row="no video: change", metric="qwk").p < 0.001

    def test_nothing_survives_where_nothing_was_shown(self):
        plain, other = (exams(*np.random.default_rng(4).integers(0, 4, (3, 20, 5))[[0, side]]) for side in (1, 2))
        row = changed_inputs("ablations", plain, {"other exam": other}, rubric(5)).one(
            row="other exam: survives", metric="qwk"
        )
        assert (row.value, row.why) == (None, NO_AGREEMENT)

    def test_history_steps_stand_apart(self):
        base = drawn(np.random.default_rng(8), 30)
        plain, altered = judged(base, 0.8, 9), judged(base, 0.4, 10)
        scopes = ["local"] * 5 + ["history"] * 3
        found = changed_inputs("ablations", plain, {"clip": altered}, rubric(8, scopes=scopes)).one(
            row="clip, history steps: change", metric="qwk"
        )
        a, b = (evaluate(m.subset(["s05", "s06", "s07"])).one("answered", metric="qwk").value for m in (plain, altered))
        assert found.value == pytest.approx(b - a)

    def test_no_video_in_common_is_refused(self):
        plain = drawn(np.random.default_rng(13), 10)
        with pytest.raises(DataError, match="share no videos"):
            changed_input("ablations", "x", plain.videos(range(5)), plain.videos(range(5, 10)))


def test_sound_stands_apart_for_the_steps_that_need_it():
    """The judge gains on the heard steps alone."""
    base = drawn(np.random.default_rng(14), 60)
    plain = judged(base, 0.4, 15)
    heard = plain.predicting(np.where(np.arange(8) < 3, base.reference, plain.predicted))
    rows = changed_inputs("sound", plain, {"audio": heard}, rubric(8, heard=(0, 1, 2)))
    assert rows.one(row="audio, need sound: change", metric="qwk").low > 0.2
    others = rows.one(row="audio, others: change", metric="qwk")
    assert (others.value, others.p) == (0.0, None)
    assert (
        0
        < rows.one(row="audio: change", metric="qwk").value
        < rows.one(row="audio, need sound: change", metric="qwk").value
    )
    assert set(rows.names("table")) == {"sound"} and not any("survives" in row for row in rows.names("row"))
    assert not changed_inputs("sound", plain, {"audio": heard}, rubric(8)).of(row="audio, need sound: change")


TRUTH = np.array([[2, 3, 3], [2, 3, 0], [2, 3, 3], [2, 3, 0], [2, 3, 0], [2, 3, 3], [2, 3, 3], [2, 0, 3]], float)
PAIRS = [
    {"pair_id": str(i), "kind": kind, "video_a": f"v{2 * i:03d}", "video_b": f"v{2 * i + 1:03d}", "step_id": step,
     "direction": direction, "unchanged_steps": sorted({"s00", "s01", "s02"} - {step})}
    for i, (kind, step, direction) in enumerate(
        [("history", "s02", -1), ("local", "s02", -1), ("history", "s02", 1), ("local", "s01", -1)]
    )
]  # fmt: skip


class TestMinimalPairs:
    """Four pairs of exams of three steps."""

    @staticmethod
    def scored(said, answer="score", pairs=PAIRS):
        return {each.metric: each for each in minimal_pairs(exams(TRUTH, said, answer=answer), pairs)}

    def values(self, *args, **how):
        return [self.scored(*args, **how)[name].value for name in ("right", "moved", "wrong_way", "elsewhere", "local")]

    def test_the_truth_is_right_on_every_pair(self):
        assert self.values(TRUTH) == [1, 1, 0, 0, 0.5]

    def test_verdicts_turn_the_direction_round(self):
        wrong = (TRUTH < 2).astype(float)
        assert self.values(wrong, "error") == [1, 1, 0, 0, 0.5]
        assert self.values(wrong, "score")[2] == 1.0

    def test_hand_count(self):
        said = TRUTH.copy()
        said[1, 0] = 1  # right on the step, but strays on one of two other steps
        said[3] = said[2]  # does not move
        said[4, 2], said[5, 2] = 3, 1  # the wrong way
        assert self.values(said) == pytest.approx([0.25, 0.5, 0.25, 0.125, 0.5])
        assert (self.scored(said)["right"].n, self.scored(said)["right"].clusters) == (4, 4)

    def test_an_unanswered_step_leaves_the_pair_out(self):
        said = TRUTH.copy()
        said[1, 2] = NAN
        said[3, 0] = NAN  # elsewhere: only not counted there
        assert self.values(said) == pytest.approx([1, 1, 0, 0, 2 / 3])
        nothing = self.scored(np.full_like(TRUTH, NAN))["right"]
        assert (nothing.value, nothing.why) == (None, "No pair was answered.")

    def test_the_interval_is_over_the_clusters_of_the_pairs(self):
        rng = np.random.default_rng(16)
        truth = np.tile(TRUTH[:2], (30, 1))
        hit = rng.random(30) < 0.6
        said = truth.copy()
        said[1::2][~hit] = said[::2][~hit]
        pairs = [{**PAIRS[0], "video_a": f"v{2 * i:03d}", "video_b": f"v{2 * i + 1:03d}"} for i in range(30)]
        students = [f"s{i // 4:02d}" for i in range(60)]
        matrix = exams(truth, said, clusters=tuple(students), unit="performance")
        found = minimal_pairs(matrix, pairs).one(metric="moved")
        expected = in_loops(lambda kept: hit[kept].mean(), students[::2])
        assert (found.value, found.stderr, found.low, found.high) == pytest.approx(expected)


@dataclass(frozen=True)
class Asked:
    """What stands for a run in a setting."""

    name: str
    panel: object
    conditions: dict
    facts: dict


def test_a_control_of_a_run_that_was_asked_otherwise_is_refused_with_the_reason(monkeypatch):
    """The comparison of conditions is that of all runs; requests are matched without the name of their task."""
    panel = judged(drawn(np.random.default_rng(17), 30), 0.7, 18)
    seen = []

    class TaskRun:
        @staticmethod
        def of(run, setting, rater):
            return Asked(run.name, panel, {f"{setting}/v000": ("data",)}, {})

    def comparable(a, b, allow):
        seen.append((a.name, b.name, sorted(a.conditions), sorted(b.conditions), "prompt" in allow))
        return ["They differ in size."] if b.name == "black" else []

    fake = SimpleNamespace(TaskRun=TaskRun, comparable=comparable)
    monkeypatch.setitem(sys.modules, "siming_tasks.results.comparable", fake)
    from siming_tasks.tasks import ABLATION_TASKS, SOUND_TASKS, TASKS

    made = [name for name in (*ABLATION_TASKS, *SOUND_TASKS) if TASKS[name].base_task == "full_score"]
    run = SimpleNamespace(name="judge", records={"full_score": [1], **{name: [1] for name in made}},
                          dataset=SimpleNamespace(rubric=rubric(8)))  # fmt: skip
    rows = run_inputs(run, "full_score", Options())
    assert {each[2][0] for each in seen} == {"v000"} == {each[3][0] for each in seen}
    for name in made:
        called = TASKS[name].ablation.name or TASKS[name].modality.name
        change = rows.one(row=f"{called}: change", metric="qwk")
        assert change.why == (
            "They differ in size." if called == "black" else "It is the same without any video: no interval."
        )
    assert not run_inputs(SimpleNamespace(**{**vars(run), "records": {}}), "full_score", Options())
