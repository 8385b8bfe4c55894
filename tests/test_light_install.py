"""The light install: rating, building, checking, scoring, comparing and reporting without lmms-eval and PyTorch."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=600)


def test_the_commands_that_it_promises_run_where_the_framework_cannot_be_imported(
    short_demo: Path, tmp_path: Path
) -> None:
    done = run(ROOT / "utils" / "light_commands.py", tmp_path, short_demo)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert len(re.findall(r"^ok +[\d.]+ s  siming ", done.stdout, re.MULTILINE)) == 10
    assert "WRONG" not in done.stdout


def test_the_importer_of_that_trial_refuses_what_is_left_out() -> None:
    code = "import sys; sys.meta_path.insert(0, light_commands.Missing())\nfor name in sys.argv[1:]: __import__(name)"
    for name in ("lmms_eval", "torch.nn", "datasets", "transformers"):
        done = run("-c", f"import sys; sys.path.append({str(ROOT / 'utils')!r}); import light_commands; {code}", name)
        assert f"No module named {name.partition('.')[0]!r}" in done.stderr


def test_both_files_together_are_what_the_package_requires() -> None:
    files = ("requirements-light.txt", "requirements-models.txt")
    lines = [line for name in files for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]
    wanted = {str(Requirement(line.partition("  #")[0])) for line in lines if line and line[0] != "#"}
    assert wanted == {line for line in requires("siming-tasks") or () if "extra ==" not in line}
