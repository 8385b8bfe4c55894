"""``siming run export``: what other people's readers and schemas say of it, and what must not be in it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from siming_tasks.cli import main
from siming_tasks.common.redact import public_name
from siming_tasks.data import Dataset, open_dataset, withhold
from siming_tasks.options import Options
from siming_tasks.report.build import write_report
from siming_tasks.report.table import Number, escape_tex
from siming_tasks.results.run import read_run, score_predictions, score_run
from siming_tasks.tasks import BENCHMARK_TASKS
from siming_tasks.tools.exchange.exporters import EXPORTERS

SCHEMAS = Path(__file__).with_name("every_eval_ever")
FEW = ("--resamples", "100")
HOSTILE = "org/<img src=x onerror=alert(1)>\\input{/etc/passwd}%$&_#"


@pytest.fixture(scope="module")
def folder(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with some errors of its own, one refusal and one failed request that holds a key."""
    from tests.report.conftest import write_run

    replies = {0: "I cannot help with that.", 1: "[LMMS_EVAL_REQUEST_FAILED] api_key=sk-abcdefghijklmnopqrstuv"}
    out = tmp_path_factory.mktemp("runs") / "run"
    return write_run(exams, out, "rater_b", model="org/judge-7B", noise=0.2, replies=replies)


def export(folder: Path, exams: Dataset, out: Path, form: str, *more: str) -> Path:
    words = ["run", "export", str(folder), str(out), "--format", form, "--data", str(exams.root), *FEW, *more]
    assert main(words) == 0
    return out


def text_of(out: Path) -> str:
    """All that an export wrote, decoded where it is packed."""
    files = [out] if out.is_file() else [path for path in out.rglob("*") if path.is_file()]
    parts = []
    for file in files:
        if file.suffix == ".parquet":
            parts.append(str(pyarrow.parquet.read_table(file).to_pylist()))
        elif file.suffix == ".eval":
            from inspect_ai.log import read_eval_log

            parts.append(read_eval_log(file).model_dump_json())
        else:
            parts.append(file.read_text())
    return "\n".join(parts)


def test_the_aggregate_is_of_the_schema(folder: Path, exams: Dataset, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    export(folder, exams, tmp_path, "every-eval-ever", "--with-labels")
    (file,) = tmp_path.rglob("*.json")
    (samples,) = tmp_path.rglob("*.jsonl")
    found = json.loads(file.read_text())
    assert file.relative_to(tmp_path).parts[:4] == ("data", "siming-bench", "org", "judge-7B")
    of = [json.loads((SCHEMAS / name).read_text()) for name in ("eval.schema.json", "instance_level_eval.schema.json")]
    jsonschema.Draft7Validator(of[0]).validate(found)
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    for line in lines:
        jsonschema.Draft7Validator(of[1]).validate(line)
    with pytest.raises(jsonschema.ValidationError):  # the check can fail
        jsonschema.Draft7Validator(of[0]).validate({**found, "evaluation_results": [{}]})
    beside = found["detailed_evaluation_results"]
    assert beside["file_path"] == samples.relative_to(tmp_path).as_posix()
    assert beside["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()
    assert beside["total_rows"] == len(lines) == 2 * 4 + 2 * 132
    assert {line["evaluation_id"] for line in lines} == {found["evaluation_id"]}
    numbers = score_predictions(exams, folder, Options(resamples=100)).settings
    told = {row["evaluation_result_id"]: row["score_details"]["score"] for row in found["evaluation_results"]}
    assert told == {
        f"{name}/{metric}": estimate["value"]
        for name, result in numbers.items()
        for metric, estimate in result["metrics"].items()
        if estimate["value"] is not None and not estimate["undefined"]
    }
    assert all("[SYNTHETIC siming-demo]" in row["evaluation_name"] for row in found["evaluation_results"])
    by_id = {line["sample_id"]: line for line in lines}
    first, second = (by_id[f"full_score/{video.video_id}"] for video in exams.videos[:2])
    assert first["evaluation"] == {"score": 0.0, "is_correct": False} and first["error"] == "refused"
    assert second["error"] == "request_failed"
    video, line = exams.videos[2], by_id[f"full_score/{exams.videos[2].video_id}"]
    truth = {step.step_id: step.consensus for step in video.applicable}
    given = json.loads(line["answer_attribution"][0]["extracted_value"])
    assert json.loads(line["input"]["reference"][0]) == truth
    assert line["evaluation"]["score"] == sum(given[step] == truth[step] for step in truth) / len(truth)


def test_an_undefined_metric_is_named_and_has_no_number(
    exams: Dataset, make_run: Callable[..., Path], tmp_path: Path
) -> None:
    run = make_run(exams, tmp_path / "run", "all_correct", settings=("full_error",))
    export(run, exams, tmp_path / "out", "every-eval-ever")
    (file,) = (tmp_path / "out").rglob("*.json")
    found = json.loads(file.read_text())
    assert "full_error/mcc" not in {row["evaluation_result_id"] for row in found["evaluation_results"]}
    assert found["source_metadata"]["additional_details"]["undefined full_error/mcc"]
    table = export(run, exams, tmp_path / "t.tex", "latex").read_text()
    starred = r"& always correct & \$0\.000\$\\textsuperscript\{\*\}"
    assert re.search(starred, table, re.MULTILINE) and "0.000* is undefined, printed as zero." in table


def test_a_log_is_one_that_inspect_reads(folder: Path, exams: Dataset, tmp_path: Path) -> None:
    log = pytest.importorskip("inspect_ai.log")
    export(folder, exams, tmp_path / "logs", "inspect")
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == sorted(
        f"siming_{name}.eval" for name in BENCHMARK_TASKS
    )
    found = log.read_eval_log(tmp_path / "logs" / "siming_full_score.eval")
    assert found.eval.model == "org/judge-7B" and found.eval.tags == ["SYNTHETIC"] and found.status == "success"
    numbers = score_predictions(exams, folder, Options(resamples=100)).settings["full_score"]["metrics"]
    (score,) = found.results.scores
    assert {name: metric.value for name, metric in score.metrics.items()} == {
        name: estimate["value"] for name, estimate in numbers.items() if not estimate["undefined"]
    }
    assert set(score.metadata["undefined"]) == {"plcc", "srcc"}  # two exams of four are answered
    assert [sample.scores["read"].value for sample in found.samples] == ["refused", "request_failed", "ok", "ok"]
    assert [sample.error is not None for sample in found.samples] == [False, True, False, False]
    out = tmp_path / "replies.jsonl"
    assert (
        main(["run", "import", str(tmp_path / "logs" / "siming_full_score.eval"), str(out), "--format", "inspect"]) == 0
    )
    again = score_predictions(exams, out, Options(resamples=100)).settings["full_score"]
    assert again["metrics"] == numbers


def test_parquet_and_lines_hold_what_the_run_holds(folder: Path, exams: Dataset, tmp_path: Path) -> None:
    table = pyarrow.parquet.read_table(export(folder, exams, tmp_path / "a.parquet", "parquet", "--with-labels"))
    assert table.schema.metadata[b"synthetic"] == b"True"
    run = read_run(folder, exams)
    rows = [row for row in table.to_pylist() if row["setting"] == "full_score"]
    assert len(table) == 4 * 132 and all(row["synthetic"] for row in rows)
    answers = {record["video_id"]: record["answers"] for record in run.records["full_score"]}
    for row in rows:
        assert row["points"] == answers[row["video_id"]].get(row["step_id"])
        assert row["reference_points"] == exams.video(row["video_id"]).step(row["step_id"]).consensus
    wrong = [row for row in table.to_pylist() if row["setting"] == "clip_error"]
    assert {row["verdict"] for row in wrong} == {"correct", "incorrect"} == {row["reference_verdict"] for row in wrong}
    lines = [json.loads(line) for line in export(folder, exams, tmp_path / "a.jsonl", "jsonl").read_text().splitlines()]
    assert len(lines) == 2 * 4 + 2 * 132 and lines[0]["reply"] == "I cannot help with that."
    assert all(line["synthetic"] for line in lines)


def test_a_table_is_latex_whatever_a_model_is_called(
    folder: Path, exams: Dataset, make_run: Callable[..., Path], tmp_path: Path
) -> None:
    other = make_run(exams, tmp_path / "other", "rater_a", model=HOSTILE)
    out = tmp_path / "t.tex"
    words = ["run", "export", str(folder), str(other), str(out), "--format", "latex", "--data", str(exams.root), *FEW]
    assert main(words) == 0
    table = out.read_text()
    result = score_run(read_run(folder, exams), Options(resamples=100)).settings["clip_error"]
    numbers = result["imputed"]["mcc"]  # by which runs are ranked
    assert numbers["low"] is None  # four exams are too few for an interval
    part = table.partition("Step clips, errors")[2].partition("end{table}")[0]
    assert re.search(rf"& org/\\allowbreak\{{\}}judge-7B[^&]* & [^&]*{numbers['value']:.3f}", part)
    assert Number(numbers["value"], 0.25, 0.75).to_tex() == f"${numbers['value']:.3f}$ $[0.250, 0.750]$"
    assert "SYNTHETIC data: simulated exams" in table and "\\input" not in table
    body = "\n".join(line for line in table.splitlines() if not line.startswith("%"))
    body = re.sub(r"\$-?[0-9.]+\$|\$\[-?[0-9.]+, -?[0-9.]+\]\$", "", body)  # numbers alone are in math mode
    assert "onerror" in body and not re.search(r"(?<!\\)[%$#]", body)
    assert escape_tex("[0pt] x") == "{[}0pt] x"
    assert escape_tex("a\\b{c}\n%") == r"a\textbackslash{}b\{c\} \%"


def test_several_runs_are_a_table_only(folder: Path, exams: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "export", str(folder), str(folder), "out", "--format", "jsonl", "--data", str(exams.root)]
    assert main(words) == 2
    assert "--format jsonl takes one run, and 2 were found." in capsys.readouterr().err


@pytest.mark.parametrize("form", ["every-eval-ever", "inspect", "jsonl", "parquet", "latex"])
def test_labels_do_not_leave(
    form: str, folder: Path, exams: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Consensus values that no answer and no step's scale explains would show: every label is moved to an odd one."""
    if form == "inspect":
        pytest.importorskip("inspect_ai")
    text = text_of(export(folder, exams, tmp_path / f"a.{form}", form))
    assert not re.search("reference_points|reference_verdict|\"reference\"|'reference'", text)
    assert "sk-abc" not in text and ("SYNTHETIC" in text or "synthetic" in text)
    withhold(exams.root, tmp_path / "public", tmp_path / "key.json")
    rows = tmp_path / "public.jsonl"
    run = read_run(folder, exams)
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines_of(run.records)))
    words = [
        "run",
        "export",
        str(rows),
        str(tmp_path / f"b.{form}"),
        "--format",
        form,
        "--data",
        str(tmp_path / "public"),
        *FEW,
    ]
    capsys.readouterr()
    assert main([*words, "--with-labels"]) == 1
    assert "the labels are withheld" in capsys.readouterr().err
    assert main([*words, "--labels", str(tmp_path / "key.json"), "--with-labels"]) == 1
    assert "the labels are withheld and do not leave. Leave --with-labels out." in capsys.readouterr().err
    assert not (tmp_path / f"b.{form}").exists()
    assert main([*words, "--labels", str(tmp_path / "key.json")]) == 0
    if form in ("jsonl", "parquet", "inspect"):
        if form == "inspect":  # whose logs are not replaced
            shutil.rmtree(tmp_path / "b.inspect")
        assert main(words) == 0  # answers without any label at hand
    if form == "inspect":  # nor any reply: what was read must not come back as an empty one
        log = str(tmp_path / "b.inspect" / "siming_clip_error.eval")
        assert main(["run", "import", log, str(tmp_path / "c.jsonl"), "--format", "inspect"]) == 1
        assert "was exported from answers without replies." in capsys.readouterr().err


def lines_of(records: Any) -> list[dict[str, Any]]:

    return [record.to_prediction() for rows in records.values() for record in rows if record.status == "ok"]


def test_a_reply_that_was_cut_is_cut_in_the_log(exams: Dataset, tmp_path: Path) -> None:
    """A cut reply that only the service reports counts as the same there and back."""
    pytest.importorskip("inspect_ai")
    ids = [f"full_error/{video.video_id}" for video in exams.videos]
    ends = ["length", "stop", None, "length"]
    lines = [
        {"id": name, "reply": "Let me see.", "usage": {"finish_reason": end}}
        for name, end in zip(ids, ends, strict=True)
    ]  # fmt: skip
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    export(tmp_path / "a.jsonl", exams, tmp_path / "logs", "inspect")
    out = tmp_path / "b.jsonl"
    assert (
        main(["run", "import", str(tmp_path / "logs" / "siming_full_error.eval"), str(out), "--format", "inspect"]) == 0
    )
    statuses = [record["status"] for record in read_run(out, exams).records["full_error"]]
    assert statuses == ["truncated", "unread", "unread", "truncated"]


def test_logs_of_another_run_are_not_replaced(
    folder: Path, exams: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").mkdir()
    (old := tmp_path / "logs" / "siming_full_score.eval").write_bytes(b"a log of some other run")
    command = ["run", "export", "--data", str(exams.root), str(folder), str(tmp_path / "logs"), "--format", "inspect"]
    assert main(command) == 1 and old.read_bytes() == b"a log of some other run"
    assert "siming_full_score.eval: is there already, perhaps of another run." in capsys.readouterr().err


ACCOUNT = "acme-hospital"
NAMES = (f"ft:gpt-4o-2024-08-06:{ACCOUNT}::9abc", f"https://{ACCOUNT}.openai.azure.com/deployments/gpt-4o?sig=1f2e",
         f"/home/{ACCOUNT}/ckpt/qwen-7b", f"runs/{ACCOUNT}/ckpt/qwen-7b",
         f"https://user:{ACCOUNT}@host/v1/gpt-4o")  # fmt: skip


@pytest.mark.parametrize("form", sorted(EXPORTERS.keys() - {"hub"}))
@pytest.mark.parametrize("name", NAMES)
def test_no_export_tells_the_account_behind_a_model(form: str, name: str, exams: Dataset, tmp_path: Path) -> None:
    """The names under which models were asked for and answered stand in the usage of records and in arguments."""
    from tests.report.conftest import write_run

    if form == "inspect":
        pytest.importorskip("inspect_ai")
    run = write_run(exams, tmp_path / "run", "rater_b", model=name, settings=("full_score",))
    (log,) = run.glob("*.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line["siming_stderr"]["usage"] = {"model": name, "served": name, "prompt_tokens": 12_345_678, "latency": 1.5}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    endings = {"jsonl": ".jsonl", "parquet": ".parquet", "latex": ".tex", "figure": ".svg"}
    out = export(run, exams, tmp_path / f"out{endings.get(form, '')}", form)
    text = text_of(out)
    assert ACCOUNT not in text and "1f2e" not in text
    if form == "jsonl":
        (usage,) = {json.dumps(json.loads(line)["usage"], sort_keys=True) for line in text.splitlines()}
        told = json.loads(usage)
        assert told["model"] == told["served"] == public_name(name) and told["prompt_tokens"] == 12_345_678
    # so do the pages and files of a report
    if form == "jsonl":
        report = write_report([run], exams, tmp_path / "report", Options(resamples=20), media="none", progress=False)
        assert not [path for path in report.rglob("*") if path.is_file() and ACCOUNT.encode() in path.read_bytes()]


def test_results_for_the_hub_are_read_back_by_its_own_library(
    folder: Path, exams: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ranked value of each setting, pointing at a task of the benchmark; a folder has no name there."""
    snapshot = tmp_path / "datasets--org--our-exams" / "snapshots" / "0123abcd"
    shutil.copytree(exams.root, snapshot)
    out = tmp_path / "model"
    export(folder, open_dataset(snapshot), out, "hub")
    (file,) = [path for path in out.rglob("*") if path.is_file()]
    assert file.relative_to(out).as_posix() == ".eval_results/our-exams.yaml"
    entries = parse_eval_result_entries(yaml.safe_load(file.read_text()))
    scores = score_run(read_run(folder, exams), Options(resamples=50)).settings
    assert {entry.task_id for entry in entries} <= scores.keys()
    for entry in entries:
        result = scores[entry.task_id]
        metric = "qwk" if entry.task_id.endswith("_score") else "mcc"
        assert entry.value == result["imputed"][metric]["value"]
        assert (entry.dataset_id, entry.dataset_revision) == ("org/our-exams", "0123abcd")
        assert "SYNTHETIC" in entry.notes and "missing answers count as full points" in entry.notes
    assert len(entries) >= 2
    assert main(["run", "export", str(folder), str(out), "--format", "hub", "--data", str(exams.root)]) == 1
    assert "give --data ORG/NAME@REVISION" in capsys.readouterr().err
