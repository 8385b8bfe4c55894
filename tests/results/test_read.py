"""Prediction files, raw replies and lmms-eval's sample logs become the same records."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.parsing import parse_reply
from siming_tasks.results.read_predictions import load_predictions
from siming_tasks.results.record import Record
from siming_tasks.results.run import load_run, read_run
from siming_tasks.tasks import STANDARD_TASKS, TASKS
from siming_tasks.tasks.expected_requests import asked_steps, expected_requests
from tests.records import record_json, write_predictions

KEYS = {
    "full_score": "scores", "full_error": "verdicts", "full_timed_score": "scores", "full_timed_error": "verdicts",
    "clip_score": "score", "clip_error": "verdict",
}  # fmt: skip


@pytest.fixture
def dataset(folder: Path) -> Dataset:
    return open_dataset(folder)


def reply(setting: str, steps: tuple[str, ...], value: Any) -> str:
    """Reply of a model that gives every step the same value."""
    answer = dict.fromkeys(steps, value) if setting.startswith("full") else value
    return json.dumps({TASKS[setting].field: answer})


def test_keys_of_replies_are_those_of_the_paper() -> None:
    assert {name: TASKS[name].field for name in KEYS} == KEYS


def complete_run(dataset: Dataset, model: str = "") -> list[dict[str, Any]]:
    """The records of a run over everything in which each reply's value goes up and down."""
    records = []
    for name in STANDARD_TASKS:
        setting = TASKS[name]
        for number, (video_id, step_id) in enumerate(expected_requests(setting, dataset.videos)):
            steps = (step_id,) if step_id else asked_steps(setting, dataset.video(video_id))
            value: Any = number % 3 if setting.answer == "score" else ("correct", "incorrect")[number % 2]
            text = f"I cannot help with that{model}." if number % 7 == 6 else reply(name, steps, value)
            parsed = parse_reply(text, [dataset.rubric.by_id[step] for step in steps], setting.answer)
            media = {"mode": "frames", "n_frames": 64, "indices": [0, 1]}
            records.append(
                record_json(name, video_id, step_id, parsed, prompt="abc", dataset=dataset.digest, media=media)
            )
    return records


def flat(records: Mapping[str, Iterable[Record | dict[str, Any]]]) -> list[dict[str, Any]]:
    return [dict(record) for present in records.values() for record in present]


def lines(path: Path, rows: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def logged(path: Path, records: Iterable[dict[str, Any]], key: str = "siming_record") -> Path:
    """A sample log as lmms-eval writes it: one row per document, our record under one of the metrics' keys."""
    return lines(
        path,
        [
            {
                "doc_id": number,
                "target": "",
                "filtered_resps": ["..."],
                "qwk": {"id": record["id"], "answers": {}},
                key: record,
            }
            for number, record in enumerate(records)
        ],
    )


def test_what_is_written_reads_back_the_same(dataset: Dataset, tmp_path: Path) -> None:
    records = complete_run(dataset)
    path = write_predictions(records, tmp_path / "p.jsonl")
    found = load_predictions(path, dataset)
    assert flat(dict(found.records)) == records
    assert {problem.severity for problem in found.problems} == {"warning"}


def test_the_four_forms_of_the_format(dataset: Dataset, tmp_path: Path) -> None:
    path = lines(
        tmp_path / "p.jsonl",
        [
            {
                "setting": "full_score",
                "video_id": "v001",
                "scores": {"cpr_01": 2, "cpr_02": 0, "cpr_03": 5, "aed_01": 3},
            },
            {"setting": "full_error", "video_id": "v001", "verdicts": {"cpr_01": "correct", "cpr_02": "incorrect"}},
            {"setting": "clip_score", "video_id": "v001", "step_id": "cpr_03", "score": 4},
            {"setting": "clip_error", "video_id": "v002", "step_id": "aed_01", "verdict": "incorrect"},
        ],
    )
    records = {record["id"]: record for record in flat(read_run(path, dataset).records)}
    assert records["full_score/v001"]["answers"] == {"cpr_01": 2, "cpr_02": 0, "cpr_03": 5, "aed_01": 3}
    assert records["full_error/v001"]["answers"] == {"cpr_01": 0, "cpr_02": 1}
    assert records["full_error/v001"]["missing"] == {"cpr_03": "absent", "aed_01": "absent"}
    assert records["clip_score/v001/cpr_03"]["answers"] == {"cpr_03": 4}
    assert records["clip_error/v002/aed_01"]["answers"] == {"aed_01": 1}
    assert records["clip_error/v002/aed_01"]["dataset"] == dataset.digest


def test_raw_replies_go_through_the_parser(dataset: Dataset, tmp_path: Path) -> None:
    text = "<think>cpr_03: 1?</think>Sure!\n```json\n{'score': '4/5',}\n```"
    path = lines(
        tmp_path / "p.jsonl",
        [
            {"setting": "clip_score", "video_id": "v001", "step_id": "cpr_03", "response": text},
            {
                "setting": "clip_score",
                "video_id": "v002",
                "step_id": "cpr_03",
                "response": "[LMMS_EVAL_REQUEST_FAILED after 5 retries] x",
            },
            {"setting": "clip_score", "video_id": "v003", "step_id": "cpr_03", "response": None},
        ],
    )
    first, second, third = flat(read_run(path, dataset).records)
    assert (first["answers"], first["status"]) == ({"cpr_03": 4}, "ok")
    assert (second["answers"], second["status"]) == ({}, "request_failed")
    assert (third["answers"], third["status"]) == ({}, "empty")


@pytest.mark.parametrize(
    ("row", "code", "message", "severity"),
    [
        (
            {"setting": "full", "video_id": "v001"},
            "setting-unknown",
            ":1: setting: unknown setting 'full'. One of full_score,",
            "error",
        ),
        ({"video_id": "v001"}, "prediction-invalid", ":1: neither a prediction nor a record.", "error"),
        (
            {"setting": "full_score", "video_id": "v001"},
            "prediction-invalid",
            "needs either `scores` or `response`",
            "error",
        ),
        (
            {"setting": "full_score", "video_id": "v001", "scores": {}, "response": ""},
            "prediction-invalid",
            "needs either `scores` or `response`",
            "error",
        ),
        (
            {"setting": "full_score", "video_id": "v9", "scores": {}},
            "video-unknown",
            "no video 'v9'; the line is not",
            "warning",
        ),
        (
            {"setting": "clip_score", "video_id": "v001", "step_id": "x", "score": 1},
            "step-unknown",
            "video 'v001' has no clip of step 'x'",
            "warning",
        ),
        (
            {"setting": "full_score", "video_id": "v001", "scores": {"cpr_77": 1}},
            "step-unknown",
            "step 'cpr_77' was not asked of video 'v001'",
            "warning",
        ),
        (
            {"setting": "clip_score", "video_id": "v001", "step_id": "cpr_01", "score": 9},
            "answer-missing",
            "step 'cpr_01' has no usable answer (off_scale); it counts as missing.",
            "warning",
        ),
        (
            {"setting": "full_score", "video_id": "v001", "scores": {"cpr_01": 1}},
            "prediction-missing",
            "full_score: 2 of 3 requests have no line (v002, v003); they count as missing.",
            "warning",
        ),
    ],
)
def test_a_faulty_line_is_named_with_its_fault(
    dataset: Dataset, tmp_path: Path, row: dict[str, Any], code: str, message: str, severity: str
) -> None:
    path = lines(tmp_path / "p.jsonl", [row])
    found = [problem for problem in load_run(path, dataset).problems if problem.code == code]
    assert found and message in str(found[0]), load_run(path, dataset).problems
    assert found[0].severity == severity


def test_an_answer_given_twice_names_both_lines(dataset: Dataset, tmp_path: Path) -> None:
    row = {"setting": "clip_score", "video_id": "v001", "step_id": "cpr_01", "score": 1}
    path = lines(tmp_path / "p.jsonl", [row, {**row, "video_id": "v002"}, row])
    with pytest.raises(DataError) as caught:
        read_run(path, dataset)
    assert str(caught.value) == (f"{path}:3: clip_score/v001/cpr_01 stands in {path}:1 already. Keep one of them.")


def test_a_key_given_twice_in_one_line(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"setting": "full_score", "video_id": "v001", "scores": {"cpr_01": 1, "cpr_01": 2}}\n')
    with pytest.raises(DataError, match=r"p\.jsonl:1: not a JSON object: key 'cpr_01' appears twice"):
        read_run(path, dataset)


def test_partial_logs_are_joined(dataset: Dataset, tmp_path: Path) -> None:
    records = complete_run(dataset)
    half = len(records) // 2
    logged(tmp_path / "2026_samples_siming_a.jsonl", records[: half + 3])
    (tmp_path / "deep").mkdir()
    logged(tmp_path / "deep/2027_samples_siming_b.jsonl", reversed(records[half:]), key="siming_stderr")
    lines(tmp_path / "2026_samples_mme.jsonl", [{"doc_id": 0, "target": "yes", "mme_score": {"id": 1, "score": 1.0}}])
    (tmp_path / "2026_results.json").write_text("{}")
    assert flat(read_run(tmp_path, dataset).records) == records


def test_two_runs_in_one_folder_are_a_conflict(dataset: Dataset, tmp_path: Path) -> None:
    first, second = complete_run(dataset), complete_run(dataset)
    second[0]["answers"] = {**second[0]["answers"], "cpr_01": 1.0}
    one = logged(tmp_path / "1_samples_a.jsonl", first)
    two = logged(tmp_path / "2_samples_a.jsonl", second)
    with pytest.raises(DataError) as caught:
        read_run(tmp_path, dataset)
    assert str(caught.value) == (
        f"{two}:1: full_score/v001 stands in {one}:1 already, with another answer. "
        "Score two runs apart; of one run, remove the stale file."
    )


FAILED = {
    "status": "request_failed",
    "answers": {},
    "missing": dict.fromkeys(("cpr_01", "cpr_02", "cpr_03", "aed_01"), "absent"),
}


@pytest.mark.parametrize("failed_first", [True, False])
def test_an_answer_takes_the_place_of_a_failed_request(dataset: Dataset, tmp_path: Path, failed_first: bool) -> None:
    answered = complete_run(dataset)
    parts = [[{**answered[0], **FAILED}, *answered[1:]], answered[:1]]
    for number, part in enumerate(parts if failed_first else reversed(parts)):
        logged(tmp_path / f"{number}_samples_a.jsonl", part)
    replies: dict[str, str] = {}
    run = load_run(tmp_path, dataset, seen=lambda record, _: replies.update({record["id"]: record["status"]}))
    assert flat(dict(run.records)) == answered
    assert not [problem for problem in run.problems if problem.severity == "error"]
    assert replies[answered[0]["id"]] == answered[0]["status"] == "ok"  # whoever keeps replies has the answer last


def test_a_request_that_failed_twice_stays_failed(dataset: Dataset, tmp_path: Path) -> None:
    failed = {**complete_run(dataset)[0], **FAILED}
    logged(tmp_path / "1_samples_a.jsonl", [failed])
    logged(tmp_path / "2_samples_a.jsonl", [failed])
    (record,) = flat(dict(read_run(tmp_path, dataset).records))
    assert (record["status"], record["answers"]) == ("request_failed", {})


def test_answers_that_differ_stay_a_conflict_beside_a_failed_request(dataset: Dataset, tmp_path: Path) -> None:
    first = complete_run(dataset)[0]
    other = {**first, "answers": {**first["answers"], "cpr_01": 1.0}}
    for number, record in enumerate(({**first, **FAILED}, first, {**first, **FAILED}, other)):
        logged(tmp_path / f"{number}_samples_a.jsonl", [record])
    with pytest.raises(
        DataError, match=r"3_samples_a.jsonl:1: full_score/v001 stands in .*1_samples_a.jsonl:1 already"
    ):
        read_run(tmp_path, dataset)


@pytest.mark.parametrize("failed_first", [True, False])
@pytest.mark.parametrize(
    ("change", "other"),
    [
        ({"prompt": "xyz"}, "prompt"),
        ({"reply_schema": "0123456789ab"}, "JSON schema"),
        ({"media": {"mode": "frames", "n_frames": 8, "indices": [0, 1]}}, "view of the video"),
    ],
)
def test_a_failed_request_is_asked_again_as_before(
    dataset: Dataset, tmp_path: Path, change: dict[str, Any], other: str, failed_first: bool
) -> None:
    answered = complete_run(dataset)[0]
    parts = [{**answered, **FAILED, **change}, answered]
    for number, record in enumerate(parts if failed_first else reversed(parts)):
        logged(tmp_path / f"{number}_samples_a.jsonl", [record])
    with pytest.raises(DataError, match=f"full_score/v001 was asked with another {other} in"):
        read_run(tmp_path, dataset)


def test_a_failed_request_that_was_shown_nothing_may_be_answered(dataset: Dataset, tmp_path: Path) -> None:
    answered = complete_run(dataset)[0]
    logged(tmp_path / "1_samples_a.jsonl", [{**answered, **FAILED, "media": {"mode": "unknown"}}])
    logged(tmp_path / "2_samples_a.jsonl", [answered])
    assert flat(dict(read_run(tmp_path, dataset).records)) == [answered]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": "fine"}, "unknown status 'fine'"),
        ({"id": "full_score/v002"}, "id 'full_score/v002' is not 'full_score/v001'"),
        ({"answers": {"cpr_01": 99}}, "answer 99 to 'cpr_01' is off the scale or was not asked"),
        ({"answers": {"cpr_99": 1}}, "answer 1 to 'cpr_99' is off the scale or was not asked"),
        ({"answers": {"cpr_01": True}}, "answer True to 'cpr_01' is off the scale"),
        ({"answers": {"cpr_01": 1.5}}, "answer 1.5 to 'cpr_01' is off the scale"),
        ({"answers": {"cpr_01": 1e-9}}, "answer 1e-09 to 'cpr_01' is off the scale"),
        ({"answers": [1]}, "`answers` is not an object"),
    ],
)
def test_an_edited_record_is_refused(dataset: Dataset, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    record = complete_run(dataset)[0]
    with pytest.raises(DataError) as caught:
        read_run(logged(tmp_path / "1_samples_a.jsonl", [{**record, **change}]), dataset)
    assert message in str(caught.value)


def test_logs_may_hold_what_strict_json_does_not(dataset: Dataset, tmp_path: Path) -> None:
    path = logged(tmp_path / "1_samples_a.jsonl", complete_run(dataset)[:1])
    path.write_text(path.read_text().replace('"target": ""', '"target": "\\ud800", "mme": NaN'))
    assert len(flat(read_run(path, dataset).records)) == 1


def test_mixed_conditions_are_reported(dataset: Dataset, tmp_path: Path) -> None:
    records = complete_run(dataset)
    records[0] = {**records[0], "media": {"mode": "video"}, "dataset": "f" * 64}
    problems = load_run(logged(tmp_path / "1_samples_a.jsonl", records), dataset).problems
    assert {problem.code: problem.severity for problem in problems}["dataset-differs"] == "error"
    assert {problem.code for problem in problems} == {"media-mixed", "dataset-differs"}
    assert f"made on dataset ffffffffffff, scored on {dataset.digest[:12]}" in "".join(map(str, problems))


@pytest.mark.parametrize("name", ["absent", "empty", "other.jsonl"])
def test_paths_without_predictions_are_refused(dataset: Dataset, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    lines(tmp_path / "other.jsonl", [{"doc_id": 0}])
    with pytest.raises(DataError, match=r"no such file or folder|no \*\.jsonl file|no line holds"):
        read_run(tmp_path / name, dataset)


def test_a_bare_line_is_read_as_an_earlier_one_of_the_same_step(dataset: Dataset, tmp_path: Path) -> None:
    """The second line of a kind is refused or warned for as the first is; 1, 1.0 and true are not the same."""
    video, other = (video.video_id for video in dataset.videos[:2])
    step = asked_steps(TASKS["clip_score"], dataset.videos[0])[0]
    assert step in asked_steps(TASKS["clip_score"], dataset.videos[1])
    for value, answers in ((1, {step: 1.0}), (1.0, {step: 1.0}), (True, {}), (99, {}), ("1", {step: 1.0})):
        rows = [{"setting": "clip_score", "video_id": name, "step_id": step, "score": value} for name in (video, other)]
        found = load_predictions(lines(tmp_path / "p.jsonl", [*rows[:1], *rows[:1], *rows[1:]]), dataset)
        alone = load_predictions(lines(tmp_path / "p.jsonl", rows[1:]), dataset)
        first, second = found.records["clip_score"]
        assert (first["video_id"], second["video_id"]) == (video, other)
        assert dict(second) == dict(alone.records["clip_score"][0])
        told = [problem.code for problem in alone.problems]
        assert [problem.code for problem in found.problems if problem.line == 3] == told
        assert [problem.code for problem in found.problems if problem.line == 1] == told
        assert "prediction-twice" in [problem.code for problem in found.problems if problem.line == 2]
        if value != "1":
            assert first["answers"] == second["answers"] == answers
    rows = [{"setting": "clip_score", "video_id": video, "step_id": step, "score": value} for value in (1, True)]
    rows[1]["video_id"] = other
    one, odd = load_predictions(lines(tmp_path / "p.jsonl", rows), dataset).records["clip_score"]
    assert one["answers"] == {step: 1.0} and odd["answers"] == {}


def test_records_travel_between_processes(dataset: Dataset, tmp_path: Path) -> None:
    path = write_predictions(complete_run(dataset), tmp_path / "p.jsonl")
    records = load_predictions(path, dataset).records
    again = pickle.loads(pickle.dumps(records))
    assert {name: [dict(record) for record in present] for name, present in again.items()} == {
        name: [dict(record) for record in present] for name, present in records.items()
    }
    with pytest.raises(KeyError):
        records["clip_score"][0]["reading"]
