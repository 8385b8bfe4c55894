"""The tasks of Inspect, run by Inspect with its own stand-in for a model; skipped where it is not installed."""

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.plugin import hooks
from siming_tasks.study.results.read_predictions import load_predictions
from siming_tasks.study.results.run import read_run, score_run
from tests.plugin.hooks.conftest import docs, reply

NAME = "siming_tasks/siming_full_score"
ASK = """
import json, sys
from base64 import b64decode
from hashlib import sha256

from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

name = sys.argv[1]
said, failing = json.load(open("said.json"))

def answer(input, tools, tool_choice, config):
    urls = [part.image.partition("base64,")[2] for part in input[0].content if part.type == "image"]
    shown = [sha256(b64decode(url)).hexdigest()[:32] for url in urls]
    text = said[" ".join([*shown, input[0].content[-1].text])]
    if text == failing:
        raise RuntimeError("the service is away, api_key=sk-abcdefghijklmnopqrst")
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=7, output_tokens=5, total_tokens=12)
    return output

def ask(**how):
    (log,) = eval(name, model=get_model("mockllm/model", custom_outputs=answer), log_dir="logs", display="none", **how)
    assert log.results, [sample.error for sample in log.samples]
    metrics = {key: metric.value for key, metric in log.results.scores[0].metrics.items()}
    return [log.location.removeprefix("file://"), log.status, metrics]

logs = [ask(fail_on_error=False, epochs=2)]
failing = None
import siming_tasks.tools.exchange.inspect_tasks as tasks
tasks._EPOCHS.clear()
logs.append(ask())
print(json.dumps(logs))
"""


def asked(folder: Path, run: Dataset, failing: str) -> list[Any]:
    """The logs of two evaluations; the stand-in for a model knows each request by its frames.

    `siming run requests` names files of frames by their digest: another frame or text is an unknown request.
    """
    requests = folder / "job.jsonl"
    flags = ["--model", "m", "--setting", "full_score", "--frames", "2", "--files"]
    assert main(["run", "requests", str(requests), *flags]) == 0
    hooks.dataset_kwargs  # noqa: B018 - another run begins
    answers = {doc["id"]: reply(doc, "rater_b") for doc in docs("full_score")}
    said = {}
    for line in map(json.loads, requests.read_text(encoding="utf-8").splitlines()):
        (turn,) = line["body"]["messages"]
        shown = [Path(part["image_url"]["url"]).stem for part in turn["content"] if part["type"] == "image_url"]
        assert len(shown) == 2
        said[" ".join([*shown, turn["content"][-1]["text"]])] = answers[line["custom_id"].partition("#")[0]]
    (folder / "said.json").write_text(json.dumps([said, answers[failing]]), encoding="utf-8")
    outside = {**os.environ, "SIMING_DATA": str(run.root), "SIMING_FRAMES": "2"}
    command = [sys.executable, "-c", ASK, NAME]
    done = subprocess.run(command, cwd=folder, env=outside, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return list(json.loads(done.stdout))


def lines_of(log: str, out: Path, epoch: int = 1) -> None:
    """Write the lines of a log's samples as docs/howto/elsewhere.md does."""
    from inspect_ai.log import read_eval_log

    with out.open("w", encoding="utf-8") as stream:
        for sample in read_eval_log(log).samples or ():
            if sample.epoch == epoch and sample.scores:
                print(json.dumps(sample.scores["siming_scorer"].metadata["line"]), file=stream)


def test_inspect_finds_the_task_asks_the_same_and_prints_the_numbers_of_siming_score(
    run: Dataset, tmp_path: Path
) -> None:
    pytest.importorskip("inspect_ai")
    if not [point for point in entry_points(group="inspect_ai") if point.name == "siming_tasks"]:
        pytest.skip("this environment's metadata are older than the entry point: pip install -e .")
    failing = docs("full_score")[1]["id"]
    (twice, twice_ended, epochs), (once, once_ended, printed) = asked(tmp_path, run, failing)
    assert (twice_ended, once_ended, epochs) == ("success", "success", {"epochs": 2})
    out = tmp_path / "replies.jsonl"

    lines_of(once, out)
    rows = score_run(read_run(out, run), Options.from_env()).rows("full_score").of("answered", "all steps")
    expected = {row.metric: row.value for row in rows} | {f"{row.metric}_stderr": row.stderr for row in rows}
    assert printed == {name: value for name, value in expected.items() if value is not None}
    assert {"plcc", "srcc", "qwk", "coverage"} <= set(printed) and printed["coverage"] == 1

    lines_of(twice, out, epoch=2)
    records = {record["id"]: record for record in load_predictions(out, run).records["full_score"]}
    assert {record["status"] for record in records.values()} == {"ok"} and failing not in records
    assert {record["usage"]["finish_reason"] for record in records.values()} == {"stop"}
    assert {record["usage"]["prompt_tokens"] for record in records.values()} == {7}
