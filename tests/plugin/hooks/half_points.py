"""An exam in half points whose numbers were worked by hand: four videos, three steps, one in whole points."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import yaml

from siming_tasks.data import Dataset
from siming_tasks.tools.builder import BuildOptions, build_dataset
from tests.data.conftest import write_video

VIDEOS = ("a1", "b2", "c3", "d4")
CONSENSUS = {"cut": (3, 2.5, 1.5, 0), "knot": (2.5, 1.5, 0.5, 2), "gloves": (2, 1, 2, 0)}
RATER_B = {"cut": (3, 2, 1.5, 0.5), "knot": (2.5, 1, 0.5, 2), "gloves": (2, 1, 2, 0)}


def step(name: str, most: float, **more: Any) -> dict[str, Any]:
    criteria = {"full": "all", "partial": "some", "fail": "none"}
    return {"id": name, "name": name, "requirement": "Does it.", "max_score": most, "criteria": criteria, **more}


RUBRIC: dict[str, Any] = {
    "schema_version": 1,
    "rubric_id": "suturing",
    "version": "1",
    "title": "Suturing of a skin wound",
    "setting": "on a suture pad",
    "skills": [
        {
            "id": "suture",
            "name": "Suture",
            "steps": [step("cut", 3, score_increment=0.5), step("knot", 2.5), step("gloves", 2)],
        }
    ],
}


def sheet(path: Path, **other: Any) -> Path:
    """The table of labels; ``other`` replaces cells: ``b2_cut_rater_b=1.25``."""
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["video_id", "step_id", "start", "end", "rater", "points"])
        for index, video in enumerate(VIDEOS):
            for at, name in enumerate(CONSENSUS):
                points = {"rater_a": CONSENSUS[name][index], "rater_b": RATER_B[name][index]}
                points["consensus"] = CONSENSUS[name][index]
                for rater, value in points.items():
                    given = other.get(f"{video}_{name}_{rater}", value)
                    writer.writerow([video, name, 0.5 * at, 0.5 * at + 0.4, rater, given])
    return path


def build(place: Path, rubric: dict[str, Any] = RUBRIC, **other: Any) -> Dataset:
    """The exams as a dataset folder, by way of the builder."""
    for number, video in enumerate(VIDEOS):
        write_video(place / "videos" / f"{video}.mp4", seed=number)
    (place / "rubric.yaml").write_text(yaml.safe_dump(rubric))
    inputs = {"rubric": place / "rubric.yaml", "labels": sheet(place / "labels.csv", **other)}
    options = BuildOptions(keep_ids=True, license="cc0-1.0", synthetic=True)
    return build_dataset(place / "exams", **inputs, videos=place / "videos", options=options).dataset
