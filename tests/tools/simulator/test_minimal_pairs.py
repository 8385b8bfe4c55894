"""MinimalPair: equal pixels and unequal truth for history, one step only for local."""

import hashlib
import json

import numpy as np

from siming_tasks.benchmark.metrics import ScoreMatrix
from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.data import open_dataset
from siming_tasks.study.analysis.inputs import minimal_pairs as scored_pairs
from siming_tasks.tools.simulator import make_demo, simulate_pairs
from siming_tasks.tools.simulator.minimal_pairs import HISTORY, LOCAL
from siming_tasks.tools.simulator.video import FPS, FULL, SHORT, frames, perform


def judge(said):
    """Points by video and step as the answers of a judge; nothing else was answered."""
    steps = default_rubric().steps
    videos, top = sorted({video for video, _ in said}), [step.max_score for step in steps]
    points = np.array([[said.get((video, step.id), np.nan) for step in steps] for video in videos], float)
    asked = np.ones(points.shape, bool)
    return ScoreMatrix(videos, [s.id for s in steps], ["x"] * len(steps), top, points, points, asked, "score")


def performances(pair, pace):
    slots = pair.slots(short=pace == SHORT)
    return [perform(exam.plan, pace=pace, seed=exam.look, slots=slots) for exam in pair.exams]


def test_history_pairs_show_the_same_clip_and_a_judge_of_clips_is_right_on_local_ones_alone():
    """The best it can do is to know every clip by heart: the points that were given to these very pixels."""
    known, rows, said = {}, [], {}
    for pair in simulate_pairs(2 * max(len(HISTORY), len(LOCAL)), seed=5):
        row, history = pair.row(), pair.kind == "history"
        rows.append(row)
        assert row["direction"] == np.sign(row["points"][1] - row["points"][0]) != 0
        assert history == (pair.changed[:6] != pair.step_id)
        assert pair.step_id not in row["unchanged_steps"] and (history or len(row["unchanged_steps"]) >= 30)
        first, second = played = performances(pair, SHORT)
        assert second.spans[pair.step_id] == first.spans[pair.step_id]
        assert not np.array_equal(first.sample(FPS), second.sample(FPS)) or first.utterances != second.utterances
        start, stop = (round(time * FPS) for time in first.spans[pair.step_id])
        clips = [
            hashlib.sha256(b"".join(frame.tobytes() for frame in frames(one, exam.look, start, stop))).digest()
            for one, exam in zip(played, pair.exams, strict=True)
        ]
        assert stop - start > 2 and (clips[0] == clips[1]) == history, (pair.step_id, pair.changed)
        for side, clip, points in zip(("video_a", "video_b"), clips, row["points"], strict=True):
            said[row[side], row["step_id"]] = known.setdefault(clip, points)
    found = scored_pairs(judge(said), rows)
    assert found.one(metric="right").value == found.one(metric="local").value == 0.5
    assert {row["direction"] for row in rows} == {-1, 1}


def test_the_videos_of_a_pair_have_equal_spans_and_history_shows_the_same_at_full_pace():
    """From the channels: the frames themselves are compared at the short one."""
    for pair in simulate_pairs(2 * len(HISTORY), seed=820_008):
        first, second = performances(pair, FULL)
        assert first.spans == second.spans
        if pair.kind == "history":
            start, stop = (round(time * FPS) for time in first.spans[pair.step_id])
            assert np.array_equal(*(np.round(each.sample(FPS)[start:stop], 2) for each in (first, second)))


def test_the_folder_lists_its_pairs_and_the_metric_reads_them(tmp_path):
    out = make_demo(tmp_path / "pairs", videos=4, short=True, pairs=True, jobs=2, progress=False)
    dataset = open_dataset(out)
    rows = [json.loads(line) for line in (out / "pairs.jsonl").read_text().splitlines()]
    assert [row["kind"] for row in rows] == ["history", "local"]
    said = {(video.video_id, step.step_id): step.consensus for video in dataset.videos for step in video.applicable}
    found = scored_pairs(judge(said), rows)
    assert found.one(metric="right").value == 1 and found.one(metric="local").value == 0.5
