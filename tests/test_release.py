"""The release script finds what is not ready, and the distributions hold what they must."""

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


@pytest.mark.parametrize(
    ("heading", "version", "released", "wrong"),
    [
        ("## [1.2.0] - 2026-02-03", "1.2.0", "2026-02-03", []),
        ("## [1.2.0]", "1.2.0", "2026-02-03", ["CHANGELOG.md: nothing; ", "the heading of 1.2.0 in"]),
        ("", "1.2.0", "2025-01-01", ["package: 1.2.0; CHANGELOG.md: 1.1.0; CITATION.cff: 1.2.0"]),
        ("## [1.2.0] - 2026-02-03", "1.1.0", "2026-03-02", ["package: 1.2.0; ", "CHANGELOG.md: 2026-02-03; "]),
    ],
)
def test_one_version_and_one_day(
    heading: str, version: str, released: str, wrong: list[str], checklist: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "siming_tasks").mkdir()
    (tmp_path / "siming_tasks" / "__init__.py").write_text('"""."""\n\n__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## [Unreleased]\n\n{heading}\n\n## [1.1.0] - 2025-01-01\n")
    (tmp_path / "CITATION.cff").write_text(f"version: {version}\ndate-released: {released}\n")
    found = list(checklist.one_version(checklist.Release(tmp_path, tmp_path)))
    assert len(found) == len(wrong) and all(map(str.startswith, found, wrong)), found


@pytest.mark.parametrize(
    ("urls", "is_named"),
    [
        ('Paper = "https://arxiv.org/abs/2604.09037"', False),
        ('Repository = "ADDRESS"', False),
        ('Paper = "https://arxiv.org/abs/2604.09037"\nRepository = "https://example.org/siming-tasks"', True),
    ],
)
def test_a_release_without_the_place_of_its_repository_is_tried_and_fails(
    urls: str, is_named: bool, checklist: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f'[project]\nname = "x"\n\n[project.urls]\n{urls}\n\n[project.scripts]\nRepository = "https://x.example"\n'
    (tmp_path / "pyproject.toml").write_text(text)
    built = []
    monkeypatch.setattr(checklist, "ROOT", tmp_path)
    monkeypatch.setattr(checklist, "CHECKS", (checklist.repository, lambda release: iter(built.append(release) or ())))
    monkeypatch.setattr(sys, "argv", ["release.py", str(tmp_path / "out")])
    assert checklist.main() == int(not is_named) and built


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
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=source, check=True)
    release = checklist.Release(source, out)
    assert list(checklist.files(release)) == ["the source distribution lacks 1 tracked files, the first: unknown.cfg"]
    assert release.version == siming_tasks.__version__ and release.built(".whl").is_file()
    (line,) = checklist.clean_tree(release)
    assert "files are changed or untracked" in line


def test_the_command_that_the_wheel_runs(checklist: ModuleType) -> None:
    command = checklist.first_command((ROOT / "README.md").read_text())
    assert command[:3] == ["lmms-eval", "--model", "siming_nano"] and "&&" not in command
