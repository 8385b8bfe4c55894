"""Prediction files, raw replies and lmms-eval's sample logs become the same records."""

import json
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.parsing import parse_reply
from siming_tasks.benchmark.record import Record
from siming_tasks.benchmark.tasks import STANDARD_TASKS, TASKS
from siming_tasks.benchmark.tasks.expected_requests import asked_steps, expected_requests
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.study.results.read_predictions import load_predictions
from siming_tasks.study.results.record_parser import raw_reply
from siming_tasks.study.results.run import Run, read_run
from tests.records import record_json, write_predictions, write_rows

SHORT = {"mode": "frames", "n_frames": 64, "indices": [0, 1]}
FULL, CLIP = {"setting": "full_score", "video_id": "v001"}, {"setting": "clip_score", "video_id": "v001"}
STEPS = ("cpr_01", "cpr_02", "cpr_03", "aed_01")
FAILED = {"status": "request_failed", "answers": {}, "missing": dict.fromkeys(STEPS, "absent")}


@pytest.fixture
def dataset(folder: Path) -> Dataset:
    return open_dataset(folder)


def errors(run: Run) -> str:
    return "".join(str(problem) for problem in run.problems if problem.severity == "error")


def reply(setting: str, steps: tuple[str, ...], value: Any) -> str:
    """Reply of a model that gives every step the same value."""
    answer = dict.fromkeys(steps, value) if setting.startswith("full") else value
    return json.dumps({TASKS[setting].field: answer})


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
            about = {"prompt": "abc", "dataset": dataset.digest, "media": SHORT}
            records.append(record_json(name, video_id, step_id, parsed, **about))
    return records


def flat(records: Mapping[str, Iterable[Record | dict[str, Any]]]) -> list[dict[str, Any]]:
    return [dict(record) for present in records.values() for record in present]


def logged(path: Path, records: Iterable[dict[str, Any]], replies: Iterable[str | None] | None = None) -> Path:
    """A sample log as lmms-eval writes it: a row per document, our record under one of the metrics' keys."""
    rows = []
    for number, (record, text) in enumerate(zip(records, replies or repeat(None))):  # noqa: B905 - one has no end
        row = {"doc_id": number, "target": "", "qwk": {"id": record["id"], "answers": {}}, "siming_stderr": record}
        rows.append(row if text is None else {**row, "filtered_resps": text, "resps": [[text]]})
    return write_rows(path, rows)


def test_what_is_written_reads_back_the_same_and_travels(dataset: Dataset, tmp_path: Path) -> None:
    records = complete_run(dataset)
    found = load_predictions(write_predictions(records, tmp_path / "p.jsonl"), dataset)
    assert flat(dict(found.records)) == flat(pickle.loads(pickle.dumps(dict(found.records)))) == records
    assert {problem.severity for problem in found.problems} == {"warning"}


def test_the_four_forms_of_the_format_and_raw_replies(dataset: Dataset, tmp_path: Path) -> None:
    text = "<think>cpr_03: 1?</think>Sure!\n```json\n{'score': '4/5',}\n```"
    points = {"cpr_01": 2, "cpr_02": 0, "cpr_03": 5, "aed_01": 3}
    rows = [
        {**FULL, "scores": points},
        {"setting": "full_error", "video_id": "v001", "verdicts": {"cpr_01": "correct", "cpr_02": "incorrect"}},
        {**CLIP, "step_id": "cpr_03", "response": text},
        {**CLIP, "step_id": "cpr_01", "response": "[LMMS_EVAL_REQUEST_FAILED after 5 retries] x"},
        {**CLIP, "step_id": "cpr_02", "response": None},
        {"setting": "clip_error", "video_id": "v002", "step_id": "aed_01", "verdict": "incorrect"},
    ]
    records = {
        record["id"]: record for record in flat(read_run(write_rows(tmp_path / "p.jsonl", rows), dataset).records)
    }
    assert records["full_score/v001"]["answers"] == points
    assert records["full_error/v001"]["answers"] == {"cpr_01": 0, "cpr_02": 1}
    assert records["full_error/v001"]["missing"] == {"cpr_03": "absent", "aed_01": "absent"}
    clips = [records[f"clip_score/v001/{step}"] for step in ("cpr_03", "cpr_01", "cpr_02")]
    assert [(one["answers"], one["status"]) for one in clips] == [
        ({"cpr_03": 4}, "ok"), ({}, "request_failed"), ({}, "empty")
    ]  # fmt: skip
    assert records["clip_error/v002/aed_01"]["answers"] == {"aed_01": 1}
    assert records["clip_error/v002/aed_01"]["dataset"] == dataset.digest


@pytest.mark.parametrize(
    ("row", "code", "message", "severity"),
    [
        ({**FULL, "setting": "full"}, "setting-unknown", ":1: setting: unknown setting 'full'. One of full_s", "error"),
        ({"video_id": "v001"}, "prediction-invalid", ":1: neither a prediction nor a record.", "error"),
        (FULL, "prediction-invalid", "needs either `scores` or `response`", "error"),
        ({**FULL, "video_id": "v9", "scores": {}}, "video-unknown", "no video 'v9'; the line is not", "warning"),
        ({**CLIP, "step_id": "x", "score": 1}, "step-unknown", "video 'v001' has no clip of step 'x'", "warning"),
        ({**CLIP, "score": 1}, "prediction-invalid", ":1: a clip_score line needs a `step_id`.", "error"),
        ({**FULL, "video_id": "v9", "scores": {}}, "no-predictions", ":1: video_id: the dataset has no video 'v9'",
         "error"),
        ({"setting": "full_error", "video_id": "v001", "verdicts": dict.fromkeys(STEPS, 1)}, "answer-missing",
         'step \'cpr_01\' has no usable answer (unreadable); it counts as missing. Write "correct" or "incorrect".',
         "warning"),
        ({**FULL, "response": "[LMMS_EVAL_REQUEST_FAILED] x"}, "request-failed",
         ":1: full_score/v001 failed; 4 steps without an answer. Ask it again", "warning"),
        ({**FULL, "response": '{"scores": {"cpr_01": 2, "cpr_02": 99, "cpr_03": 2}}'}, "reply-unread",
         "leaves 2 steps without a usable answer (cpr_02 off_scale, aed_01 absent); they count", "warning"),
        ({**FULL, "response": '{"scores": {}}'}, "reply-unread", "4 steps without a usable answer (cpr_01 absent, "
         "cpr_02 absent, cpr_03 absent, ...); they count", "warning"),
        ({**FULL, "scores": [2, 1, 1, 1]}, "answer-missing",
         "step 'cpr_01' has no usable answer (absent); it counts as missing.", "warning"),
        ({**FULL, "scores": {"cpr_77": 1}}, "step-unknown", "1 answer on steps not asked of 'v001' ('cpr", "warning"),
        ({**CLIP, "step_id": "cpr_01", "score": 9}, "answer-missing",
         "step 'cpr_01' has no usable answer (off_scale); it counts as missing.", "warning"),
        ({**FULL, "scores": {"cpr_01": 1}}, "prediction-missing",
         "full_score: no line for 2 of 3 requests (v002, v003); they count as missing.", "warning"),
    ],
)  # fmt: skip
def test_a_faulty_line_is_named_with_its_fault(
    dataset: Dataset, tmp_path: Path, row: dict[str, Any], code: str, message: str, severity: str
) -> None:
    problems = read_run(write_rows(tmp_path / "p.jsonl", [row]), dataset, strict=False).problems
    found = next(problem for problem in problems if problem.code == code)
    assert message in str(found) and found.severity == severity
    assert code not in ("request-failed", "reply-unread") or not any(each.code == "answer-missing" for each in problems)


def test_an_answer_or_a_key_given_twice_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    row = {**CLIP, "step_id": "cpr_01", "score": 1}
    path = write_rows(tmp_path / "p.jsonl", [row, {**row, "video_id": "v002"}, row])
    with pytest.raises(DataError) as caught:
        read_run(path, dataset)
    assert str(caught.value) == f"{path}:3: clip_score/v001/cpr_01 is already in {path}:1. Keep one of them."
    path.write_text('{"setting": "full_score", "video_id": "v001", "scores": {"cpr_01": 1, "cpr_01": 2}}\n')
    with pytest.raises(DataError, match=r"p\.jsonl:1: not a JSON object: key 'cpr_01' appears twice"):
        read_run(path, dataset)


def test_partial_logs_are_joined_and_two_answers_are_a_conflict(dataset: Dataset, tmp_path: Path) -> None:
    records = complete_run(dataset)
    half = len(records) // 2
    one = logged(tmp_path / "2026_samples_siming_a.jsonl", records[: half + 3])
    (tmp_path / "deep").mkdir()
    logged(tmp_path / "deep/2027_samples_siming_b.jsonl", reversed(records[half:]))
    write_rows(
        tmp_path / "2026_samples_mme.jsonl", [{"doc_id": 0, "target": "yes", "mme_score": {"id": 1, "score": 1.0}}]
    )
    (tmp_path / "2026_results.json").write_text("{}")
    assert flat(read_run(tmp_path, dataset).records) == records
    other = {**records[0], "answers": {**records[0]["answers"], "cpr_01": 1.0}}
    two = logged(tmp_path / "2028_samples_siming_a.jsonl", [other])
    with pytest.raises(DataError) as caught:
        read_run(tmp_path, dataset)
    assert str(caught.value) == (
        f"{two}:1: full_score/v001 is already in {one}:1, with a different answer. "
        "If these are two runs, give them different names; if they are one run, remove the old file."
    )


def test_an_exam_asked_in_parts_is_one_record_and_no_part_is_asked_twice(dataset: Dataset, tmp_path: Path) -> None:
    def asked(step: str, points: float, part: str = "") -> dict[str, Any]:
        parsed = parse_reply(json.dumps({"scores": {step: points}}), [dataset.rubric.by_id[step]], "score")
        return record_json("full_score", "v001", None, parsed, part=part, prompt="abc", dataset=dataset.digest)

    parts = [asked("cpr_01", 2, "step:cpr_01"), asked("cpr_02", 1, "step:cpr_02")]
    (record,) = flat(read_run(write_rows(tmp_path / "parts.jsonl", parts), dataset, strict=False).records)
    assert record["answers"] == {"cpr_01": 2, "cpr_02": 1}
    whole = asked("cpr_01", 1)
    for number, rows in enumerate(([*parts, parts[0]], [whole, parts[0]], [parts[0], whole])):
        path = write_rows(tmp_path / f"{number}.jsonl", rows)
        assert f":{len(rows)}: full_score/v001 is already in {path}:1." in errors(read_run(path, dataset, strict=False))


@pytest.mark.parametrize("failed_first", [True, False])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"media": {"mode": "unknown"}}, ""),
        ({"prompt": "xyz"}, "has another prompt in"),
        ({"media": {**SHORT, "n_frames": 8}}, "has another view of the video in"),
    ],
)
def test_an_answer_takes_the_place_of_a_failed_request_that_was_asked_alike(
    dataset: Dataset, tmp_path: Path, change: dict[str, Any], said: str, failed_first: bool
) -> None:
    answered = complete_run(dataset)
    parts = [[{**answered[0], **FAILED, **change}, *answered[1:]], answered[:1]]
    for number, part in enumerate(parts if failed_first else reversed(parts)):
        logged(tmp_path / f"{number}_samples_a.jsonl", part)
    seen: dict[str, str] = {}
    run = read_run(
        tmp_path, dataset, strict=False, seen=lambda record, _: seen.update({record["id"]: record["status"]})
    )
    assert said in errors(run) if said else not errors(run)
    if not said:
        assert flat(dict(run.records)) == answered
        assert seen[answered[0]["id"]] == "ok"  # whoever keeps replies has the answer last


def test_nothing_is_said_of_a_line_in_whose_place_another_counts(dataset: Dataset, tmp_path: Path) -> None:
    failed, answered = "[LMMS_EVAL_REQUEST_FAILED] x", reply("full_score", STEPS, 1)
    for name, text in (("1", failed), ("2", failed), ("3", answered)):
        write_rows(tmp_path / f"{name}.jsonl", [{**FULL, "response": text}])
    for names, count in (("1",), 1), (("1", "2"), 1), (("1", "2", "3"), 0), (("3", "1"), 0):
        run = read_run([tmp_path / f"{name}.jsonl" for name in names], dataset, strict=False)
        assert [problem.code for problem in run.problems].count("request-failed") == count, names


def test_a_request_that_failed_twice_stays_failed(dataset: Dataset, tmp_path: Path) -> None:
    first = complete_run(dataset)[0]
    for number in range(2):
        logged(tmp_path / f"{number}_samples_a.jsonl", [{**first, **FAILED}])
    (record,) = flat(dict(read_run(tmp_path, dataset).records))
    assert (record["status"], record["answers"]) == ("request_failed", {})
    for number, points in ((2, 0.0), (3, 1.0)):
        logged(tmp_path / f"{number}_samples_a.jsonl", [{**first, "answers": {**first["answers"], "cpr_01": points}}])
    with pytest.raises(DataError, match=r"3_samples_a.jsonl:1: full_score/v001 is already in .*2_samples_a.jsonl:1"):
        read_run(tmp_path, dataset)


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize(
    ("old", "new", "counts", "sent"),
    [
        ("request_failed", "request_failed", "new", 9),
        ("truncated", "truncated", "new", 9),
        ("truncated", "request_failed", "old", 9),  # part of an answer is more than none
        ("request_failed", "truncated", "new", 9),
        ("request_failed", "ok", "new", 9),
        ("ok", "request_failed", "old", 2 + 9),  # with another folder of replies: the second has not seen the first
    ],
)
def test_attempts_and_tokens_are_of_all_commands(
    dataset: Dataset, tmp_path: Path, old: str, new: str, counts: str, sent: int, newest_first: bool
) -> None:
    """The second command's usage contains the first's; its log may be read before the first's."""
    first = complete_run(dataset)[0]
    for name, status, number in (("old", old, 2), ("new", new, 9)):
        usage = {"attempts": number, "prompt_tokens": 100 * number, "model": "m"}
        left_out = "cpr_02" if name == "old" else "cpr_03"
        cut = {"status": "truncated", "answers": {k: v for k, v in first["answers"].items() if k != left_out},
               "missing": {left_out: "absent"}}  # fmt: skip
        record = {**first, **{"request_failed": FAILED, "truncated": cut, "ok": {}}[status], "usage": usage}
        logged(tmp_path / f"{(name == 'new') ^ newest_first:d}_{name}_samples_a.jsonl", [record], [None])
    run = read_run(tmp_path, dataset, partial=True)
    (record,) = flat(dict(run.records))
    assert (record["usage"]["attempts"], record["usage"]["prompt_tokens"]) == (sent, 100 * sent)
    assert record["status"] == {"old": old, "new": new}[counts]
    if record["status"] == "truncated":
        assert record["missing"] == {"cpr_02" if counts == "old" else "cpr_03": "absent"}


@pytest.mark.parametrize(
    ("old", "new", "attempts", "tokens"),
    [
        ({"attempts": 1, "stored": False}, {"attempts": 2, "stored": False}, 3, 150),
        ({"attempts": 6}, {"attempts": 1}, 7, 150),  # on two machines
        ({}, {}, None, 150),  # two jobs of a batch
        ({"prompt_tokens": None}, {}, None, 100),  # a failed request reports no tokens
        ({"attempts": 1}, {"attempts": 2, "stored": True}, 2, 100),
    ],
)
def test_tokens_of_commands_that_share_no_replies_are_added_up(
    dataset: Dataset, tmp_path: Path, old: dict[str, Any], new: dict[str, Any], attempts: int | None, tokens: int
) -> None:
    first = complete_run(dataset)[0]
    logged(tmp_path / "0_samples_a.jsonl", [{**first, **FAILED, "usage": {"prompt_tokens": 50, **old}}])
    logged(tmp_path / "1_samples_a.jsonl", [{**first, "usage": {"prompt_tokens": 100, **new}}])
    (record,) = flat(dict(read_run(tmp_path, dataset, partial=True).records))
    assert (record["usage"]["attempts"], record["usage"]["prompt_tokens"]) == (attempts, tokens)


def test_an_edited_record_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"status": "fine"}, "unknown status 'fine'"),
        ({"usage": "much"}, "usage"),
        ({"id": "full_score/v002"}, "id 'full_score/v002' is not 'full_score/v001'"),
        ({"answers": {"cpr_01": 99}}, "answer 99 to 'cpr_01' is outside the step's range or was not asked"),
        ({"answers": {"cpr_99": 1}}, "answer 1 to 'cpr_99' is outside the step's range or was not asked"),
        ({"answers": {"cpr_01": "1"}}, "answer 1 to 'cpr_01' is outside the step's range"),
        ({"answers": {"cpr_01": 1e-9}}, "answer 1e-09 to 'cpr_01' is outside the step's range"),
        ({"answers": [1]}, "`answers` is not an object"),
        ({"missing": {"cpr_01": "lost"}}, "missing 'cpr_01': 'lost' was not asked or is not a reason"),
    ]
    record = complete_run(dataset)[0]
    for change, message in cases:
        with pytest.raises(DataError, match=message):
            read_run(logged(tmp_path / "1_samples_a.jsonl", [{**record, **change}]), dataset)


def test_a_reply_is_read_anew_and_counts_where_its_record_says_otherwise(dataset: Dataset, tmp_path: Path) -> None:
    """A record that was edited, or written by another version, decides nothing; that it differs is said."""
    first, second, third = complete_run(dataset)[:3]
    texts = [json.dumps({"scores": record["answers"]}) for record in (first, second, third)]
    edited = {**first, "answers": {**first["answers"], "cpr_01": 2.0}}
    cut = {**third, "usage": {"finish_reason": "length"}}
    path = logged(tmp_path / "1_samples_a.jsonl", [edited, {**second, **FAILED}, cut], [*texts[:2], texts[2][:20]])
    run = read_run(path, dataset)
    records = flat(dict(run.records))
    assert records[:2] == [first, second] and first["answers"]["cpr_01"] == 0
    assert (records[2]["status"], records[2]["answers"]) == ("truncated", {})
    (said,) = [str(problem) for problem in run.problems if problem.code == "reply-disagrees"]
    assert "3 replies read otherwise than recorded (full_score/v001, full_score/v002, full_score/v003);" in said
    logged(path, [first], texts[:1])
    assert "reply-disagrees" not in {problem.code for problem in read_run(path, dataset).problems}


def test_several_samples_of_one_reply_are_no_reply() -> None:
    found = [raw_reply({"resps": resps}) for resps in ([["a"]], [["a", "b"]], None)]
    assert found == ["a", '["a", "b"]', None]


def test_half_a_surrogate_pair_or_nan_in_a_log_loses_nothing(dataset: Dataset, tmp_path: Path) -> None:
    record = {**complete_run(dataset)[0], "usage": {"prompt_tokens": None, "model": "m"}}
    text = json.dumps({"scores": record["answers"]}) + "\ud83d"
    path = logged(tmp_path / "1_samples_a.jsonl", [record], [text])
    path.write_text(path.read_text().replace('"target": ""', '"target": "\\ud800", "mme": NaN').replace(
        '"prompt_tokens": null', '"prompt_tokens": NaN, "completion_tokens": 1e999'))  # fmt: skip
    replies: list[str | None] = []
    run = read_run(path, dataset, seen=lambda _, reply: replies.append(reply))
    assert flat(run.records)[0]["answers"] == record["answers"]
    usage = run.records["full_score"][0].conditions.usage or {}
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["model"]) == (None, None, "m")
    assert replies == [text[:-1] + "\ufffd"]
    (kept,) = run.records["full_score"]
    told = replace(kept, parsed=replace(kept.parsed, details={"reasons": {"cpr_01": "so \ud83d"}}))
    write_predictions([told], tmp_path / "p.jsonl")  # is saved


SHOWN = {"mode": "frames", "n_frames": 64, "indices": [30, 32], "sampler": "s"}

CONDITIONS: list[tuple[dict[str, Any], str]] = [
    ({"media": {"mode": "video"}}, "media mode (frames, video)"),
    ({"media": {"mode": "frames", "n_frames": 32, "indices": [0, 2], "sampler": "s"}}, "number of frames"),
    ({"media": {"mode": "frames", "n_frames": 2, "indices": [0, 1], "sampler": "s"}}, ""),  # the whole of a short one
    ({"media": {"mode": "unknown"}}, ""),
    ({"media": {**SHOWN, "pixels": 5}}, "pixels (4, 5)"),
    ({"media": {**SHOWN, "pixels": 4, "decoder": {"av": "17.1.0"}}}, ""),
    ({"setting": "clip_score", "media": {**SHOWN, "n_frames": 3}}, "number of frames"),
    ({"setting": "clip_score", "media": {**SHOWN, "n_frames": 3, "indices": [30, 31, 32]}}, ""),  # a short clip
    ({"setting": "clip_score", "media": {**SHOWN, "n_frames": 3, "density": "matched"}}, ""),  # its length decides
    ({"media": {**SHOWN, "n_frames": 3, "mismatched_video": "v2"}}, ""),  # that of the other video
    ({"asking": "reasoned"}, "way of asking (plain, reasoned)"),
    ({"reply_schema": "0123456789ab"}, "use of JSON schemas (given, none)"),
    ({"usage": {"model": "other"}}, "model (m, other)"),
]
SCHEMAS = [{"reply_schema": digest} for digest in ("0123456789ab", "0123456789ac", "0123456789ad")]
"""Of steps with scales of their own."""


@pytest.mark.parametrize(("change", "said"), CONDITIONS)
def test_parts_that_were_asked_otherwise_are_refused_by_what_their_records_state(
    dataset: Dataset, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    media = {**SHOWN, "indices": [0, 2], "pixels": 4, "decoder": {"av": "15.1.0"}}
    setting = change.get("setting", "full_score")
    asked = [one for one in complete_run(dataset) if one["setting"] == setting][:3]
    records = [{**one, "media": media, "usage": {"model": "m"}} for one in asked]
    records[2] |= change
    paths = [logged(tmp_path / f"{n}_samples_a.jsonl", part) for n, part in enumerate((records[:2], records[2:]))]
    found = errors(read_run(paths, dataset, strict=False))
    assert (f"parts of the run differ in {said}" in found) if said else not found
    paths = [logged(tmp_path / "schemas.jsonl", [one | schema for one, schema in zip(asked, SCHEMAS, strict=True)])]
    assert not errors(read_run(paths, dataset, strict=False))


def test_another_data_set_is_refused(dataset: Dataset, tmp_path: Path) -> None:
    records = [{**record, "dataset": "f" * 64} for record in complete_run(dataset)]
    path = logged(tmp_path / "1_samples_a.jsonl", records)
    with pytest.raises(DataError, match=f"made on dataset ffffffffffff, scored on {dataset.digest[:12]}"):
        read_run(path, dataset)
    assert read_run(path, dataset, allow=["dataset"]).records


def test_paths_without_predictions_are_refused(dataset: Dataset, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_rows(tmp_path / "other.jsonl", [{"doc_id": 0}])
    cases = {
        "absent": "no such file or folder",
        "empty": r"no \*\.jsonl file",
        "other.jsonl": "no line is a prediction",
    }
    for name, message in cases.items():
        with pytest.raises(DataError, match=message):
            read_run(tmp_path / name, dataset)
    write_rows(tmp_path / "many.jsonl", repeat([], 1_100))
    write_rows(tmp_path / "empty" / "p.jsonl", [{**FULL, "scores": {"cpr_01": 1}}])
    assert len(read_run(tmp_path / "empty", dataset).records["full_score"]) == 1  # a prediction file in a folder
    *_, last = read_run(tmp_path / "many.jsonl", dataset, strict=False).problems
    assert (last.code, last.line) == ("too-many-errors", 1_000)
