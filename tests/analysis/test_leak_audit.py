"""Leak audits: what is planted is found, by the probe that it was planted for; nothing is found in shuffled labels."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from siming_tasks.analysis.leak_audit import LeakAudit, ProbeResult, _ScoredSteps, leak_audit
from siming_tasks.analysis.leak_probes import PROBES
from siming_tasks.common.errors import DataError
from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.report.table import to_markdown
from siming_tasks.report.tables.audit import audit_section
from siming_tasks.rubrics import default_rubric

VIDEOS, STEPS = 60, 5
QUICK = Options(resamples=2)
STEP_IDS = [step.id for step in default_rubric().steps[:STEPS]]
TOP = [step.max_score for step in default_rubric().steps[:STEPS]]

Plant = Callable[[np.ndarray, np.random.Generator], dict[str, Any]]


def dataset(wrong: np.ndarray, root: Path = Path("/nowhere"), **planted: Any) -> Dataset:
    """Exams of five steps in memory; ``planted`` are arrays of lengths, starts, durations, names and steps asked."""
    rng = np.random.default_rng(99)
    length = planted.get("length", rng.uniform(3, 9, wrong.shape))
    start = planted.get("start", 20.0 * np.arange(STEPS) + rng.uniform(0, 8, wrong.shape))
    duration = planted.get("duration", rng.uniform(120, 160, len(wrong)))
    names = planted.get("names", [f"v{number:03d}" for number in range(len(wrong))])
    left_out = planted.get("left_out", np.zeros(wrong.shape, bool))
    videos = []
    for row, name in enumerate(names):
        steps = tuple(
            StepLabel(
                step, start[row, s], start[row, s] + length[row, s],
                {"consensus": TOP[s] * (not wrong[row, s])}, not left_out[row, s],
            )
            for s, step in enumerate(STEP_IDS)
        )  # fmt: skip
        videos.append(Video(name, f"media/{row:03d}.mp4", float(duration[row]), steps))
    return Dataset(root, "planted", "1", True, "d" * 64, default_rubric(), tuple(videos), {})


def audited(data: Dataset, *probes: str, media: bool = False) -> dict[str, ProbeResult]:
    """Results of the probes by name."""
    return {one.name: one for one in leak_audit(data, QUICK, probes=probes, media=media).probes}


def by_step(rng: np.random.Generator) -> np.ndarray:
    """Labels of every step by itself."""
    return rng.random((VIDEOS, STEPS)) < 0.4


def by_exam(rng: np.random.Generator) -> np.ndarray:
    """Labels of good exams and of bad ones, which fail most steps."""
    return rng.random((VIDEOS, STEPS)) < np.where(np.arange(VIDEOS) % 2 == 0, 0.85, 0.1)[:, None]


def lengths(wrong: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Wrong steps are two seconds shorter."""
    return {"length": rng.uniform(5, 8, wrong.shape) - 2 * wrong}


def starts(wrong: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Wrong steps begin four seconds later."""
    return {"start": 20.0 * np.arange(STEPS) + rng.uniform(0, 4, wrong.shape) + 4 * wrong}


def swaps(wrong: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Wrong steps come at the very end."""
    return {"start": 10.0 * np.arange(STEPS) + rng.uniform(0, 1, wrong.shape) + 60 * wrong}


def durations(wrong: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Exams with more wrong steps are longer."""
    return {"duration": 120 + 10.0 * wrong.sum(axis=1) + rng.uniform(0, 5, len(wrong))}


def names(wrong: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Bad exams are named first."""
    order = np.argsort(np.argsort(-wrong.sum(axis=1) + rng.uniform(0, 0.5, len(wrong))))
    return {"names": [f"v{number:03d}" for number in order]}


def prompts(wrong: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """The last step is not asked about in exams with many wrong ones."""
    left_out = np.zeros(wrong.shape, bool)
    left_out[:, -1] = wrong[:, :-1].sum(axis=1) >= 3
    return {"left_out": left_out}


@pytest.mark.parametrize(
    ("probe", "labels", "plant"),
    [
        ("span length", by_step, lengths),
        ("place", by_step, starts),
        ("order", by_step, swaps),
        ("duration", by_exam, durations),
        ("names", by_exam, names),
        ("prompt", by_exam, prompts),
    ],
)
def test_a_planted_leak_is_found_and_gone_with_other_labels(
    probe: str, labels: Callable[..., np.ndarray], plant: Plant
) -> None:
    rng = np.random.default_rng(7)
    wrong = labels(rng)
    planted = plant(wrong, rng)
    found = audited(dataset(wrong, **planted), probe)[probe]
    assert found.tells and found.within.low > 0 and found.gain > 0.05 and found.p <= 0.01
    shuffled = audited(dataset(wrong[rng.permutation(VIDEOS)], **planted), probe)[probe]
    assert not shuffled.tells and shuffled.p > 0.05


def test_in_shuffled_labels_areas_lie_at_one_half() -> None:
    """Standard error of a step's area: sqrt((m + n + 1) / 12 m n), here 0.077; of five steps together 0.034."""
    rng = np.random.default_rng(8)
    found = [audited(dataset(by_step(rng)), "span length")["span length"] for _ in range(4)]
    error = np.sqrt((VIDEOS + 1) / (12 * 0.24 * VIDEOS**2) / STEPS)
    # Five folds use every pair of videos twice: up to sqrt(2) times the spread.
    assert np.mean([one.within.value for one in found]) == pytest.approx(0, abs=3 * np.sqrt(2) * error / np.sqrt(4))
    assert min(one.p for one in found) > 0.02


def test_lengths_that_tell_every_label_are_found() -> None:
    """Every pair is told right: an area of 1 does not vary."""
    wrong = by_step(np.random.default_rng(20))
    found = audited(dataset(wrong, length=8.0 - 5 * wrong), "span length")["span length"]
    assert found.tells and found.p == 0 and found.within.value == pytest.approx(0.5, abs=0.02)


def test_the_area_within_steps_is_scikit_learns_and_its_error_the_slow_jackknifes() -> None:
    rng = np.random.default_rng(21)
    scores, wrong = rng.integers(0, 4, (24, 3)).astype(float), rng.random((24, 3)) < 0.4
    known, clusters = rng.random((24, 3)) < 0.9, np.arange(24) // 2

    def area(rows: np.ndarray) -> float:
        areas, pairs = [], []
        for step in range(3):
            on = rows & known[:, step]
            truth = wrong[on, step]
            areas.append(roc_auc_score(truth, scores[on, step]))
            pairs.append(truth.sum() * (~truth).sum())
        return float(np.average(areas, weights=pairs)) - 0.5

    found = _ScoredSteps(scores, wrong, known, clusters).within()
    left_out = np.array([area(clusters != cluster) for cluster in range(12)])
    assert found.value == pytest.approx(area(np.ones(24, bool)))
    assert found.stderr == pytest.approx(np.sqrt(11 / 12 * ((left_out - left_out.mean()) ** 2).sum()))


def test_one_step_that_is_told_is_named() -> None:
    rng = np.random.default_rng(9)
    wrong = by_step(rng)
    length = rng.uniform(3, 9, wrong.shape)
    length[:, 3] = rng.uniform(5, 8, VIDEOS) - 5 * wrong[:, 3]
    found = audited(dataset(wrong, length=length), "span length")["span length"]
    assert max(found.step_aucs, key=found.step_aucs.__getitem__) == STEP_IDS[3]
    assert found.step_aucs[STEP_IDS[3]] == pytest.approx(1.0, abs=0.03)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty files; every second one is larger, has another title, was made a year later and has more frames."""
    root = tmp_path_factory.mktemp("films")
    (root / "media").mkdir()
    rng = np.random.default_rng(10)
    for number in range(30):
        odd, path = number % 2, str(root / "media" / f"{number:03d}.mp4")
        with av.open(path, "w") as out:
            out.metadata.update(title="b" if odd else "a", creation_time=f"202{odd}-01-{number + 1:02d}T00:00:00")
            stream: Any = out.add_stream("libx264", rate=Fraction(10), options={"preset": "ultrafast"})
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            for index in range(300 + 40 * odd):
                grey = np.full((48, 64, 3), 10 * (index % 20), np.uint8)
                grey[:8] = rng.integers(0, 60 + 190 * odd, (8, 64, 3)) if index % 10 == 0 else 0
                frame = av.VideoFrame.from_ndarray(grey, format="rgb24")
                frame.pts = index
                out.mux(stream.encode(frame))
            out.mux(stream.encode(None))
    return root


def test_what_files_tell_is_found(films: Path) -> None:
    rng = np.random.default_rng(11)
    wrong = rng.random((30, STEPS)) < np.where(np.arange(30) % 2 == 1, 0.9, 0.05)[:, None]
    where = {"start": 5.0 * np.arange(STEPS) + np.zeros(wrong.shape), "length": np.full(wrong.shape, 4.0)}
    same = {**where, "duration": np.full(30, 30.0)}
    told = audited(dataset(wrong, films, **same), "frames", "size", "coding", "dates", media=True)
    assert [one.name for one in told.values() if one.tells] == ["frames", "size", "coding", "dates"]
    mixed = wrong[rng.permutation(30)]
    told = audited(dataset(mixed, films, **same), "frames", "size", "coding", "dates", media=True)
    assert not any(one.tells for one in told.values())


@pytest.fixture(scope="module")
def audit() -> LeakAudit:
    """Audit in which lengths tell the labels, durations do not, and files are not there."""
    rng = np.random.default_rng(16)
    wrong = by_step(rng)
    data = dataset(wrong, **lengths(wrong, rng))
    return leak_audit(data, QUICK, probes=["span length", "duration", "size"])


class TestReport:
    """Sentences, absences and refusals."""

    def test_a_sentence_says_what_tells_how_much(self, audit: LeakAudit) -> None:
        text = to_markdown(audit_section(audit))
        prior, found = audit.prior.qwk.value, audit.probes[0]
        assert (
            f"* span length: seconds of each step's clip tell of the labels: AUC {0.5 + found.within.value:.2f}" in text
        )
        assert (
            f"kappa (qwk) {found.qwk.value:.2f} (step prior {prior:.2f}), PLCC {found.plcc.value:.2f}. A judge" in text
        )
        assert "* duration" not in text and "size (/nowhere/media/000.mp4: no such file.)" in text

    def test_nothing_found_is_no_proof(self, audit: LeakAudit) -> None:
        quiet = replace(audit, probes=audit.probes[1:])
        assert "None of these tells anything of the labels beyond chance. That is no proof" in to_markdown(
            audit_section(quiet)
        )

    def test_json_has_no_nan(self, audit: LeakAudit) -> None:
        assert json.loads(json.dumps(audit.to_json(), allow_nan=False))["absent"].keys() == {"size"}

    def test_withheld_labels_and_a_single_cluster_are_refused(self) -> None:
        data = dataset(by_step(np.random.default_rng(13)))
        hidden = [
            replace(video, steps=tuple(replace(step, scores={"consensus": None}) for step in video.steps))
            for video in data.videos
        ]
        with pytest.raises(DataError, match="the labels are withheld: what tells them cannot be said"):
            leak_audit(replace(data, videos=tuple(hidden)))
        with pytest.raises(DataError, match="all videos are one video; an audit needs two"):
            leak_audit(replace(data, videos=data.videos[:1]))

    def test_two_videos_have_areas_and_no_test(self) -> None:
        data = dataset(by_step(np.random.default_rng(14)))
        (found,) = leak_audit(replace(data, videos=data.videos[:2]), QUICK, probes=["duration"]).probes
        assert np.isnan(found.p) and np.isnan(found.p_holm) and not found.tells

    def test_videos_of_a_cluster_tell_nothing_of_each_other(self) -> None:
        """A label that goes with the student: lengths that only name the student tell it over videos, not students."""
        rng = np.random.default_rng(15)
        student = np.repeat(np.arange(15), 4)
        wrong = np.repeat(rng.random((15, STEPS)) < 0.5, 4, axis=0)
        data = dataset(wrong, duration=100 + 3.0 * rng.permutation(15)[student])
        videos = [replace(video, extra={"student": f"s{student[row]}"}) for row, video in enumerate(data.videos)]
        data = replace(data, videos=tuple(videos))
        apart, together = (
            leak_audit(data, replace(QUICK, cluster=unit), probes=["duration"], media=False)
            for unit in ("video", "student")
        )
        assert apart.probes[0].within.value > 0.4 and apart.unit == "video"
        assert together.probes[0].within.value < 0.15 and (together.unit, together.clusters) == ("student", 15)
        assert not together.probes[0].tells


def test_every_probe_says_what_it_knows() -> None:
    assert all(probe.what and probe.kind in ("sent", "file") for probe in PROBES.values())
