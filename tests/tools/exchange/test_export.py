"""``siming run export``: what the schema of Every Eval Ever says of it, and what must not be in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from siming_tasks.cli import main
from siming_tasks.data import Dataset, withhold
from siming_tasks.results.run import read_run, score_predictions
from tests.runs import write_run

SCHEMA = json.loads((Path(__file__).with_name("every_eval_ever") / "eval.schema.json").read_text())


@pytest.fixture(scope="module")
def folder(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with some errors of its own, one refusal and one failed request that holds a key."""
    replies = {0: "I cannot help with that.", 1: "[LMMS_EVAL_REQUEST_FAILED] api_key=sk-abcdefghijklmnopqrstuv"}
    out = tmp_path_factory.mktemp("runs") / "run"
    return write_run(exams, out, "rater_b", model="org/judge-7B", noise=0.2, replies=replies)


def export(folder: Path, exams: Dataset, out: Path) -> Path:
    """The file that the command wrote."""
    assert main(["run", "export", str(folder), str(out), "--data", str(exams.root)]) == 0
    (file,) = [path for path in out.rglob("*") if path.is_file()]
    return file


def test_the_aggregate_is_of_the_schema(folder: Path, exams: Dataset, tmp_path: Path) -> None:
    file = export(folder, exams, tmp_path)
    found = json.loads(file.read_text())
    assert file.relative_to(tmp_path).parts[:4] == ("data", "siming-bench", "org", "judge-7B")
    jsonschema.Draft7Validator(SCHEMA).validate(found)
    with pytest.raises(jsonschema.ValidationError):  # the check can fail
        jsonschema.Draft7Validator(SCHEMA).validate({**found, "evaluation_results": [{}]})
    scores = score_predictions(exams, folder)
    told = {row["evaluation_result_id"]: row["score_details"]["score"] for row in found["evaluation_results"]}
    assert told == {
        f"{name}/{row.metric}/{row.table}": row.value
        for name in scores.settings
        for row in scores.rows(name).of(row="all steps")
        if row.value is not None
    }
    errors = {row["evaluation_result_id"]: row["score_details"]["uncertainty"] for row in found["evaluation_results"]}
    kappa = scores.rows("full_score").one("ranked", "all steps", "qwk")
    assert errors["full_score/qwk/ranked"]["standard_error"]["value"] == kappa.stderr
    assert all("[SYNTHETIC siming-demo]" in row["evaluation_name"] for row in found["evaluation_results"])
    assert "sk-abc" not in file.read_text() and "I cannot help" not in file.read_text()


def test_an_undefined_metric_is_named_and_has_no_number(
    exams: Dataset, make_run: Callable[..., Path], tmp_path: Path
) -> None:
    run = make_run(exams, tmp_path / "run", "all_correct", settings=("full_error",))
    found = json.loads(export(run, exams, tmp_path / "out").read_text())
    assert "full_error/mcc/answered" not in {row["evaluation_result_id"] for row in found["evaluation_results"]}
    assert found["source_metadata"]["additional_details"]["full_error/mcc answered"]


def test_without_labels_there_is_no_number(
    folder: Path, exams: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    withhold(exams.root, tmp_path / "public", tmp_path / "key.json")
    records = [record for rows in read_run(folder, exams).records.values() for record in rows if record.status == "ok"]
    lines = [json.dumps(record.to_prediction()) + "\n" for record in records]
    (tmp_path / "answers.jsonl").write_text("".join(lines))
    words = [
        "run",
        "export",
        str(tmp_path / "answers.jsonl"),
        str(tmp_path / "out"),
        "--data",
        str(tmp_path / "public"),
    ]
    assert main(words) == 1
    assert "the labels are withheld" in capsys.readouterr().err and not (tmp_path / "out").exists()
    assert main([*words, "--labels", str(tmp_path / "key.json")]) == 0


ACCOUNT = "acme-hospital"
NAMES = (f"ft:gpt-4o-2024-08-06:{ACCOUNT}::9abc", f"https://{ACCOUNT}.openai.azure.com/deployments/gpt-4o?sig=1f2e",
         f"/home/{ACCOUNT}/ckpt/qwen-7b", f"runs/{ACCOUNT}/ckpt/qwen-7b",
         f"https://user:{ACCOUNT}@host/v1/gpt-4o")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_export_tells_the_account_behind_a_model(name: str, exams: Dataset, tmp_path: Path) -> None:
    """The names under which models were asked for and answered stand in the usage of records and in arguments."""
    run = write_run(exams, tmp_path / "run", "rater_b", model=name, settings=("full_score",))
    (log,) = run.glob("*.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line["siming_stderr"]["usage"] = {"model": name, "served": name, "prompt_tokens": 12_345_678, "latency": 1.5}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = export(run, exams, tmp_path / "out").read_text()
    assert ACCOUNT not in text and "1f2e" not in text
