"""Abstentions and evidence on the way through files: written, read back, refused where edited."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.parsing import format_answers
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import expected_requests, steps_of
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.study.results.read_predictions import load_predictions
from siming_tasks.study.results.run import read_run
from tests.records import distinct, record_json, sample, write_predictions, write_rows
from tests.study.results.test_read import flat, logged

FORMS = [name for name, task in TASKS.items() if task.answer_format.record_fields]


@pytest.fixture
def dataset(folder: Path) -> Dataset:
    return open_dataset(folder)


def answered(name: str, dataset: Dataset, every: int = 3) -> list[dict[str, Any]]:
    """Records of a run that abstains from every third step, or gives no evidence for it."""
    setting, records = TASKS[name], []
    for number, (video_id, step_id) in enumerate(expected_requests(setting, dataset.videos)):
        steps = [dataset.rubric.by_id[one] for one in steps_of(setting, dataset.video(video_id), step_id)]
        away = [step.id for place, step in enumerate(steps) if (place + number) % every == 0]
        away = away if "abstained" in setting.answer_format.statuses else []
        said = {step.id: 1.0 for step in steps if step.id not in away}
        values = {
            "evidence": lambda step, number=number: [(0.5, 2.0 + number)],
            "errors": lambda step, number=number: [error.id for error in step.errors[: 1 + number % 2]],
            "reason": lambda step, number=number: f"reason {number}",
        }
        details = {
            key: {
                step.id: values[key](step)
                if key in values
                else sample(setting.answer_format.step_schema(step, setting.answer)[key])
                for step in steps
            }
            for key in setting.answer_format.reply_keys.values()
        }
        text = format_answers(said, steps, setting.answer, abstained=away, details=details or None)
        parsed = setting.answer_format.parse(text, steps, setting.answer)
        media = {"mode": "frames", "fps": 0.5}
        records.append(record_json(name, video_id, step_id, parsed, prompt="abc", dataset=dataset.digest, media=media))
    return records


@pytest.mark.parametrize("name", FORMS)
def test_fields_of_answer_formats_are_written_and_read_back(name: str, dataset: Dataset, tmp_path: Path) -> None:
    records = answered(name, dataset)
    assert any(any(map(record.get, TASKS[name].answer_format.record_fields)) for record in records)
    path = write_predictions(records, tmp_path / "p.jsonl")
    kept = flat(dict(load_predictions(path, dataset).records))
    assert [json.loads(json.dumps(dict(record))) for record in kept] == records
    log = flat(dict(read_run(logged(tmp_path / "1_samples_a.jsonl", records), dataset).records))
    assert [json.loads(json.dumps(dict(record))) for record in log] == records
    assert pickle.loads(pickle.dumps(kept)) == kept


def test_two_different_abstentions_are_a_conflict(dataset: Dataset) -> None:
    one, *_ = answered("full_score_abstain", dataset, every=2)
    other, *_ = answered("full_score_abstain", dataset, every=3)
    same, none = distinct([one, one])
    assert same == [one] and not none
    found, conflicts = distinct([one, {**one, "abstained": other["abstained"]}])
    assert conflicts == [one["id"]] and not found[0]["answers"] and "abstained" not in found[0]


def test_a_prediction_file_written_by_hand_may_hold_them(dataset: Dataset, tmp_path: Path) -> None:
    rows = [
        {"setting": "full_score_abstain", "video_id": "v001",
         "scores": {"cpr_01": 2, "cpr_02": "not visible", "cpr_03": 5, "aed_01": 3}},
        {"setting": "clip_error_abstain", "video_id": "v002", "step_id": "aed_01", "verdict": "not visible"},
        {"setting": "full_error_evidence", "video_id": "v001", "evidence": {"cpr_01": [[1, 2.5]], "cpr_02": [[3, 2]]},
         "verdicts": {"cpr_01": "correct", "cpr_02": "incorrect", "cpr_03": "correct", "aed_01": "correct"}},
        {"setting": "full_score", "video_id": "v001",
         "scores": {"cpr_01": 2, "cpr_02": "not visible", "cpr_03": 5, "aed_01": 3}},
    ]  # fmt: skip
    read = flat(dict(read_run(write_rows(tmp_path / "p.jsonl", rows), dataset).records))
    found = {record["id"]: record for record in read}
    first = found["full_score_abstain/v001"]
    assert (first["status"], list(first["abstained"]), first["missing"]) == ("abstained", ["cpr_02"], {})
    assert list(found["clip_error_abstain/v002/aed_01"]["abstained"]) == ["aed_01"]
    assert found["full_error_evidence/v001"]["evidence"] == {"cpr_01": [[1, 2.5]]}
    assert found["full_score/v001"]["missing"] == {"cpr_02": "unreadable"}


def test_an_edited_record_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("full_score_abstain", {"abstained": ["cpr_99"]}, "abstained of 'cpr_99' was not asked for"),
        ("full_score_evidence", {"evidence": {"cpr_01": [[2, 1]]}}, "evidence of 'cpr_01' was not asked for"),
        ("full_score_evidence", {"evidence": {"cpr_01": [[1, 2]] * 65}}, "at most 64 items"),
        (
            "full_score_named_errors",
            {"named_errors": {"cpr_01": ["x"]}},
            "named_errors of 'cpr_01' was not asked for or",
        ),
        ("full_score_named_errors", {"reasons": {"cpr_99": "x"}}, "reasons of 'cpr_99' was not asked for"),
        ("full_score_abstain", {"abstained": ["cpr_02"]}, "abstained 'cpr_02' is answered"),
        ("full_score_evidence", {"abstained": ["cpr_01"], "answers": {}}, "or may not be said"),
    ]
    for name, change, message in cases:
        record = answered(name, dataset)[0]
        with pytest.raises(DataError, match=message):
            read_run(logged(tmp_path / "1_samples_a.jsonl", [{**record, **change}]), dataset)
