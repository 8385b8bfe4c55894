"""Half points all the way: an exam of four videos and three steps, one in whole points, worked by hand."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.data import Dataset, with_labels, withhold
from siming_tasks.plugin import hooks
from siming_tasks.study.results.run import read_run, score_run
from siming_tasks.tools.builder import BuildOptions, build_dataset
from tests.data.conftest import write_video
from tests.plugin.hooks.conftest import aggregated, docs, processed
from tests.records import number_of, write_predictions

VIDEOS = ("a1", "b2", "c3", "d4")
CONSENSUS = {"cut": (3, 2.5, 1.5, 0), "knot": (2.5, 1.5, 0.5, 2), "gloves": (2, 1, 2, 0)}
RATER_B = {"cut": (3, 2, 1.5, 0.5), "knot": (2.5, 1, 0.5, 2), "gloves": (2, 1, 2, 0)}


def step(name: str, most: float, **more: Any) -> dict[str, Any]:
    criteria = {"full": "all", "partial": "some", "fail": "none"}
    return {"id": name, "name": name, "requirement": "Does it.", "max_score": most, "criteria": criteria, **more}


RUBRIC: dict[str, Any] = {
    "schema_version": 1, "rubric_id": "suturing", "version": "1", "title": "Suturing", "setting": "on a suture pad",
    "skills": [{"id": "suture", "name": "Suture", "steps": [
        step("cut", 3, score_increment=0.5), step("knot", 2.5), step("gloves", 2),
    ]}],
}  # fmt: skip


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The exams as a dataset folder, by way of the builder."""
    place = tmp_path_factory.mktemp("halves")
    for number, video in enumerate(VIDEOS):
        write_video(place / "videos" / f"{video}.mp4", seed=number)
    (place / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    with (place / "labels.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["video_id", "step_id", "start", "end", "rater", "points"])
        for index, video in enumerate(VIDEOS):
            for at, name in enumerate(CONSENSUS):
                points = CONSENSUS[name][index]
                for rater, value in (("rater_a", points), ("rater_b", RATER_B[name][index]), ("consensus", points)):
                    writer.writerow([video, name, 0.5 * at, 0.5 * at + 0.4, rater, value])
    inputs = {"rubric": place / "rubric.yaml", "labels": place / "labels.csv", "videos": place / "videos"}
    options = BuildOptions(keep_ids=True, license="cc0-1.0", simulated_videos=True, simulated_labels=True)
    return build_dataset(place / "exams", **inputs, options=options).dataset


@pytest.fixture
def halves(made: Dataset, begin: Callable[..., None]) -> Dataset:
    begin(made.root)
    return made


@pytest.mark.parametrize("name", ["full_score", "clip_score"])
def test_kappa_of_half_points_worked_by_hand(name: str, halves: Dataset, begin: Callable[..., None]) -> None:
    """Labels of the consensus, absolute: 333 222 113 020; of rater_b: 333 212 113 120.

    Both sum to 22, their squares to 54 and 52, their products to 52: 2 cov / (var + var) = 70 / (41 + 35) = 35/38.
    Proportional: 333 211 113 020 and 333 211 113 120, sums 20 and 21, squares 48 and 49, products 48:
    (13/6) / (176/144 + 147/144 + 1/144) = 26/27. 2 of 3 points are just two thirds.
    """
    results = aggregated(processed(name, "rater_b"))
    assert results["qwk"] == pytest.approx(35 / 38, abs=1e-12)
    begin(halves.root, MAPPING="proportional")
    results = aggregated(processed(name, "rater_b"))
    assert results["qwk"] == pytest.approx(26 / 27, abs=1e-12)
    # totals 7.5 5 4 2 and 7.5 4 4 2.5: deviations 23 3 -5 -21 and 24 -4 -4 -16 (eighths), so
    # plcc = (552 - 12 + 20 + 336) / sqrt(1004 * 864)
    assert results["plcc"] == pytest.approx(896 / (1004 * 864) ** 0.5, abs=1e-9)  # totals are rounded to nine digits


def test_scores_between_half_points_are_off_the_scale_and_counted(halves: Dataset) -> None:
    (doc, *_) = docs("full_score")
    said = '{"scores": {"cut": 1.25, "knot": "1.5/2.5", "gloves": 1.5}}'
    record = hooks.process_results(doc, [said])["siming_stderr"]
    assert record["status"] == "partial"
    assert record["answers"] == {"knot": 1.5} and record["missing"] == {"cut": "off_scale", "gloves": "off_scale"}


def test_labels_that_are_kept_apart_score_the_same(halves: Dataset, tmp_path: Path) -> None:
    path = write_predictions([row["siming_stderr"] for row in processed("full_score", "rater_b")], tmp_path / "p.jsonl")
    public = withhold(halves.root, tmp_path / "public", tmp_path / "key.json")
    path.write_text(path.read_text().replace(halves.digest, public.digest))
    setting = score_run(read_run(path, with_labels(public, tmp_path / "key.json"))).settings["full_score"]
    assert number_of(setting, "qwk").value == pytest.approx(35 / 38, abs=1e-12)
