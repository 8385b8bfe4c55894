"""The harness for NeMo Evaluator: its command is one that lmms-eval and ``siming score`` take, for every setting."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
import pytest
import yaml

from siming_tasks.cli import main
from siming_tasks.data import Dataset
from siming_tasks.tasks import BENCHMARK_TASKS
from tests.cli.command_lines import parse
from tests.report.conftest import write_run

HARNESS = Path(__file__).parents[3] / "utils" / "nemo_evaluator" / "core_evals" / "siming"


def command(task: str, **extra: Any) -> list[list[str]]:
    """The words of each command in the line that NeMo Evaluator runs."""
    content = yaml.safe_load((HARNESS / "framework.yml").read_text())
    params = {**content["defaults"]["config"]["params"], "task": task, "limit_samples": 2}
    params["extra"] = {**params["extra"], **extra}
    config = SimpleNamespace(output_dir="out", params=SimpleNamespace(**params))
    endpoint = SimpleNamespace(api_key_name="KEY", model_id="m", url="http://127.0.0.1/v1/chat/completions")
    how = {"config": config, "target": SimpleNamespace(api_endpoint=endpoint)}
    line = jinja2.Template(content["defaults"]["command"]).render(how)
    return [shlex.split(part) for part in line.split("&&")]


def test_every_setting_has_a_command_that_is_understood() -> None:
    evaluations = yaml.safe_load((HARNESS / "framework.yml").read_text())["evaluations"]
    assert [each["defaults"]["config"]["params"]["task"] for each in evaluations] == list(BENCHMARK_TASKS)
    for name in BENCHMARK_TASKS:
        *exports, asked, scored = command(name, data="exams", frames=4)
        assert [words[1] for words in exports] == ["OPENAI_API_KEY=$KEY", "SIMING_DATA=exams", "SIMING_FRAMES=4"]
        assert asked[asked.index("--tasks") + 1] == f"siming_{name}" and "base_url=http://127.0.0.1/v1," in asked[4]
        assert scored[:2] == ["siming", "score"] and scored[-2:] == [">", "out/siming_scores.json"]
        assert parse(scored[1:-2])
    assert "--data" not in command("full_score")[-1]


def test_results_are_those_of_score(exams: Dataset, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("nemo_evaluator")
    run = write_run(exams, tmp_path / "run", "rater_b", settings=("full_score",))
    assert main(["score", str(exams.root), str(run), "--json", "--resamples", "50"]) == 0
    (tmp_path / "siming_scores.json").write_text(printed := capsys.readouterr().out)
    results = runpy.run_path(str(HARNESS / "output.py"))["parse_output"](str(tmp_path)).model_dump()
    for name, content in json.loads(printed)["settings"].items():
        (found,) = [task["metrics"] for key, task in results["tasks"].items() if re.match(rf"siming_{name} ", key)]
        assert found["coverage"]["scores"]["coverage"]["value"] == content["metrics"]["coverage"]["value"]
