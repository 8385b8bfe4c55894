"""The fixtures of the rooms that runs come from: dataset folders, and outputs of lmms-eval."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.data.conftest import _good, edit, folder
from tests.runs import exams, make_run

__all__ = ["_good", "edit", "exams", "folder", "make_run"]


@pytest.fixture(scope="session")
def three(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exams with a third physician, who takes a point off every step of the first video."""
    root = tmp_path_factory.mktemp("three") / "exams"
    (root / "media").mkdir(parents=True)
    (root / "dataset.yaml").write_text("name: three\nversion: '1'\nsynthetic: true\n")
    rows = [json.loads(line) for line in (short_demo / "videos.jsonl").read_text().splitlines()]
    for number, row in enumerate(rows):
        for step in row["steps"]:
            points = step["score"]["rater_a"]
            step["score"]["rater_c"] = max(0, points - 1) if number == 0 else points
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for file in (short_demo / "media").iterdir():
        os.link(file, root / "media" / file.name)
    (root / "rubric.yaml").write_bytes((short_demo / "rubric.yaml").read_bytes())
    return root
