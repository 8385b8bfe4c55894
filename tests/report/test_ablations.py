"""Ablations in every command that reads runs: beside the plain task of the same run, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from siming_tasks.analysis.input_controls import NO_AGREEMENT, analyse_ablations

from siming_tasks.cli import main
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.results.run import read_run
from siming_tasks.tasks import ABLATION_TASKS, BENCHMARK_TASKS, INPUT_ABLATIONS
from siming_tasks.tools.board.admission import admit
from siming_tasks.tools.board.submission import ModelCard, pack

FULL = tuple(name for name in ABLATION_TASKS if name.endswith("full_score"))
QUICK = Options(resamples=60)


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


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    capsys.readouterr()
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def test_four_videos_show_the_difference_and_no_share(exams: Dataset, runs: dict[str, Path]) -> None:
    run = read_run(runs["reference"], exams)
    for name in BENCHMARK_TASKS:
        found = analyse_ablations(run, name, QUICK)
        assert [one.ablation.name for one in found] == list(INPUT_ABLATIONS)
        for one in found:
            assert one.headline is not None and one.headline.change.value == 0.0
            assert (one.headline.retained.value, one.headline.retained.reason) == (None, NO_AGREEMENT)
            assert one.sentence.startswith("The share of ") and one.sentence.endswith(f"has no value: {NO_AGREEMENT}")


def test_compare_shows_probes_beside_their_own_run_only(
    exams: Dataset, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    how = ("--data", exams.root, "--resamples", 60)
    text = printed(capsys, "compare", runs["model"], runs["reference"], *how)
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert [head.split(" on ")[0] for head in heads] == [
        *(f"## {name}" for name in BENCHMARK_TASKS),
        "## Ablations of org/Watcher: full_score",
        *(f"## Ablations of rater_b: {name}" for name in BENCHMARK_TASKS),
    ]
    before, after = text.split("## Ablations of org/Watcher: full_score", 1)
    assert "ablation_" not in before and "shuffled_frames: frames in random order" in after
    assert "This judge reads labels" in after.split("## Ablations of rater_b")[1]
    assert "This judge reads labels" not in after.split("## Ablations of rater_b")[0]
    alone = json.loads(printed(capsys, "compare", runs["model"], *how, "--json"))
    assert alone["settings"] == {} and list(alone["ablations"]["org/Watcher"]) == ["full_score"]
    rows = alone["ablations"]["org/Watcher"]["full_score"]
    assert [row["task"] for row in rows] == [f"siming_{name}" for name in FULL]
    for row in rows:
        effect = row["metrics"]["qwk"]
        assert effect["ablated"]["value"] < 0.5 * effect["plain"]["value"] and row["history"]
        assert effect["retained"]["value"] is None  # four videos have no interval
    assert main(["compare", str(runs["alone"]), str(runs["reference"]), "--data", str(exams.root)]) == 1
    assert "no setting in common" in capsys.readouterr().err


def test_diagnose_puts_them_into_the_report_of_the_plain_task(
    exams: Dataset, runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    how = ("--data", exams.root, "--resamples", 60)
    found = json.loads(printed(capsys, "study", "diagnose", runs["model"], *how, "--json"))["settings"]
    assert list(found) == list(BENCHMARK_TASKS)
    assert [row["ablation"] for row in found["full_score"]["ablations"]] == list(INPUT_ABLATIONS)
    assert all("ablations" not in found[name] for name in BENCHMARK_TASKS[1:])
    text = printed(capsys, "study", "diagnose", runs["model"], *how, "--setting", "full_score")
    assert "## Ablations" in text and "that survives without any video has no value: " in text


def test_the_report_has_no_table_of_probes_but_the_models_own(
    exams: Dataset, runs: dict[str, Path], tmp_path: Path
) -> None:
    command = ["report", str(runs["model"]), str(runs["reference"]), "--data", str(exams.root), "--resamples", "60"]
    assert main([*command, "--video-files", "none", "--out", str(tmp_path / "out")]) == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert not set(report["standings"]) & set(ABLATION_TASKS)
    model, reference = report["runs"]
    assert not set(model["settings"]) & set(ABLATION_TASKS) and list(model["ablations"]) == ["full_score"]
    assert set(reference["ablations"]) == set(BENCHMARK_TASKS)
    pages = {path.name: path.read_text() for path in (tmp_path / "out").rglob("*.html")}
    assert "that survives without any video has no value: " in pages["org-watcher.html"]
    assert "reads labels" in pages["rater-b.html"] and "reads labels" not in pages["org-watcher.html"]
    summary = (tmp_path / "out" / "report.md").read_text()
    assert "## Ablations" in summary and summary.count("survives without any video") == 5
    assert not any("probe_" in page.replace("siming_probe_", "") for page in pages.values())
    assert not any("probe_" in path.read_text() for path in (tmp_path / "out" / "data").rglob("*.js"))


def test_probes_alone_are_no_run_to_report_and_nothing_to_submit(
    exams: Dataset, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data", str(exams.root)]
    assert main(["report", str(runs["alone"]), *data, "--out", str(tmp_path / "out"), "--video-files", "none"]) == 1
    assert "holds ablations only, which say nothing without the plain tasks" in capsys.readouterr().err
    assert main(["board", "submit", str(runs["alone"]), *data, "--out", str(tmp_path / "a.zip")]) == 1
    assert "holds ablations only (siming_ablation_no_video_full_score" in capsys.readouterr().err
    assert not (tmp_path / "a.zip").exists()


def test_a_submission_leaves_probes_out_and_a_board_refuses_them(
    exams: Dataset, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data", str(exams.root), "--resamples", "60"]
    assert main(["board", "submit", str(runs["model"]), *data, "--out", str(tmp_path / "a.zip")]) == 0
    said = capsys.readouterr().out
    assert "Left out: siming_ablation_no_video_full_score" in said
    assert admit(tmp_path / "a.zip", exams, QUICK).run.settings == BENCHMARK_TASKS
    run = read_run(runs["model"], exams)
    found = {name: run.evaluate(name, QUICK) for name in run.settings}
    bad = pack(run.source, run.records, exams, ModelCard(name="m"), found, tmp_path / "b.zip")
    with pytest.raises(
        Exception, match="holds siming_ablation_no_video_full_score, an ablation, which is no part of the bench"
    ):
        admit(bad, exams, QUICK)


def changed(path: Path, target: Path, name: str, change: Callable[[dict[str, Any]], object]) -> Path:
    """The run with the records of one setting changed."""
    target.mkdir()
    for log in path.iterdir():
        lines = log.read_text().splitlines()
        if log.name.endswith(f"samples_siming_{name}.jsonl"):
            rows = [json.loads(line) for line in lines]
            for row in rows:
                change(row["siming_stderr"])
            lines = [json.dumps(row) for row in rows]
        (target / log.name).write_text("\n".join(lines) + "\n")
    return target


@pytest.mark.parametrize(
    ("ablation", "fact", "value", "refused"),
    [
        (
            "shuffled_frames",
            "n_frames",
            5,
            "differ in frames: 4 against 5 (ablation_shuffled_frames_full_score/sim001)",
        ),
        ("shuffled_frames", "mode", "proxy", "differ in media: frames against proxy"),
        ("no_video", "mode", "none", ""),
        ("frozen_frame", "size", 448, ""),
    ],
)
def test_a_probe_asked_otherwise_than_the_plain_task_is_not_compared(
    exams: Dataset, runs: dict[str, Path], tmp_path: Path, ablation: str, fact: str, value: object, refused: str
) -> None:
    name = f"ablation_{ablation}_full_score"
    path = changed(runs["model"], tmp_path / "run", name, lambda record: record["media"].update({fact: value}))
    found = {one.ablation.name: one for one in analyse_ablations(read_run(path, exams), "full_score", QUICK)}
    assert refused in found[ablation].refused and bool(refused) == bool(found[ablation].refused)
    assert bool(found[ablation].headline) != bool(refused)
    if refused:
        assert "not compared" in found[ablation].sentence
        results = analyse_ablations(read_run(path, exams), "full_score", QUICK, allow=("frames", "media"))
        (allowed,) = (result for result in results if result.ablation.name == ablation)
        assert allowed.headline is not None


def test_words_that_only_some_probes_may_change(exams: Dataset, runs: dict[str, Path], tmp_path: Path) -> None:
    for number, (ablation, free) in enumerate((("shuffled_frames", True), ("frozen_frame", False))):
        name = f"ablation_{ablation}_full_score"
        path = changed(runs["model"], tmp_path / str(number), name, lambda record: record.update(prompt="other"))
        found = {one.ablation.name: one for one in analyse_ablations(read_run(path, exams), "full_score", QUICK)}
        assert bool(found[ablation].headline) == free
