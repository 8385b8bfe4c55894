"""Leak audits: what is planted is found, by the fact that it was planted in; nothing is found in shuffled labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata, t

from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.metrics import ScoreMatrix
from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.leak_audit import PRIOR, file_facts, leak_audit, stated_facts
from tests.data.conftest import write_video
from tests.study.analysis.exams import exams

VIDEOS, STEPS = 60, 5
STEP_IDS = [f"s{step:02d}" for step in range(STEPS)]


def videos_of(wrong: np.ndarray, **planted: Any) -> list[Video]:
    """Exams of five steps; ``planted`` are lengths, starts, durations, names and sites."""
    rng = np.random.default_rng(99)
    length = planted.get("length", rng.uniform(3, 9, wrong.shape))
    start = planted.get("start", 20.0 * np.arange(STEPS) + rng.uniform(0, 8, wrong.shape))
    duration = planted.get("duration", rng.uniform(120, 160, len(wrong)))
    names = planted.get("names", [f"v{number:05d}" for number in range(len(wrong))])
    site = planted.get("site", [None] * len(wrong))
    return [
        Video(name, f"media/{name}.mp4", float(duration[row]), tuple(
            StepLabel(step, start[row, s], start[row, s] + length[row, s], {}, True)
            for s, step in enumerate(STEP_IDS)
        ), site[row], {"year": 2020 + row % 3})
        for row, name in enumerate(names)
    ]  # fmt: skip


def matrix_of(wrong: np.ndarray, **more: Any) -> ScoreMatrix:
    return exams(np.where(wrong, 1.0, 3.0), np.full(wrong.shape, np.nan), **more)


def told(wrong: np.ndarray, facts: dict[str, np.ndarray], **more: Any) -> set[str]:
    """Facts with a gain above 0 whose corrected p is at most .05."""
    gains = leak_audit(matrix_of(wrong, **more), facts).of(metric="gain")
    return {each.row for each in gains if each.value and each.value > 0 and each.p_holm <= 0.05}


def test_the_test_is_one_sided_and_says_what_it_could_have_missed():
    """Two facts of chance: p of a gain above 0 by SciPy's t, and the gain that is found with power .8 at .05 / 2."""
    rng = np.random.default_rng(5)
    facts = {name: rng.normal(0, 1, (VIDEOS, 1)) for name in ("first", "second")}
    rows = leak_audit(matrix_of(by_step(rng)), facts)
    for name in facts:
        gain, missed = (rows.one("leaks", name, metric) for metric in ("gain", "missed"))
        assert gain.p == pytest.approx(t.sf(gain.value / gain.stderr, gain.degrees)) and gain.degrees <= VIDEOS - 1
        reach = t.ppf(1 - 0.05 / 2, gain.degrees) + t.ppf(0.8, gain.degrees)
        assert missed.value == pytest.approx(reach * gain.stderr) and missed.low is None


def by_step(rng: np.random.Generator) -> np.ndarray:
    """Labels of every step by itself."""
    return rng.random((VIDEOS, STEPS)) < 0.4


def by_exam(rng: np.random.Generator) -> np.ndarray:
    """Labels of good exams and of bad ones, which fail most steps."""
    return rng.random((VIDEOS, STEPS)) < np.where(np.arange(VIDEOS) % 2 == 0, 0.85, 0.1)[:, None]


def bad_first(wrong, rng):
    """Bad exams are named first."""
    order = np.argsort(np.argsort(-wrong.sum(axis=1) + rng.uniform(0, 0.5, len(wrong))))
    return {"names": [f"v{number:05d}" for number in order]}


def severe_site(wrong, rng):
    """Bad exams are of the site whose raters are severe, but for one in ten."""
    return {"site": ["ab"[int(bad > 2) ^ int(rng.random() < 0.1)] for bad in wrong.sum(axis=1)]}


LEAKS = {
    "span length": (by_step, lambda wrong, rng: {"length": rng.uniform(5, 8, wrong.shape) - 2 * wrong}),
    "order": (
        by_step,
        lambda wrong, rng: {"start": 10.0 * np.arange(STEPS) + rng.uniform(0, 2, wrong.shape) + 60 * wrong},
    ),
    "names": (by_exam, bad_first),
    "site": (by_exam, severe_site),
}


@pytest.mark.parametrize(
    "fact", [pytest.param(name, marks=[pytest.mark.weekly] * (name in ("order", "site"))) for name in LEAKS]
)
def test_a_planted_leak_is_found_and_gone_with_other_labels(fact):
    rng, (labels, plant) = np.random.default_rng(7), LEAKS[fact]
    wrong = labels(rng)
    stated = stated_facts(videos_of(wrong, **plant(wrong, rng)), STEP_IDS)
    assert stated.keys() == {*LEAKS, "duration", "place", "steps asked", "year", "videos of the student"}
    facts = {fact: stated[fact]}
    assert told(wrong, facts) == {fact}
    assert told(wrong[rng.permutation(VIDEOS)], facts) == set()


def test_areas_are_pooled_over_videos_and_jackknifed():
    """The prior of two folds by hand: usual shares of the other fold, ranked over all steps."""
    wrong = np.random.default_rng(1).random((20, 3)) < np.array([0.2, 0.5, 0.8])
    matrix = matrix_of(wrong, clusters=("a", "b") * 10, unit="site")
    given = np.empty(wrong.shape)
    given[::2], given[1::2] = wrong[1::2].mean(axis=0), wrong[::2].mean(axis=0)
    ranks, positive = rankdata(given.ravel()), wrong.sum()
    area = (ranks[wrong.ravel()].sum() - positive * (positive + 1) / 2) / (positive * (wrong.size - positive))
    found = leak_audit(matrix, {}).one(row=PRIOR)
    assert found.value == pytest.approx(area) and found.why == "few-clusters"


def test_videos_of_a_cluster_tell_nothing_of_each_other():
    """A label that goes with the student: durations that only name the student tell it over videos, not students."""
    rng = np.random.default_rng(15)
    student = np.repeat(np.arange(15), 4)
    wrong = np.repeat(rng.random((15, STEPS)) < 0.5, 4, axis=0)
    facts = {"duration": (100 + 3.0 * rng.permutation(15)[student])[:, None]}
    assert told(wrong, facts) == {"duration"}
    assert told(wrong, facts, clusters=tuple(f"s{name}" for name in student), unit="student") == set()


def test_what_is_the_same_everywhere_and_what_is_refused():
    wrong = by_step(np.random.default_rng(2))
    rows = leak_audit(matrix_of(wrong), {"site": np.zeros((VIDEOS, 1))})
    assert rows.one(row="site", metric="gain").why == "It is the same in every video."
    unknown = leak_audit(matrix_of(wrong), {"span length": np.full((VIDEOS, STEPS, 1), np.nan)})
    assert unknown.one(row="span length", metric="gain").why == "It is the same in every video."
    with pytest.raises(DataError, match="The labels are withheld"):
        leak_audit(exams(np.full((5, 2), np.nan), np.zeros((5, 2))), {})
    with pytest.raises(DataError, match="All videos are one student"):
        leak_audit(matrix_of(wrong, clusters=("s",) * VIDEOS, unit="student"), {})
    right = leak_audit(matrix_of(np.zeros((9, 2), bool)), {}).one(row=PRIOR)
    assert (right.value, right.why) == (None, "No step is wrong, or none is correct.")


def test_what_files_tell_is_read(tmp_path: Path):
    """Of eight files every second one is larger, has another title and was made a year later."""
    for number in range(8):
        odd = number % 2
        notes = {"title": "ab"[odd], "creation_time": f"202{odd}-01-{number + 1:02d}T00:00:00"}
        write_video(tmp_path / f"{number}.mp4", seed=number, size=(64 + 64 * odd, 48), metadata=notes)
    files, videos = sorted(tmp_path.glob("*.mp4")), videos_of(np.zeros((8, STEPS), bool), duration=np.full(8, 2.0))
    facts = file_facts(files, videos)
    assert facts.keys() == {"size", "coding", "dates"}
    for name, values in facts.items():
        even, odds = values[::2], values[1::2]
        assert ((even.max(axis=0) < odds.min(axis=0)) | (even.min(axis=0) > odds.max(axis=0))).any(), name
