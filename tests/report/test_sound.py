"""What sound adds, in a judge that is right about the steps that need sound only where it is given."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from siming_tasks.analysis.sound_contribution import analyse_sound, steps_by_sound
from sklearn.metrics import cohen_kappa_score

from siming_tasks.cli import main
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.results.run import read_run
from tests.report.conftest import write_run


@pytest.fixture(scope="module")
def run_with_sound(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rater a judges pictures; with sound the same, and the consensus' points for the steps that need it."""
    root = tmp_path_factory.mktemp("sound")
    plain = write_run(exams, root / "plain", "rater_a", model="org/Listener", settings=("full_score",))
    other = write_run(
        exams, root / "other", "rater_a", model="org/Listener", settings=("sound_video_audio_full_score",)
    )
    heard = set(steps_by_sound(exams.rubric)["need sound"])
    (log,) = other.glob("*_samples_*")
    lines = []
    for line in log.read_text().splitlines():
        row = json.loads(line)
        record = row["siming_stderr"]
        video = exams.video(record["video_id"])
        record["answers"] = {
            step: video.step(step).consensus if step in heard else points for step, points in record["answers"].items()
        }
        lines.append(json.dumps(row))
    (plain / log.name).write_text("\n".join(lines) + "\n")
    return plain


def level(points: float, best: float) -> int:
    """Failed, clearly deficient, minor deduction or fully correct, as the paper's text has it."""
    return 0 if points <= 0 else 3 if points == best else 2 if points >= best - 1 else 1


def test_the_change_is_that_of_the_steps_that_need_sound(exams: Dataset, run_with_sound: Path) -> None:
    run = read_run(run_with_sound, exams)
    (found,) = analyse_sound(run, "full_score", Options(resamples=60))
    assert not found.refused and found.steps == {"all": 33, "need sound": 13, "others": 20}
    parts = steps_by_sound(exams.rubric)
    best = {step.id: step.max_score for step in exams.rubric.steps}
    for part, steps in parts.items():
        truth, before = (
            np.array([[level(video.step(step).scores[who], best[step]) for step in steps] for video in exams.videos])
            for who in ("consensus", "rater_a")
        )
        after = before.copy()
        for column, step in enumerate(steps):
            if step in parts["need sound"]:
                after[:, column] = truth[:, column]
        kappas = [
            cohen_kappa_score(truth.ravel(), x.ravel(), weights="quadratic", labels=[0, 1, 2, 3])
            for x in (before, after)
        ]
        effect = found.effects[part]
        assert [effect.plain.value, effect.ablated.value] == pytest.approx(kappas, abs=1e-12)
        assert effect.change.value == pytest.approx(kappas[1] - kappas[0], abs=1e-12)
    assert found.effects["need sound"].change.value > 0
    assert found.effects["need sound"].ablated.value == 1.0 and found.effects["others"].change.value == 0.0


def test_compare_says_what_sound_added_and_ranks_nothing_of_it(
    exams: Dataset, run_with_sound: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    how = ["compare", str(run_with_sound), "--data", str(exams.root), "--resamples", "60"]
    assert main(how) == 0
    text = capsys.readouterr().out
    assert "## Sound for org/Listener: full_score" in text and "against pictures alone: " in text
    assert "on the 13 steps that need sound and by +0.000" in " ".join(text.split())
    assert main([*how, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == {} and found["sound"]["org/Listener"]["full_score"][0]["modality"] == "video_audio"


def test_the_report_says_what_sound_added(exams: Dataset, run_with_sound: Path, tmp_path: Path) -> None:
    """Only the command that compares runs said it."""
    command = ["report", str(run_with_sound), "--data", str(exams.root), "--resamples", "60"]
    assert main([*command, "--video-files", "none", "--out", str(tmp_path / "out")]) == 0
    (run,) = json.loads((tmp_path / "out" / "report.json").read_text())["runs"]
    (added,) = analyse_sound(read_run(run_with_sound, exams), "full_score", Options(resamples=60))
    assert list(run["sound"]) == ["full_score"] and run["sound"]["full_score"][0]["sentence"] == added.sentence
    assert added.sentence in (tmp_path / "out" / "report.md").read_text()
    page = (tmp_path / "out" / "models" / "org-listener.html").read_text()
    assert added.sentence in page and "<td>need sound (13)</td>" in page
