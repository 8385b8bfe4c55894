"""The examples in the docstrings run and print what they say."""

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import siming_tasks
from siming_tasks.data import open_dataset
from tests.records import write_labels, write_rater

PACKAGE = Path(__file__).parents[1] / "siming_tasks"
EXAMPLES = sorted(path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text())


@pytest.fixture(scope="module")
def names(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What examples may name: four synthetic exams, a physician and a constant as prediction files, a sheet."""
    dataset, folder = open_dataset(short_demo), tmp_path_factory.mktemp("examples")
    both = ("full_score", "full_error")
    return {
        "exams": short_demo,
        "physician": write_rater(dataset, folder / "physician.jsonl", "rater_b", both),
        "constant": write_rater(dataset, folder / "constant.jsonl", None, both),
        "sheet": write_labels(dataset.videos[:1], folder / "sheet.csv", ("rater_a", "rater_b", "consensus")),
    }


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_examples(path: Path, names: dict[str, object], tmp_path: Path) -> None:
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    failed, tried = doctest.testmod(importlib.import_module(name), extraglobs={**names, "out": tmp_path / "out"})
    assert tried and not failed


def test_every_public_name_has_an_example_that_runs_and_the_page_of_the_interface_says_the_same() -> None:
    tried = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in EXAMPLES}
    for name in siming_tasks.__all__:
        public = getattr(siming_tasks, name)
        assert ">>> " in (public.__doc__ or "") and public.__name__ == name and public.__module__ in tried
    script = PACKAGE.parent / "utils" / "make_api_page.py"
    assert subprocess.run([sys.executable, str(script), "--check"], check=False).returncode == 0, f"run {script.name}"
