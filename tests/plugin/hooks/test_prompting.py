"""SIMING_PROMPT and SIMING_ASK from the documents of a task to its results."""

import json
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.data import Dataset
from siming_tasks.plugin import hooks
from siming_tasks.study.results.comparable import TaskRun, comparable
from siming_tasks.study.results.lmms_eval_commands import missing_requests
from siming_tasks.study.results.read_predictions import load_predictions
from siming_tasks.study.results.run import read_run
from tests.plugin.hooks.conftest import aggregated, docs, processed
from tests.records import distinct
from tests.study.results.test_read import logged

FULL = "full_score"


def numbers(aggregates: dict[str, Any]) -> dict[str, Any]:
    whole = aggregates["siming_stderr"]
    return {name: whole[name] for name in ("rows", "counts", "statuses", "missing", "requests")}


@pytest.mark.parametrize(("name", "unit", "share"), [(FULL, "skill", 3), ("full_error", "step", 33)])
def test_an_exam_asked_about_in_parts_is_one_exam(name: str, unit: str, share: int, run: Dataset, begin: Any) -> None:
    """The same answers, asked for one by one, are the same numbers; the results say how they were asked for."""
    whole = aggregated(processed(name, "rater_b"))
    begin(run.root, ASK=unit)
    asked = docs(name)
    assert len(asked) == share * len(run.videos) and len({doc["id"] for doc in asked}) == len(asked)
    parts = processed(name, "rater_b")
    aggregates = aggregated(parts)
    assert numbers(aggregates) == numbers(whole)
    assert aggregates["siming_stderr"]["prompt"]["asking"] == unit and "asking" not in whole["siming_stderr"]["prompt"]
    for key, value in whole.items():
        assert key == "siming_stderr" or aggregates[key] == value
    assert json.loads(getattr(hooks, f"metadata_{name}")["siming_options"])["ask"] == unit
    assert getattr(hooks, f"alias_{name}").startswith(f"siming_{name} (by {unit})")
    first = hooks.doc_to_text(asked[0], {"media": "video"})
    assert first.count("Requirement: ") == (1 if unit == "step" else 19) and "examination" in first


def test_a_part_that_fails_costs_its_steps_and_no_other(run: Dataset, begin: Any, tmp_path: Path) -> None:
    begin(run.root, ASK="step")
    parts = processed(FULL, "rater_b")
    asked = docs(FULL)
    parts[1] = hooks.process_results(asked[1], ["[LMMS_EVAL_REQUEST_FAILED after 3 retries] timeout"])
    parts[40] = hooks.process_results(asked[40], ["I cannot help with that."])
    records = [row["siming_stderr"] for row in parts]
    merged, conflicts = distinct(records)
    assert len(merged) == len(run.videos) and not conflicts
    first, second = merged[:2]
    assert first["status"] == "request_failed" and len(first["answers"]) == 32 and len(first["parts"]) == 33
    assert second["status"] == "partial" and second["missing"] == {asked[40]["part"].removeprefix("step:"): "absent"}
    path = logged(tmp_path / "1_samples_siming_full_score.jsonl", records)
    read = read_run(path, run)
    assert [dict(record)["answers"] for record in read.records[FULL]] == [record["answers"] for record in merged]
    assert [record["prompt"] for record in read.records[FULL]] == [record["prompt"] for record in merged]
    missing = missing_requests(read, run, [FULL])[FULL][1]
    assert [request.id for request in missing] == [f"{first['id']}/{asked[1]['part']}"]
    # asked again, in a second log: the answer takes the failure's place
    logged(tmp_path / "2_samples_siming_full_score.jsonl", [processed(FULL, "rater_b")[1]["siming_stderr"]])
    again = read_run(tmp_path, run)
    assert again.records[FULL][0]["status"] == "ok" and len(again.records[FULL][0]["answers"]) == 33
    assert missing_requests(again, run, [FULL])[FULL][1] == []


def test_the_same_part_twice_with_another_answer_is_a_conflict(run: Dataset, begin: Any, tmp_path: Path) -> None:
    begin(run.root, ASK="skill")
    row = processed(FULL, "rater_a")[0]["siming_stderr"]
    other = {**row, "answers": dict.fromkeys(row["answers"], 0.0)}
    merged, conflicts = distinct([row, row, other])
    assert conflicts == [row["id"]] and merged[0]["answers"] == {}
    for number, record in enumerate((row, other)):
        logged(tmp_path / f"{number}_samples_siming_full_score.jsonl", [record])
    (problem,) = [p for p in load_predictions(tmp_path, run).problems if p.severity == "error"]
    assert problem.code == "prediction-twice" and "with a different answer" in problem.what


def test_reasoned_and_plain_are_not_compared_unless_asked(run: Dataset, begin: Any, tmp_path: Path) -> None:
    plain = [row["siming_stderr"] for row in processed(FULL, "rater_b")]
    assert hooks.generation_kwargs["max_new_tokens"] == 4096
    begin(run.root, PROMPT="reasoned")
    assert hooks.generation_kwargs["max_new_tokens"] == 16_384
    lead = "The trainee knelt at 3 s and pressed {too shallow}.\n- cpr_01: fine, 2 points\n\n"
    reasoned = processed(FULL, "rater_b", lead)
    aggregates = aggregated(reasoned)
    assert aggregates["siming_stderr"]["prompt"]["template"] != "888bdb743a0b"
    assert aggregates["siming_stderr"]["prompt"]["asking"] == "reasoned" and aggregates["coverage"] == 1
    assert hooks.metadata_full_score["siming_prompt"] != "1-A 888bdb743a0b"
    entrants = []
    for name, records in (("a", plain), ("b", [row["siming_stderr"] for row in reasoned])):
        path = logged(tmp_path / f"{name}_samples_siming_full_score.jsonl", records)
        entrants.append(TaskRun.of(read_run(path, run), FULL))
    (reason,) = comparable(*entrants)
    assert "differ in prompt" in reason and comparable(*entrants, allow=["prompt"]) == []
