"""A run ends with what to type next, and what it says to type works."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.data import withhold
from siming_tasks.plugin.verify_output import ExitMessage

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]

ORACLE = ("--model", "siming_reference", "--model_args", "kind=oracle,media=False", "--tasks", "siming_full_score")
WITHOUT = """
import sys
for option in {drop}:
    at = sys.argv.index(option)
    del sys.argv[at : at + (2 if option == "--output_path" else 1)]
from lmms_eval.cli.dispatch import main
main()
"""


def last_line(run: Any) -> str:
    assert run.code == 0, run.output[-3000:]
    table, _, line = run.output.rpartition("\nsiming-tasks: ")
    assert "|siming_full_score" in table and "|" not in line  # after the table
    return str(line.splitlines()[0])


def test_the_last_line_is_a_command_that_works(
    host: Callable[..., Any], short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = host(*ORACLE, data=short_demo, name="my run")  # a space: the path must come quoted
    words = shlex.split(last_line(run).removeprefix("Next: "))
    assert words[:2] == ["siming", "report"] and Path(words[2]).is_relative_to(run.folder)
    assert main([*words[1:], "--out", str(tmp_path / "report"), "--video-files", "none"]) == 0
    assert (tmp_path / "report" / "index.html").is_file(), capsys.readouterr().err


def test_without_labels_the_next_step_is_to_send_the_answers(
    host: Callable[..., Any], short_demo: Path, tmp_path: Path
) -> None:
    public = withhold(short_demo, tmp_path / "public", tmp_path / "labels.key.json")
    line = last_line(host(*ORACLE[:-3], "kind=all_correct,media=False", *ORACLE[-2:], data=public.root))
    assert line.startswith("Next: siming board submit ")


@pytest.mark.parametrize(
    ("drop", "expected"),
    [
        (("--log_samples",), "The replies of this run are not kept"),
        (("--log_samples", "--output_path"), "Nothing of this run is kept. Add --output_path results --log_samples"),
    ],
)
def test_output_that_is_not_saved_is_reported(
    host: Callable[..., Any], short_demo: Path, tmp_path: Path, drop: tuple[str, ...], expected: str
) -> None:
    script = tmp_path / "without.py"
    script.write_text(WITHOUT.format(drop=drop))
    assert last_line(host(*ORACLE, data=short_demo, script=str(script))).startswith(expected)


def test_several_runs_of_one_process_are_one_report() -> None:
    ended = ExitMessage([Path("out/a"), Path("out/b c"), Path("out/a")])
    assert str(ended) == "Next: siming report out/a 'out/b c'"
