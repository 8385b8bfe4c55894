"""What is in the wheel, and that lmms-eval finds the tasks from it."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from siming_tasks.benchmark.tasks import TASK_GROUPS, TASKS
from siming_tasks.data.makers import public_sets
from siming_tasks.plugin import register as plugin

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ("requirements-light.txt", "requirements-models.txt")
CACHES = shutil.ignore_patterns("__pycache__", ".*_cache", "*.egg-info")
NAMES = {task.task_name for task in TASKS.values()} | {*TASK_GROUPS} | {f"siming_{name}" for name in public_sets()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out, source = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("source") / "siming-tasks"
    source.mkdir()
    for name in (*("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"), *REQUIREMENTS):
        shutil.copy(ROOT / name, source)
    for name in ("siming_tasks", "yaml_tasks", "docs", "utils", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=CACHES)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        points = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "siming = siming_tasks.plugin.register:manifests" in archive.read(points).decode()
    ours = {str(path.relative_to(ROOT)) for path in (ROOT / "siming_tasks").rglob("*") if path.is_file()}
    files = (path.relative_to(ROOT) for path in (ROOT / "yaml_tasks").rglob("*") if path.is_file())
    ours |= {f"siming_tasks/{path}" for path in files}
    ours |= {f"siming_tasks/docs/{path.relative_to(ROOT / 'docs')}" for path in (ROOT / "docs").glob("*/*.md")}
    assert names == {name for name in ours if "__pycache__" not in name}


@pytest.mark.host
@pytest.mark.weekly
def test_a_wheel_in_a_clean_environment_registers_itself(wheel: Path, tmp_path: Path) -> None:
    """Third-party packages come from this environment by path (its .pth files do not count there), we as a wheel."""
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    said = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True, cwd=tmp_path
    )
    site = Path(said.strip())
    (site / "others.pth").write_text("".join(f"{path}\n" for path in sys.path if path.endswith("-packages")))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    listing = subprocess.run(
        [python, "-m", "lmms_eval", "--tasks", "list"],
        capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=800,
    )  # fmt: skip
    assert set(re.findall(r"- (siming\w*)", listing.stdout)) == NAMES
    siming = tmp_path / "env" / "bin" / "siming"
    folder = subprocess.check_output([siming, "--tasks-path"], text=True).strip()
    assert folder == str(site / "siming_tasks" / "yaml_tasks")
    printed = subprocess.check_output([siming, "docs", "cluster"], text=True, cwd=tmp_path)
    assert printed.splitlines()[0] == "# On a cluster"


@pytest.mark.host
@pytest.mark.weekly
def test_the_documented_fallback_needs_no_entry_point(tmp_path: Path) -> None:
    """``--include_path``: the host indexes our folder by itself, before it imports its models, hence our plugin."""
    code = (
        "import json, sys; from lmms_eval.tasks import TaskManager as T;"
        f"found = T(include_path={plugin.tasks_path()!r}).all_tasks;"
        "assert 'siming_tasks.plugin.register' not in sys.modules;"
        "print(json.dumps([name for name in found if name.startswith('siming')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=800)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == sorted(NAMES)


def test_the_container_runs_the_first_command_of_the_readme() -> None:
    """No image is built here; its command is the README's own, its base a Python that the package takes."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    (command,) = re.findall(r"^RUN (.*)$", text, re.MULTILINE)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"<!-- ci -->\n```sh\n(.*)\n```", readme)
    assert first is not None and command == first[1]
    (base,) = re.findall(r"^FROM docker.io/library/python:3\.(\d+)-slim$", text, re.MULTILINE)
    assert 10 <= int(base) <= 12
    assert re.search(r" -c constraints\.txt ", command) and (ROOT / "constraints.txt").is_file()
