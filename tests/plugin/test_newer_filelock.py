"""Runs where filelock lacks the private module that lmms-eval 0.7.3 imports, and what lmms-eval loses there."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.plugin import host as touched
from tests.lmms_eval_runs import ROOT, environment
from tests.plugin.test_saved_run import ORACLE

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]

WITHOUT = """
import sys
sys.modules["filelock._api"] = None  # its import fails from here on
from lmms_eval.cli.dispatch import main
main()
"""


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filelock")
    words = ["-m", "pip", "install", "-q", "--no-deps", "--retries", "0", "--timeout", "20", "--target", folder]
    if subprocess.run([sys.executable, *words, "filelock>=4.3"], capture_output=True).returncode:
        pytest.skip("needs the package registry")
    return folder


def test_a_run_needs_no_private_module_of_filelock(host: Callable[..., Any], short_demo: Path, tmp_path: Path) -> None:
    (script := tmp_path / "without.py").write_text(WITHOUT)
    run = host(*ORACLE, "siming_clip_error", "--limit", "2", data=short_demo, script=str(script))
    assert run.code == 0 and run.task("clip_error")["coverage"] == 1.0


def test_lmms_eval_keeps_its_guard_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    assert touched.shields() == {}, "the installed filelock has the module"
    monkeypatch.setitem(sys.modules, "filelock._api", None)
    assert touched.shields().keys() == {touched.FILELOCK_GUARD}


@pytest.mark.weekly
def test_the_check_of_imports_wants_a_row_for_what_is_missing(tmp_path: Path, newer: Path) -> None:
    page = (ROOT / "docs" / "howto" / "release.md").read_text(encoding="utf-8")
    (before := tmp_path / "before.md").write_text(re.sub(r"\n\| `filelock\._api`.*", "", page), encoding="utf-8")
    command = [sys.executable, str(ROOT / "utils" / "check_imports.py")]
    for words, code, said in (
        ([before], 1, "MISSING filelock._api (lmms_eval/evaluator.py, line "),
        ([], 0, "others have a shield"),
    ):
        done = subprocess.run(
            [*command, *words], env=environment(PYTHONPATH=str(newer)), capture_output=True, text=True
        )
        assert done.returncode == code and said in done.stdout, done.stdout + done.stderr[-2000:]
