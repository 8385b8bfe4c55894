"""The examples in the docstrings run and print what they say."""

from __future__ import annotations

import csv
import doctest
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import siming_tasks
from siming_tasks.data import open_dataset
from siming_tasks.tasks import TASKS

PACKAGE = Path(__file__).parents[1] / "siming_tasks"
EXAMPLES = sorted(path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text())


@pytest.fixture(scope="module")
def names(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What examples may name: four synthetic exams, a physician and a constant as prediction files, a sheet."""
    dataset, folder = open_dataset(short_demo), tmp_path_factory.mktemp("examples")
    found: dict[str, object] = {"exams": short_demo}
    for name in ("physician", "constant"):
        lines = []
        for setting in ("full_score", "full_error"):
            for video in dataset.videos:
                best = {step.id: step.max_score for step in dataset.rubric.steps}
                given = {step.step_id: step.scores["rater_b"] for step in video.steps}
                given = given if name == "physician" else {step: best[step] for step in given}
                words = {step: "correct" if points == best[step] else "incorrect" for step, points in given.items()}
                answers = {"scores": given} if TASKS[setting].answer == "score" else {"verdicts": words}
                lines.append(json.dumps({"setting": setting, "video_id": video.video_id, **answers}))
        found[name] = folder / f"{name}.jsonl"
        Path(str(found[name])).write_text("\n".join(lines))
    video = dataset.videos[0]
    found["sheet"] = folder / "sheet.csv"
    with Path(str(found["sheet"])).open("w", newline="") as stream:
        write = csv.writer(stream)
        write.writerow(["video_id", "step_id", "start", "end", "rater", "points"])
        for step in video.steps:
            for name in ("rater_a", "rater_b", "consensus"):
                write.writerow([video.video_id, step.step_id, step.start, step.end, name, step.scores[name]])
    return found


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
