"""The release checklist finds what is not ready, and the distributions hold what they must."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import siming_tasks

pytestmark = pytest.mark.weekly

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def checklist() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", ROOT / "utils" / "release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def git(folder: Path, *words: str) -> None:
    own = ["-c", "user.name=tester", "-c", "user.email=tester@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


def write(root: Path, heading: str, version: str = "1.2.0", released: str = "2026-02-03") -> Path:
    """The three files that name a version."""
    (root / "siming_tasks").mkdir(exist_ok=True)
    (root / "siming_tasks" / "__init__.py").write_text('"""."""\n\n__version__ = "1.2.0"\n')
    (root / "CHANGELOG.md").write_text(f"# Changelog\n\n## [Unreleased]\n\n{heading}\n\n## [1.1.0] - 2025-01-01\n")
    (root / "CITATION.cff").write_text(f"version: {version}\ndate-released: {released}\n")
    return root


def test_one_version_and_one_day(checklist: ModuleType, tmp_path: Path) -> None:
    def wrong(*words: str) -> list[str]:
        return list(checklist.one_version(checklist.Release(write(tmp_path, *words), tmp_path)))

    assert wrong("## [1.2.0] - 2026-02-03") == []
    assert [line.partition(" (")[0] for line in wrong("## [1.2.0]")] == [
        "the heading of 1.2.0 in CHANGELOG.md has no date",
        "date-released in CITATION.cff is 2026-02-03, in CHANGELOG.md nothing",
    ]
    assert wrong("") == [
        "the newest version in CHANGELOG.md is 1.1.0, the package is 1.2.0",
        "date-released in CITATION.cff is 2026-02-03, in CHANGELOG.md 2025-01-01",
    ]
    assert wrong("## [1.2.0] - 2026-02-03", "1.1.0", "2026-03-02") == [
        "CITATION.cff says version 1.1.0, the package is 1.2.0",
        "date-released in CITATION.cff is 2026-03-02, in CHANGELOG.md 2026-02-03",
    ]


def test_a_tree_that_was_touched(checklist: ModuleType, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    release = checklist.Release(tmp_path, tmp_path)
    assert list(checklist.clean_tree(release)) == []
    (tmp_path / "left behind").touch()
    (line,) = checklist.clean_tree(release)
    assert line.startswith("1 files are changed or untracked") and "left behind" in line


def test_interpreters_and_the_command(checklist: ModuleType) -> None:
    found = checklist.interpreters(checklist.Release(ROOT, ROOT))
    assert list(found) == ["3.10", "3.11", "3.12"] and found[checklist.OURS] == sys.executable
    command = checklist.first_command((ROOT / "README.md").read_text())
    assert command[:3] == ["lmms-eval", "--model", "siming_nano"] and "&&" not in command


def test_the_distributions_hold_every_tracked_file(checklist: ModuleType, tmp_path: Path) -> None:
    """On a copy that tracks one file more, of which the manifest knows nothing: it is named, and nothing else is."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository")
    source, out = tmp_path / "source", tmp_path / "out"
    for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines():
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    (source / "unknown.cfg").touch()
    git(source, "init", "-q")
    git(source, "add", "-A")
    release = checklist.Release(source, out)
    assert list(checklist.files(release)) == ["the source distribution lacks 1 tracked files, the first: unknown.cfg"]
    assert release.version == siming_tasks.__version__ and release.built(".whl").is_file()
