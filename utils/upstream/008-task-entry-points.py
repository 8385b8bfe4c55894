"""Installed packages bring their tasks: a package, or a callable that names folders; a broken one disturbs nobody."""

from pathlib import Path

import pytest

from lmms_eval.tasks import TaskManager

POINTS = """\
[lmms_eval.tasks]
package = exams_as_package
callable = exams_as_callable:folders
broken = exams_that_are_gone
"""


def _task(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    (folder / f"{name}.yaml").write_text(f"task: {name}\ndataset_path: text\n")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "exams-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: exams\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    _task(tmp_path / "exams_as_package", "from_a_package")
    (tmp_path / "exams_as_package" / "__init__.py").touch()
    _task(tmp_path / "anywhere" / "else", "from_a_callable")
    (tmp_path / "exams_as_callable.py").write_text(f"def folders():\n    return [{str(tmp_path / 'anywhere')!r}]\n")
    monkeypatch.syspath_prepend(tmp_path)


def test_tasks_of_installed_packages_are_found(installed: None) -> None:
    found = set(TaskManager().all_tasks)
    assert {"from_a_package", "from_a_callable"} <= found, "the tasks of an installed package are not found"
    assert not {"from_a_package", "from_a_callable"} & set(TaskManager(include_defaults=False).all_tasks)
