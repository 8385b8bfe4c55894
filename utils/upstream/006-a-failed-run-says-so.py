"""An error in scoring is not repeated, is shown as what it is, and the command that it ended does not exit with 0."""

import sys
from pathlib import Path

import pytest

from lmms_eval.__main__ import cli_evaluate

TASK = """\
task: broken
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{folder}/test.json"}}}}
test_split: test
output_type: generate_until
doc_to_visual: !function utils.doc_to_visual
doc_to_text: question
doc_to_target: answer
process_results: !function utils.process_results
metric_list: [{{metric: accuracy, aggregation: mean, higher_is_better: true}}]
metadata: {{version: 0}}
"""
UTILS = """\
from pathlib import Path


def doc_to_visual(doc):
    return []


def process_results(doc, results):
    with Path(__file__).with_name("calls").open("a") as calls:
        calls.write("x")
    return {"accuracy": doc["key that is not there"]}
"""


def test_an_error_in_scoring_ends_the_command_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.yaml").write_text(TASK.format(folder=tmp_path))
    (tmp_path / "utils.py").write_text(UTILS)
    (tmp_path / "test.json").write_text('{"question": "?", "answer": "A"}\n')
    monkeypatch.setattr(sys, "argv", ["lmms-eval", "--model", "dummy", "--tasks", "broken", "--include_path", str(tmp_path), "--batch_size", "1"])
    code = 0
    try:
        cli_evaluate()
    except SystemExit as end:
        code = int(end.code or 0)
    said = "".join(capfd.readouterr())
    assert "key that is not there" in said
    assert code == 1, "the command failed and exited with 0"
    assert (tmp_path / "calls").read_text() == "x", "the error was repeated"
    assert "RetryError" not in said
