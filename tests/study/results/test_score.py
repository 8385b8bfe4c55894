"""Records and panels on a hand-made data set of two videos and three steps."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.metrics import Rows
from siming_tasks.benchmark.metrics.evaluate import RANKED
from siming_tasks.benchmark.parsing import Parsed, parse_reply
from siming_tasks.benchmark.record import Conditions, Record, distinct_records, merge_parts
from siming_tasks.benchmark.rubrics import rubric_from
from siming_tasks.benchmark.scoring import build_score_matrix
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import asked_steps, expected_ids
from siming_tasks.data import Dataset
from siming_tasks.data.row_schema import Simulated
from siming_tasks.options import Options
from siming_tasks.study.results.discovery import RequestSlice, asked_ids, slices_of
from siming_tasks.study.results.estimand import Estimand
from siming_tasks.study.results.evaluate_records import evaluate_records
from siming_tasks.study.results.lmms_eval_commands import command_of
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
    simulated=Simulated(videos=True, labels=True),
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
    assert panel.skills == ("x", "x", "y") and panel.sites == ()
    np.testing.assert_array_equal(panel.max_score, [3, 2, 1])
    np.testing.assert_array_equal(panel.reference, [[3, 1, nan], [0, 2, nan]])  # N/A and withheld are no reference
    np.testing.assert_array_equal(panel.predicted, [[2, 1, nan], [0, nan, 1]])  # 9 of 2 points is no answer
    np.testing.assert_array_equal(panel.asked, [[True, True, False], [True, True, True]])
    assert np.isnan(panel.spans).all() and panel.durations.tolist() == [10, 10]  # the setting shows no times
    clips = build_score_matrix([], DATASET, "clip_score", asked=asked_ids("clip_score", DATASET.videos, ()))
    assert clips.spans[:, 0].tolist() == [[0, 2], [0, 2]] and np.isnan(clips.spans[0, 1]).all()
    other = build_score_matrix(records, DATASET, "full_score", "rater_a")
    np.testing.assert_array_equal(other.reference, [[2, 1, nan], [0, 2, 1]])


def test_absent_records_count_only_when_the_run_is_meant_to_be_complete() -> None:
    records = [record("clip_error", "v2", "x_01", '{"verdict": "incorrect"}')]
    assert build_score_matrix(records, DATASET, "clip_error").asked.sum() == 1
    whole = build_score_matrix(records, DATASET, "clip_error", asked=asked_ids("clip_error", DATASET.videos, ()))
    assert whole.asked.sum() == 4 and np.isfinite(whole.predicted).sum() == 1
    assert whole.predicted[1, 0] == 1.0


def test_a_run_was_asked_what_its_slices_say() -> None:
    def asked(*slices: RequestSlice, setting: str = "clip_score", have: Sequence[str] = ()) -> list[str]:
        found = asked_ids(setting, DATASET.videos, have, slices=slices)
        return [one for one in expected_ids(TASKS[setting], DATASET.videos) if one in found]

    every = asked()
    assert len(every) == 4 == len(asked(RequestSlice(parts=True)))
    assert asked(RequestSlice(1, 2.0)) == every[1:3] and asked(RequestSlice(limit=1)) == every[:1]
    assert asked(RequestSlice(shard="2/2"), RequestSlice(3)) == every[2:]
    assert asked(RequestSlice(limit=1), have=every[3:]) == [every[0], every[3]]
    for limit, kept in ((None, None), (-1, None), (0.5, 0.5), (3, 3.0)):
        stated = {"config": {"limit": limit}, "configs": {"siming_full_score": {}, "mme": {}}}
        assert slices_of([stated]) == {"full_score": (RequestSlice(limit=kept),)}
    for share in (RequestSlice(limit=0.5), RequestSlice(limit=1, parts=True), RequestSlice(shard="1/2", parts=True)):
        assert asked(share, have=every[3:]) == every[3:], "what was asked is not known"


def test_the_command_of_a_run_states_what_it_was_shown() -> None:
    facts = {"model": "vllm", "model_args": "model=m,***", "batch_size": 2, "gen_kwargs": {"max_new_tokens": 99},
             "tasks": {"siming_full_score": {"siming_options": '{"frames": 8, "rater": "x"}'}}}  # fmt: skip
    assert command_of(facts, ["siming_full_score"], RequestSlice(3, 2.0, shard="1/2", split="a b"), data="D") == (
        "SIMING_DATA=D SIMING_SPLIT='a b' SIMING_SHARD=1/2 SIMING_FRAMES=8 lmms-eval --model vllm --model_args "
        "'model=m,***' --tasks siming_full_score --batch_size 2 --gen_kwargs max_new_tokens=99 --offset 3 --limit 2 "
        "--log_samples --output_path OUT"
    )
    plain = command_of({}, ["a", "b"], RequestSlice(), data=None)
    assert plain == "lmms-eval --model MODEL --model_args MODEL_ARGS --tasks a,b --log_samples --output_path OUT"


def test_a_request_answered_twice() -> None:
    one = record("clip_score", "v2", "x_02", '{"score": 1}')
    other = record("clip_score", "v2", "x_02", '{"score": 2}')
    assert distinct_records([one, replace(one)]) == ([one], [])
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
    other = record("clip_score", "v2", "x_01", '{"score": 1}')  # of another setting
    result = evaluate_records([*records, other], DATASET, Options(), "full_score")
    assert result["statuses"]["partial"] == 1 and result["statuses"]["request_failed"] == 1
    assert sum(result["statuses"].values()) == 2
    assert result["missing"]["off_scale"] == 1
    assert number_of(result, "coverage").value == pytest.approx(1 / 5)
    assert result["synthetic"] is True
    assert result["requests"] == {"answered": 2, "asked": 2, "expected": 2, "conflicts": []}
    assert result["counts"] == {"videos": 2, "asked": 5, "answered": 1, "with_reference": 4, "scored": 1,
                                "prevalence": 0, "called_wrong": 1}  # fmt: skip
    assert result["media"] == {"modes": {"unknown": 2}} and result["estimand"]["missing"] == 4 / 5
    assert result["estimand"]["sentence"] == (
        "Estimand: agreement with the consensus of this physician (these raters, no others) in “Full video, scores”, "
        "over 2 videos, taken as a sample of videos like these; missing answers (80.0%) are left out of the metrics, "
        "and count as full points (“correct”) where imputed, in ranks and in tests."
    )


def test_what_was_asked_and_shown_is_summed_up() -> None:
    one, two, three = (record("clip_score", "v2", step, '{"score": 1}') for step in ("x_01", "x_02", "y_01"))
    media = {"mode": "frames", "n_frames": 8, "fps": 1.0, "encoding": "png"}
    one = replace(one, conditions=Conditions(asking="json", reply_schema="abc", media=media))
    two = replace(two, conditions=Conditions(media={**media, "n_frames": 4}))
    found = evaluate_records([one, two, three], DATASET, Options(), "clip_score")
    assert found["prompt"]["asking"] == "plain, json" and found["prompt"]["schemas"]["sent"] == 1
    assert found["media"] == {"modes": {"frames": 2, "unknown": 1}, "encodings": {"png": 2},
                              "n_frames": {"min": 4, "max": 8}, "fps": {"min": 1, "max": 1}}  # fmt: skip


def test_the_estimand_says_whose_exams_and_which_answers_a_number_is_about() -> None:
    whole = Estimand("full_score", "Full", 40, "student", 10, ("site",), 3, "consensus", ("a", "b"), 0.1)
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "the consensus of these 2 physicians (these raters, no others) in “Full”, over 40 videos of 10 students, "
             "taken as a sample of students like these at these 3 sites, not at others; missing answers (10.0%) are"),
        ({"sites": 1, "clusters": 1}, "of 1 student, taken as a sample of students like these at this one site; miss"),
        ({"sites": 0, "unit": "video", "part": "test"}, "over 40 videos of the split test, taken as a sample of videos "
                                                        "like these; missing"),
        ({"unit": "site", "fixed": ("student", "site")}, "of 10 sites, taken as a sample of sites like these; these "
                                                         "students stand for themselves; missing"),
        ({"reference": "a", "missing": None}, "with the points of a (these raters, no others)"),
        ({"missing": None}, "; missing answers are left out"),
        ({"machines": "2 models", "raters": (), "heard": "All."}, "the consensus (these raters, no others: 2 models, no"
                                                                  " person)"),
        ({"heard": "All."}, "in ranks and in tests. All."),
    ]  # fmt: skip
    for changed, said in cases:
        assert said in replace(whole, **changed).sentence


def test_no_records_are_no_numbers() -> None:
    for setting in TASKS:
        found = evaluate_records([], DATASET, Options(), setting)
        assert found["requests"]["answered"] == 0 < found["requests"]["expected"] and found["prompt"]["template"]
        rows = Rows.from_json(found["rows"])
        assert rows.of(RANKED) and all(row.value is None and row.why for row in rows), "undefined is not 0"


def test_parts_of_an_exam_become_one_record() -> None:
    def part(name: str, parsed: Parsed, **conditions: Any) -> Record:
        return Record("full_score", "v1", None, parsed, Conditions(prompt=name, part=name, **conditions))

    shown = {"mode": "frames", "n_frames": 8}
    one = part("x", Parsed("ok", {"x_01": 2.0}), usage={"cost": 1.0}, media={"mode": "unknown"})
    two = part("y", Parsed("refused", {}, {"x_02": "absent"}), usage={"cost": 2.0}, media=shown)
    ((whole,), conflicts) = distinct_records([one, two])
    assert (whole.status, whole.answers, whole.missing, conflicts) == ("partial", {"x_01": 2}, {"x_02": "absent"}, [])
    assert whole.conditions.parts == {"x": "ok", "y": "refused"} and whole.conditions.part == ""
    assert whole.conditions.usage["cost"] == 3 and whole.media == shown and len(whole.conditions.prompt) == 12
    assert merge_parts([two]).status == "refused" and merge_parts([one]).status == "ok"
    unknown = merge_parts([one, part("z", Parsed("request_failed", {}, {"x_02": "absent"}))])
    assert (unknown.status, unknown.conditions.usage) == ("request_failed", None)
