"""What other places ask for to list the benchmark: made by one script, valid for those who check it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
REPOSITORY, COMMIT = "https://github.com/some-owner/siming-tasks", "0123456789" * 4


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("entries") / "out"
    command = [sys.executable, str(ROOT / "utils" / "make_register_entries.py"), str(folder), REPOSITORY, COMMIT]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return folder


def decorated(path: Path) -> set[str]:
    """Functions of a file that are marked as tasks of Inspect."""
    found = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)]
    return {node.name for node in found if "task" in map(ast.unparse, node.decorator_list)}


def test_the_register_has_an_entry_for_each_task_of_inspect_and_points_at_it(out: Path) -> None:
    entries = [yaml.safe_load(path.read_text()) for path in sorted(out.glob("inspect_evals/register/*/eval.yaml"))]
    tasks = [task for entry in entries for task in entry["tasks"]]
    assert len(entries) == len(tasks) == 4
    (file,) = {task["task_path"] for task in tasks}
    assert decorated(ROOT / file) == {task["name"] for task in tasks} == {entry["id"] for entry in entries}
    assert {entry["source"]["repository_commit"] for entry in entries} == {COMMIT}
    assert all(entry["source"]["maintainers"] == ["some-owner"] for entry in entries)


def test_the_entries_are_valid_for_inspect_evals(out: Path) -> None:
    metadata = pytest.importorskip("inspect_evals.metadata")
    for path in out.glob("inspect_evals/register/*/eval.yaml"):
        assert metadata.ExternalEvalMetadata.model_validate(yaml.safe_load(path.read_text())).package == "siming-tasks"


def test_a_commit_that_is_none_is_refused(tmp_path: Path) -> None:
    script = ROOT / "utils" / "make_register_entries.py"
    command = [sys.executable, str(script), str(tmp_path / "x"), REPOSITORY, "main"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "40 digits" in done.stderr and not (tmp_path / "x").exists()
