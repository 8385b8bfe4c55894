"""A source of lmms-eval, copied so that it can be changed, and run without our own entry points.

The source is the installed package, or the tree of lmms-eval that UPSTREAM_SOURCE names.
"""

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).parents[2]
UPSTREAM = ROOT / "utils" / "upstream"
HOST = Path(os.environ.get("UPSTREAM_SOURCE") or str(distribution("lmms-eval").locate_file(""))) / "lmms_eval"
SKIPPED = ("PYTEST", "SIMING", "LMMS", "SLURM")


def copied(folder: Path) -> Path:
    """Put the installed package into the folder, without its tasks (1,600 files to index); gives the folder."""
    left_out = {str(HOST): {"tasks", "tui"}}
    shutil.copytree(HOST, folder / "lmms_eval", ignore=lambda where, _: left_out.get(where, set()))
    (folder / "lmms_eval" / "tasks").mkdir()
    shutil.copy2(HOST / "tasks" / "__init__.py", folder / "lmms_eval" / "tasks")
    return folder


def apply(patch: Path, folder: Path, *options: str) -> None:
    outside = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}  # not as part of a repository around it
    command = ["git", "apply", *options, str(patch)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=outside)
    assert done.returncode == 0, done.stderr


def alone(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a module with the copy in that folder, which is also its home, and without our own entry points."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    places = dict.fromkeys(("HOME", "HF_HOME", "XDG_CACHE_HOME"), str(home))
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(SKIPPED)}
    own = {"PYTHONPATH": str(folder), "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, str(Path(__file__).with_name("alone.py")), *command],
        cwd=folder, env={**inherited, **places, **own, **environment}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def run_tests(folder: Path, *files: Path) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Run tests that know nothing of ours; what pytest said, and its report."""
    report = folder / "report.xml"
    options = [f"--junitxml={report}", "-q", "-c", os.devnull, "--rootdir", str(UPSTREAM), "-p", "no:cacheprovider"]
    done = alone(folder, "pytest", *map(str, files), *options, "--basetemp", str(folder / "tmp"))
    assert report.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    return done, report
