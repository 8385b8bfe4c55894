"""Records and panels on a hand-made data set of two videos and three steps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.data import Dataset
from siming_tasks.metrics import Rows
from siming_tasks.metrics.evaluate import RANKED
from siming_tasks.options import Options
from siming_tasks.parsing import parse_reply
from siming_tasks.results.discovery import asked_ids
from siming_tasks.results.evaluate_records import build_score_matrix, evaluate_records
from siming_tasks.results.record import Record, distinct_records
from siming_tasks.rubrics import rubric_from
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import asked_steps, expected_ids
from tests.records import number_of


def skill(name: str, *points: int) -> dict[str, object]:
    """A skill of a rubric, with a step for each of the points."""
    fixed = {"requirement": "Does it.", "criteria": {"full": "All.", "partial": "Some.", "fail": "None."}}
    ids = [f"{name}_{number:02d}" for number in range(1, len(points) + 1)]
    steps = [{"id": step, "name": step, "max_score": top, **fixed} for step, top in zip(ids, points, strict=True)]
    return {"id": name, "name": name, "steps": steps}


RUBRIC = rubric_from(
    {"schema_version": 1, "rubric_id": "three", "version": "1", "skills": [skill("x", 3, 2), skill("y", 1)]}
)


def label(step: str, start: float | None, end: float | None, consensus: float | None, a: float) -> StepLabel:
    return StepLabel(step, start, end, {"consensus": consensus, "rater_a": a})


ONE = (label("x_01", 0, 2, 3, 2), label("x_02", None, None, 1, 1), StepLabel("y_01", applicable=False))
TWO = (label("x_01", 0, 2, 0, 0), label("x_02", 2, 3, 2, 2), label("y_01", 3, 4, None, 1))
DATASET = Dataset(
    root=Path("."),
    name="hand-made",
    version="1",
    synthetic=True,
    digest="d" * 64,
    rubric=RUBRIC,
    videos=(Video("v1", "media/v1.mp4", 10.0, ONE), Video("v2", "media/v2.mp4", 10.0, TWO)),
    meta={},
)


def record(setting: str, video: str, step: str | None, reply: str) -> Record:
    names = (step,) if step else asked_steps(TASKS[setting], DATASET.video(video))
    steps = [RUBRIC.by_id[name] for name in names]
    return Record.from_reply(setting, video, step, parse_reply(reply, steps, TASKS[setting].answer))


def test_full_panel_by_hand() -> None:
    records = [
        record("full_score", "v1", None, '{"scores": {"x_01": 2, "x_02": 1}}'),
        record("full_score", "v2", None, '{"scores": {"x_01": 0, "x_02": 9, "y_01": 1}}'),
    ]
    panel = build_score_matrix(records, DATASET, "full_score")
    nan = np.nan
    assert panel.video_ids == ("v1", "v2") and panel.step_ids == ("x_01", "x_02", "y_01")
    assert panel.skills == ("x", "x", "y")
    np.testing.assert_array_equal(panel.max_score, [3, 2, 1])
    np.testing.assert_array_equal(panel.reference, [[3, 1, nan], [0, 2, nan]])  # N/A and withheld are no reference
    np.testing.assert_array_equal(panel.predicted, [[2, 1, nan], [0, nan, 1]])  # 9 of 2 points is no answer
    np.testing.assert_array_equal(panel.asked, [[True, True, False], [True, True, True]])
    other = build_score_matrix(records, DATASET, "full_score", "rater_a")
    np.testing.assert_array_equal(other.reference, [[2, 1, nan], [0, 2, 1]])


def test_absent_records_count_only_when_the_run_is_meant_to_be_complete() -> None:
    records = [record("clip_error", "v2", "x_01", '{"verdict": "incorrect"}')]
    assert build_score_matrix(records, DATASET, "clip_error").asked.sum() == 1
    whole = build_score_matrix(records, DATASET, "clip_error", asked=asked_ids("clip_error", DATASET.videos, ()))
    assert whole.asked.sum() == 4 and np.isfinite(whole.predicted).sum() == 1
    assert whole.predicted[1, 0] == 1.0


@pytest.mark.parametrize("setting", list(TASKS))
def test_an_unlimited_run_was_asked_every_request_and_no_other(setting: str) -> None:
    ids = list(expected_ids(TASKS[setting], DATASET.videos))
    every = asked_ids(setting, DATASET.videos, ())
    assert len(every) == len(ids) and every == frozenset(ids)
    foreign = [f"{setting}/v9", f"{setting}/v1/nope", f"{setting}/v1/y_01", f"other/{ids[0].partition('/')[2]}", ""]
    foreign += [ids[0] + "/x_01", f"{setting}/v1/", setting] + ([f"{setting}/v1"] if "clip" in setting else [])
    assert not any(request in every for request in foreign)
    assert every | {"more"} == frozenset([*ids, "more"])


def test_a_request_answered_twice() -> None:
    one = record("clip_score", "v2", "x_02", '{"score": 1}')
    other = record("clip_score", "v2", "x_02", '{"score": 2}')
    assert distinct_records([one, one]) == ([one], [])
    for pair in ([one, other], [other, one]):
        joined, conflicts = distinct_records(pair)
        assert conflicts == ["clip_score/v2/x_02"] and joined[0].answers == {}


def test_records_become_prediction_lines() -> None:
    verdicts = {"x_01": "incorrect", "x_02": "correct"}
    full = record("full_error", "v1", None, json.dumps({"verdicts": verdicts}))
    assert full.to_prediction() == {"setting": "full_error", "video_id": "v1", "verdicts": verdicts}
    clip = {"setting": "clip_score", "video_id": "v2", "step_id": "x_01"}
    assert record(*clip.values(), '{"score": 3}').to_prediction() == {**clip, "score": 3}
    assert record(*clip.values(), "").to_prediction() == {**clip, "score": None}


def test_evaluation_counts_statuses_and_reasons() -> None:
    records = [
        record("full_score", "v1", None, '{"scores": {"x_01": 2, "x_02": 7}}'),
        record("full_score", "v2", None, "[LMMS_EVAL_REQUEST_FAILED after 3 retries] timeout"),
    ]
    result = evaluate_records(records, DATASET, Options(), "full_score")
    assert result["statuses"]["partial"] == 1 and result["statuses"]["request_failed"] == 1
    assert sum(result["statuses"].values()) == 2
    assert result["missing"]["off_scale"] == 1
    assert number_of(result, "coverage").value == pytest.approx(1 / 5)
    assert result["synthetic"] is True
    assert result["requests"] == {"answered": 2, "asked": 2, "expected": 2, "conflicts": []}


@pytest.mark.parametrize("setting", TASKS)
def test_no_records_are_no_numbers(setting: str) -> None:
    found = evaluate_records([], DATASET, Options(), setting)
    assert found["requests"]["answered"] == 0 < found["requests"]["expected"]
    rows = Rows.from_json(found["rows"])
    assert rows.of(RANKED) and all(row.value is None and row.why for row in rows), "undefined is not 0"
