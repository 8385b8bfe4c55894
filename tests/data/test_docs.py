"""The page for users: its commands parse, its prediction lines are read."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from siming_tasks.data import open_dataset
from siming_tasks.results.read_predictions import load_predictions
from tests.cli.command_lines import find_words, parse

PAGE = (Path(__file__).parents[2] / "docs/reference/data.md").read_text(encoding="utf-8")
COMMANDS = sorted(
    set(
        re.findall(
            r"^(?:\$ )?(siming (?:data template|data build|data check|score|data split) .*)$", PAGE, re.MULTILINE
        )
    )
)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_exist(command: str) -> None:
    assert isinstance(parse(shlex.split(command)[1:]), dict)


def test_there_are_commands_for_every_task() -> None:
    named = {find_words(shlex.split(command)[1:])[0] for command in COMMANDS}
    assert named == {"data template", "data build", "data check", "score", "data split"}


def test_the_prediction_lines_are_read(folder: Path, tmp_path: Path) -> None:
    lines = re.findall(r'^\{"setting".*$', PAGE, re.MULTILINE)
    assert len(lines) == 4
    path = tmp_path / "p.jsonl"
    path.write_text("\n".join(lines).replace('"cpr_02": 3', '"cpr_02": 1'))
    found = load_predictions(path, open_dataset(folder))
    assert set(found.records) == {json.loads(line)["setting"] for line in lines}
    assert all(record["answers"] for records in found.records.values() for record in records)
