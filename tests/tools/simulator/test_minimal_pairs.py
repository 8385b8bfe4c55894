"""MinimalPair: equal pixels and unequal truth for history, one step only for local."""

import hashlib
import json

import numpy as np
import pytest
from siming_tasks.analysis.input_controls import score_minimal_pairs

from siming_tasks.data import open_dataset
from siming_tasks.tools.simulator import make_demo, simulate_pairs
from siming_tasks.tools.simulator.minimal_pairs import HISTORY, LOCAL, pair_row
from siming_tasks.tools.simulator.video import FPS, SHORT, frames, perform

TWINS = simulate_pairs(2 * max(len(HISTORY), len(LOCAL)), seed=5)


def performances(minimal_pairs):
    slots = minimal_pairs.slots(short=True)
    return [perform(exam.plan, pace=SHORT, fps=FPS, seed=exam.look, slots=slots) for exam in minimal_pairs.exams]


def clips(minimal_pairs):
    """The frames of the target step's clip in both videos, before encoding."""
    found = []
    for played, exam in zip(performances(minimal_pairs), minimal_pairs.exams, strict=True):
        start, stop = (round(time * FPS) for time in played.spans[minimal_pairs.step_id])
        found.append(list(frames(played, exam.look, start, stop)))
        assert len(found[-1]) == stop - start > 2
    return found


@pytest.mark.parametrize(
    "minimal_pairs", TWINS[::2], ids=lambda minimal_pairs: f"{minimal_pairs.step_id}-{minimal_pairs.changed[0]}"
)
def test_history_pairs_show_the_same_clip_and_deserve_different_points(minimal_pairs):
    assert minimal_pairs.kind == "history"
    first, second = performances(minimal_pairs)
    assert second.spans[minimal_pairs.step_id] == first.spans[minimal_pairs.step_id]
    one, other = clips(minimal_pairs)
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    row = pair_row(minimal_pairs)
    assert row["points"][0] != row["points"][1]
    assert row["direction"] == np.sign(row["points"][1] - row["points"][0])
    assert not np.array_equal(first.sample(FPS), second.sample(FPS)) or first.utterances != second.utterances


@pytest.mark.parametrize("minimal_pairs", TWINS[1::2], ids=lambda minimal_pairs: minimal_pairs.changed[0])
def test_local_pairs_differ_in_the_step_itself(minimal_pairs):
    assert minimal_pairs.kind == "local"
    row = pair_row(minimal_pairs)
    assert {error.rpartition(".")[0] for error in minimal_pairs.changed} == {minimal_pairs.step_id}
    assert row["points"][0] != row["points"][1]
    assert minimal_pairs.step_id not in row["unchanged_steps"]
    assert len(row["unchanged_steps"]) >= 30


def test_a_judge_of_clips_is_right_on_local_pairs_only():
    """The best it can do is to know every clip by heart: the points that were given to these very pixels."""
    rows, known, answers = [pair_row(minimal_pairs) for minimal_pairs in TWINS], {}, []
    for minimal_pairs, row in zip(TWINS, rows, strict=True):
        seen = [hashlib.sha256(b"".join(frame.tobytes() for frame in clip)).digest() for clip in clips(minimal_pairs)]
        answers.append([known.setdefault(clip, points) for clip, points in zip(seen, row["points"], strict=True)])
    first, second = (np.array(side, float)[:, None] for side in zip(*answers, strict=True))
    assert [bool(a != b) for a, b in zip(first, second, strict=True)] == [row["kind"] == "local" for row in rows]
    number = len(rows)
    result = score_minimal_pairs(
        first, second, np.zeros(number, int), np.array([float(row["direction"]) for row in rows]),
        np.zeros((number, 1), bool), [row["kind"] for row in rows],
    )  # fmt: skip
    assert result.right.value == result.bound == 0.5


def test_either_video_of_a_pair_may_have_the_error():
    assert {pair_row(minimal_pairs)["direction"] for minimal_pairs in TWINS} == {-1, 1}


def test_the_folder_lists_its_pairs_and_the_metric_reads_them(tmp_path):
    out = make_demo(tmp_path / "pairs", videos=4, short=True, pairs=True, jobs=2, progress=False, contact=False)
    dataset = open_dataset(out)
    rows = [json.loads(line) for line in (out / "pairs.jsonl").read_text().splitlines()]
    assert [row["kind"] for row in rows] == ["history", "local"]
    steps = [step.id for step in dataset.rubric.steps]
    first, second = (
        np.array([[dataset.video(row[side]).step(step).consensus for step in steps] for row in rows], float)
        for side in ("video_a", "video_b")
    )
    result = score_minimal_pairs(
        first,
        second,
        np.array([steps.index(row["step_id"]) for row in rows]),
        np.array([float(row["direction"]) for row in rows]),
        np.array([[step in row["unchanged_steps"] for step in steps] for row in rows]),
        [row["kind"] for row in rows],
    )
    assert result.right.value == 1
    assert result.bound == 0.5
