"""Ablations in reports and boards: beside the plain task of the same run, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset
from siming_tasks.metrics import Rows
from siming_tasks.options import Options
from siming_tasks.report.build import write_report
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.run import read_run
from siming_tasks.tasks import ABLATION_TASKS, BENCHMARK_TASKS
from siming_tasks.tools.board.admission import admit
from siming_tasks.tools.board.submission import ModelCard, pack
from tests.report.conftest import text_of

FULL = tuple(name for name in ABLATION_TASKS if name.endswith("full_score"))


@pytest.fixture(scope="module")
def runs(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A reference judge through every ablation, a model that watches (its ablations are noise), and ablations alone."""
    from tests.report.conftest import write_run

    root = tmp_path_factory.mktemp("ablations")
    model = root / "model"
    write_run(exams, root / "plain", "rater_a", model="org/Watcher")
    write_run(exams, root / "noise", "rater_a", model="org/Watcher", settings=FULL, noise=0.9)
    model.mkdir()
    for log in [*(root / "plain").iterdir(), *(root / "noise").glob("*_samples_*")]:
        (model / log.name).write_bytes(log.read_bytes())
    return {
        "model": model,
        "alone": root / "noise",
        "reference": write_run(exams, root / "reference", "rater_b", settings=(*BENCHMARK_TASKS, *ABLATION_TASKS)),
    }


def test_ablations_are_a_table_of_the_judge_and_nothing_else(
    exams: Dataset, runs: dict[str, Path], tmp_path: Path
) -> None:
    sources = [source for name in ("model", "reference") for source in find_runs([str(runs[name])])]
    out = write_report(sources, exams, tmp_path / "out", media="none", progress=False)
    report = json.loads((out / "report.json").read_text())
    assert not set(report["comparisons"]) & set(ABLATION_TASKS)
    for run in report["runs"]:
        assert not set(run["settings"]) & set(ABLATION_TASKS)
    model = Rows.from_json(report["runs"][0]["tables"]["full_score"])
    assert model.of("ablations") and not Rows.from_json(report["runs"][0]["tables"]["clip_error"]).of("ablations")
    pages = {path.name: path.read_text() for path in out.rglob("*.html")}
    assert pages["org-watcher.html"].count("<h3>Ablations</h3>") == 1
    assert pages["rater-b.html"].count("<h3>Ablations</h3>") == len(BENCHMARK_TASKS)
    assert not any("ablation_" in text_of(path) for path in (out / "data").rglob("*.js"))


def test_ablations_alone_are_no_run_to_report(exams: Dataset, runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds ablations only, which say nothing without the plain tasks"):
        write_report([runs["alone"]], exams, tmp_path / "out", media="none", progress=False)


def test_a_board_refuses_ablations(exams: Dataset, runs: dict[str, Path], tmp_path: Path) -> None:
    run = read_run(runs["model"], exams)
    bad = pack(run.source, run.records, exams, ModelCard(name="m"), tmp_path / "b.zip")
    with pytest.raises(DataError, match="holds siming_ablation_no_video_full_score, an ablation"):
        admit(bad, exams, Options())
