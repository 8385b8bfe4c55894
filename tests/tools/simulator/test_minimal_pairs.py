"""MinimalPair: equal pixels and unequal truth for history, one step only for local."""

import hashlib
import json

import numpy as np
import pytest

from siming_tasks.analysis.inputs import minimal_pairs as scored_pairs
from siming_tasks.data import open_dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.rubrics import default_rubric
from siming_tasks.tools.simulator import make_demo, simulate_pairs
from siming_tasks.tools.simulator.minimal_pairs import HISTORY, LOCAL
from siming_tasks.tools.simulator.video import FPS, SHORT, frames, perform

TWINS = simulate_pairs(2 * max(len(HISTORY), len(LOCAL)), seed=5)


def performances(minimal_pairs):
    slots = minimal_pairs.slots(short=True)
    return [perform(exam.plan, pace=SHORT, seed=exam.look, slots=slots) for exam in minimal_pairs.exams]


def judge(said):
    """Points by video and step as the answers of a judge; nothing else was answered."""
    steps = default_rubric().steps
    videos, top = sorted({video for video, _ in said}), [step.max_score for step in steps]
    points = np.array([[said.get((video, step.id), np.nan) for step in steps] for video in videos], float)
    asked = np.ones(points.shape, bool)
    return ScoreMatrix(videos, [s.id for s in steps], ["x"] * len(steps), top, points, points, asked, "score")


def clips(minimal_pairs):
    """The frames of the target step's clip in both videos, before encoding."""
    found = []
    for played, exam in zip(performances(minimal_pairs), minimal_pairs.exams, strict=True):
        start, stop = (round(time * FPS) for time in played.spans[minimal_pairs.step_id])
        found.append(list(frames(played, exam.look, start, stop)))
        assert len(found[-1]) == stop - start > 2
    return found


@pytest.mark.parametrize("pair", TWINS, ids=lambda pair: f"{pair.step_id}-{pair.changed}")
def test_history_pairs_show_the_same_clip_local_ones_differ_in_the_step_itself(pair):
    row, history = pair.row(), pair.kind == "history"
    assert row["direction"] == np.sign(row["points"][1] - row["points"][0]) != 0
    assert history == (pair.changed[:6] != pair.step_id)
    assert pair.step_id not in row["unchanged_steps"] and (history or len(row["unchanged_steps"]) >= 30)
    first, second = performances(pair)
    assert second.spans[pair.step_id] == first.spans[pair.step_id]
    assert not np.array_equal(first.sample(FPS), second.sample(FPS)) or first.utterances != second.utterances
    if history:
        assert all(np.array_equal(a, b) for a, b in zip(*clips(pair), strict=True))


def test_a_judge_of_clips_is_right_on_local_pairs_only():
    """The best it can do is to know every clip by heart: the points that were given to these very pixels."""
    rows, known, answers = [minimal_pairs.row() for minimal_pairs in TWINS], {}, []
    for minimal_pairs, row in zip(TWINS, rows, strict=True):
        seen = [hashlib.sha256(b"".join(frame.tobytes() for frame in clip)).digest() for clip in clips(minimal_pairs)]
        answers.append([known.setdefault(clip, points) for clip, points in zip(seen, row["points"], strict=True)])
    assert [a != b for a, b in answers] == [row["kind"] == "local" for row in rows]
    said = {(row[side], row["step_id"]): points for row, both in zip(rows, answers, strict=True)
            for side, points in zip(("video_a", "video_b"), both, strict=True)}  # fmt: skip
    found = scored_pairs(judge(said), rows)
    assert found.one(metric="right").value == found.one(metric="local").value == 0.5
    assert {row["direction"] for row in rows} == {-1, 1}


def test_the_folder_lists_its_pairs_and_the_metric_reads_them(tmp_path):
    out = make_demo(tmp_path / "pairs", videos=4, short=True, pairs=True, jobs=2, progress=False)
    dataset = open_dataset(out)
    rows = [json.loads(line) for line in (out / "pairs.jsonl").read_text().splitlines()]
    assert [row["kind"] for row in rows] == ["history", "local"]
    said = {(video.video_id, step.step_id): step.consensus for video in dataset.videos for step in video.applicable}
    found = scored_pairs(judge(said), rows)
    assert found.one(metric="right").value == 1 and found.one(metric="local").value == 0.5
    assert found.one(metric="elsewhere").value == 0
