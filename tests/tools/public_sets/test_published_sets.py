"""The readers against the published annotation files, where they are at hand: counts that were taken from the files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from siming_tasks.rubrics import Rubric
from siming_tasks.tools.public_sets import SETS
from siming_tasks.tools.public_sets.public_set import PublicSet

ANNOTATIONS = Path(__file__).parents[4] / "shared" / "annotations"
FOLDERS = {name: ANNOTATIONS / name for name in SETS if name != "lasana"} | {
    "assembly101": ANNOTATIONS / "assembly101_mistakes"
}
pytestmark = pytest.mark.skipif(not ANNOTATIONS.is_dir(), reason="the published annotation files are not here")


def read(name: str) -> PublicSet:
    return SETS[name].read(FOLDERS[name])


@pytest.mark.parametrize("name", FOLDERS)
def test_the_files_are_those_of_the_pinned_commit_and_make_a_sound_rubric(name: str) -> None:
    published, public = SETS[name].published, read(name)
    assert published.digest_of(FOLDERS[name]) == published.digest and len(published.commit) == 40
    rubric = Rubric.model_validate(public.rubric)
    ids = {step.id for step in rubric.steps}
    for row in public.rows(public.rule):
        assert {step["step_id"] for step in row["steps"]} <= ids


def test_egooops() -> None:
    """50 videos, 538 segments, 35 of none of 46 instructions; 55 repeats, 12 left out, 95 mistakes, 35 outside."""
    public = read("egooops")
    counts = public.counts("worst")
    assert counts["recordings"] == 50 and counts["hours"] == 6.6
    assert counts["no_step"] == 35 and counts["further_attempts"] == 55 and counts["left_out"] == 12
    assert sum(len(skill["steps"]) for skill in public.rubric["skills"]) == 46
    segments = [one for recording in public.recordings for each in recording.attempts.values() for one in each]
    assert len(segments) == 538 - 35 and sum(not one.correct for one in segments) == 60
    assert all(one.reason for one in segments if not one.correct)
    assert counts["steps"] == 503 - 55 + 12
    wrong = {rule: public.counts(rule)["wrong"] for rule in ("best", "last", "worst")}
    assert wrong["best"] <= wrong["last"] <= wrong["worst"] == 68


def test_captaincook4d() -> None:
    """Counts of the rows as published; every row belongs to a step, two of them by the set's number alone."""
    public = read("captaincook4d")
    counts = public.counts("worst")
    assert counts["recordings"] == 384 and counts["hours"] == 94.5 and counts["no_step"] == 0
    assert len(public.rubric["skills"]) == 24
    kinds = {"order": 794, "technique": 498, "preparation": 394, "measurement": 331, "timing": 177, "temperature": 65}
    assert counts["errors_of_all_attempts"] == {**kinds, "missing": 285, "other": 8}
    attempts = [one for recording in public.recordings for each in recording.attempts.values() for one in each]
    assert len(attempts) == 5700 - 6 and sum(not one.correct for one in attempts) == 1964
    assert sum(one.start is None for one in attempts) == 287 - 6
    assert len({recording.about["site"] for recording in public.recordings}) == 10
    assert len({recording.about["student"] for recording in public.recordings}) == 8
    for kind, sizes in {"recording": (213, 62, 109), "person": (204, 84, 96), "environment": (216, 115, 53)}.items():
        parts = Counter(recording.splits[kind] for recording in public.recordings)
        assert tuple(parts[part] for part in ("train", "val", "test")) == sizes


def test_egoems() -> None:
    """76 full cardiac arrests of 12 people, median 135 s; 5 shocks without a "clear" before them."""
    public = read("egoems")
    counts = public.counts("first")
    assert (
        counts["recordings"] == 76 and counts["errors_of_all_attempts"] == {"no_clear": 5} and public.labels == "rule"
    )
    seconds = sorted(recording.duration for recording in public.recordings)
    assert 134 < (seconds[37] + seconds[38]) / 2 < 136
    assert len({recording.about["student"] for recording in public.recordings}) == 12
    done = Counter(step for recording in public.recordings for step in recording.attempts)
    assert done["chest_compressions"] == 76 and done["administer_shock_aed"] == 70 and done["turn_on_aed"] == 62


def test_assembly101() -> None:
    """328 sequences, 38.7 h, 3,964 segments; an attempt of a step joins two parts that somebody joined rightly."""
    public = read("assembly101")
    counts = public.counts("first")
    assert counts["recordings"] == 328 and counts["hours"] == 38.7 and len(public.rubric["skills"]) == 101
    attempts = [one for recording in public.recordings for each in recording.attempts.values() for one in each]
    assert len(attempts) + counts["no_step"] == 3964
    remarks = Counter()
    for path in FOLDERS["assembly101"].glob("annots/*.csv"):
        remarks.update(line.split(",")[5] for line in path.read_text().splitlines())
    assert remarks == {"correct": 2927, "mistake": 707, "correction": 330}
    assert counts["left_out"] == 0 and counts["recovered"] > 100


def test_every_number_of_a_row_is_json(tmp_path: Path) -> None:
    for name in FOLDERS:
        public = read(name)
        rows = [json.loads(json.dumps(row, allow_nan=False)) for row in public.rows(public.rule)]
        assert len(rows) == len(public.recordings)
