"""The tutorials do what they say: their commands run in their order, and print what stands on the page."""

import importlib
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.doc_pages import pages
from tests.lmms_eval_runs import Warm

pytestmark = pytest.mark.weekly

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "utils"))
tutorials: Any = importlib.import_module("run_tutorials")


@pytest.mark.host
@pytest.mark.parametrize("names", tutorials.CHAINS, ids=lambda names: names[0])
def test_commands_of_the_tutorials_give_the_documented_output(
    names: tuple[str, ...], tmp_path: Path, warm: Warm
) -> None:
    """Their lmms-eval runs in forks of one process."""
    path = os.pathsep.join([str(Path(warm.command()).parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    assert tutorials.walk(names, tmp_path, {"PATH": path}) == []


def test_the_notebooks_show_what_their_cells_show_today(short_demo: Path, tmp_path: Path) -> None:
    """They draw the exams of ``short_demo``, which are there already."""
    shutil.copytree(short_demo, tmp_path / "exams")
    assert tutorials.run_notebooks(tmp_path) == []


def test_every_tutorial_is_run_and_skipped_commands_state_a_reason() -> None:
    found = {name: path.read_text("utf-8") for name, path in pages().items() if path.parent.name == "tutorials"}
    assert {name for names in tutorials.CHAINS for name in names} == set(found)
    for name, text in found.items():
        for block in tutorials.BLOCK.finditer(text):
            assert block["kind"] in ("sh", "text", "yaml", "diff"), (name, block["kind"])
            if (mark := block["mark"] or "").startswith("not run"):
                assert re.fullmatch(r"not run: \w.{9,}", mark), (name, mark)
