"""Comparison of runs on disk: their names, what may be compared, and one family of tests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

import siming_tasks as siming
from siming_tasks.analysis.compare_runs import common_settings, compare, compare_settings, rater_points
from siming_tasks.analysis.inputs import run_inputs
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.rubrics import default_rubric

STEPS = default_rubric().steps
VIDEOS = 12


@pytest.fixture(scope="module")
def exams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve exams of two physicians and their consensus, the first physician's points; nobody looks at the videos."""
    folder, rng = tmp_path_factory.mktemp("exams"), np.random.default_rng(0)
    shutil.copy(Path(siming.__file__).parent / "rubrics" / "default.yaml", folder / "rubric.yaml")
    (folder / "dataset.yaml").write_text("name: twelve\nversion: '1'\nsynthetic: true\n")
    lines = []
    for number in range(VIDEOS):
        steps = []
        for place, step in enumerate(STEPS):
            first = float(rng.integers(0, step.max_score + 1)) if rng.random() < 0.4 else step.max_score
            second = first if rng.random() < 0.7 else float(rng.integers(0, step.max_score + 1))
            score = {"rater_a": first, "rater_b": second, "consensus": first}
            steps.append({"step_id": step.id, "start": place, "end": place + 1, "score": score})
        name = f"v{number:02d}"
        lines.append(json.dumps({"video_id": name, "media": f"media/{name}.mp4", "duration": 40.0, "steps": steps}))
    (folder / "videos.jsonl").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def dataset(exams: Path) -> siming.Dataset:
    """They, opened."""
    return siming.open_dataset(exams, media=False)


def write(
    path: Path, dataset: siming.Dataset, agreement: float, *, seed: int = 1, settings: Sequence[str] = ("full_score",),
    videos: int = VIDEOS,
) -> Path:  # fmt: skip
    """A prediction file of a judge that has the consensus in a share of the steps."""
    rng, lines = np.random.default_rng(seed), []
    for setting in settings:
        for video in dataset.videos[:videos]:
            said = {}
            for step in STEPS:
                truth = video.step(step.id).scores["consensus"]
                points = truth if rng.random() < agreement else float(rng.integers(0, step.max_score + 1))
                wrong = "incorrect" if points < step.max_score else "correct"
                said[step.id] = points if setting == "full_score" else wrong
            field = "scores" if setting == "full_score" else "verdicts"
            lines.append(json.dumps({"setting": setting, "video_id": video.video_id, field: said}))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def runs(dataset: siming.Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A good and a weak judge in two settings."""
    folder, both = tmp_path_factory.mktemp("runs"), ("full_score", "full_error")
    return {name: write(folder / f"{name}.jsonl", dataset, share, settings=both)
            for name, share in (("good", 0.9), ("weak", 0.2))}  # fmt: skip


def test_runs_are_given_as_files_or_loaded_and_the_physicians_stand_beside_them(runs, dataset):
    from_files = compare(*runs.values(), data=dataset)
    assert from_files.runs == ("good", "weak") and from_files.setting == "full_score"
    loaded = [siming.load(path, dataset) for path in runs.values()]
    assert compare(*loaded).to_json() == from_files.to_json()
    assert from_files.sentence().startswith("good (0.") and from_files.facts["synthetic"] is True
    matrix = loaded[0].score_matrix("full_score")
    points = rater_points(dataset, matrix)
    assert list(points) == ["rater_a", "rater_b"] and np.array_equal(points["rater_a"], matrix.reference)
    assert set(from_files.physicians) == {"good", "weak"}
    assert from_files.rows.one("physicians with each other", "rater_a and rater_b", "qwk").value is not None


def test_what_is_refused(runs, dataset, tmp_path):
    good, weak = (siming.load(path, dataset) for path in runs.values())
    part = siming.load(write(tmp_path / "short.jsonl", dataset, 0.5, videos=6), dataset, partial=True)
    silent = tmp_path / "silent.jsonl"
    silent.write_text(json.dumps({"setting": "full_score", "video_id": "v00", "scores": {}}))
    for given, how, error, said in (
        ([good], {}, DataError, "at least two runs; 1 given"),
        ([[good, weak]], {}, OptionsError, "give them one by one"),
        ([good, weak], {"setting": "full_scores"}, OptionsError, "full_scores"),
        ([good, weak], {"setting": "clip_score"}, DataError, "no setting in common among clip_score"),
        ([good, weak], {"allow": ["frame"]}, OptionsError, "'frame' is not one of"),
        ([good, weak], {"against": "best"}, DataError, "no run 'best' to compare with"),
        ([good, weak], {"options": siming.Options(rater="nobody")}, DataError, "nobody"),
        ([good, part], {}, DataError, "different videos"),
        ([good, siming.load(silent, dataset)], {}, DataError, "Run 'silent' has nothing to compare"),
    ):
        with pytest.raises(error, match=said):
            compare(*given, **how)
    allowed = compare(good, part, allow=["videos"])
    assert allowed.videos == 6 and allowed.facts["allowed"] == ["videos"]
    assert common_settings([good, weak]) == ["full_score", "full_error"]


def test_holm_is_over_the_settings_and_equal_to_one_comparison_in_each(runs, dataset):
    loaded = [siming.load(path, dataset) for path in runs.values()]
    study = compare_settings(loaded, ["full_score", "full_error"])
    p = [made.pairs[0].estimate.p for made in study.settings.values()]
    holm = [made.pairs[0].estimate.p_holm for made in study.settings.values()]
    assert holm == pytest.approx(multipletests(p, method="holm")[1]) and study.refused == {}
    alone = compare(*loaded, setting="full_error")
    assert alone.rows.of("ranked") == study.settings["full_error"].rows.of("ranked")


def test_a_setting_that_cannot_be_compared_is_named(dataset, tmp_path):
    a, b = (
        write(tmp_path / name, dataset, 0.5, settings=("full_score", "full_error")) for name in ("a.jsonl", "b.jsonl")
    )
    lines = b.read_text().splitlines()
    b.write_text("\n".join(line for line in lines if "full_error" not in line or '"v0' in line))
    loaded = [siming.load(a, dataset), siming.load(b, dataset, partial=True)]
    study = compare_settings(loaded, ["full_score", "full_error"])
    assert list(study.settings) == ["full_score"] and "different videos" in study.refused["full_error"]
    with pytest.raises(DataError, match="different videos"):
        compare_settings(loaded, ["full_error"])


def test_a_control_stands_beside_its_plain_task_or_says_why_not(dataset, tmp_path):
    """Requests are matched without the name of their task; one that was shown smaller frames is no control."""
    plain, made = write(tmp_path / "plain.jsonl", dataset, 0.9).read_text().splitlines(), []
    for name, size in (("full_score", 448), ("ablation_shuffled_frames_full_score", 448),
                       ("ablation_mismatched_video_full_score", 224)):  # fmt: skip
        media = {"mode": "frames", "n_frames": 8, "size": size}
        made += [json.dumps({**json.loads(line), "setting": name, "media": media}) for line in plain]
    (tmp_path / "run.jsonl").write_text("\n".join(made))
    run = siming.load(tmp_path / "run.jsonl", dataset)
    shuffled, other = ("shuffled_frames: change", "mismatched_video: change")
    rows = run_inputs(run, "full_score", siming.Options())
    found = rows.one("ablations", shuffled, "qwk")
    assert (found.value, found.why) == (0, "It is the same without any video: no interval.")
    refused = rows.one("ablations", other, "qwk")
    assert refused.value is None and "differ in size" in refused.why
    allowed = run_inputs(run, "full_score", siming.Options(), allow=["size"])
    assert allowed.one("ablations", other, "qwk").value == 0
    assert not run_inputs(run, "clip_score", siming.Options())
