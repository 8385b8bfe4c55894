"""SYNTHETIC: what a manikin would have exported of simulated exams, read back and held against the truth."""

from __future__ import annotations

import json

import pytest
import yaml

from siming_tasks import open_dataset
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.rubrics import default_rubric
from siming_tasks.tools.instruments import measure, measured_facts, rate_with_instrument
from siming_tasks.tools.instruments.measures import MEASURES, judge
from siming_tasks.tools.simulator import compute_true_scores, simulate_labels, true_compressions, write_exports
from siming_tasks.tools.simulator.manikin import MAKERS
from siming_tasks.tools.simulator.trainee import TraineeErrors
from siming_tasks.tools.simulator.video import perform

MEASURED = ("cpr_11", "cpr_12", "cpr_13")
UNMEASURED = {"cpr_13.unequal_timing", "cpr_13.hands_leave_chest", "cpr_11.fading"}
"""Errors that depth and time of strokes do not tell, or call by another name."""


@pytest.fixture(scope="module", params=MAKERS)
def rated(request, short_demo, tmp_path_factory):
    root = tmp_path_factory.mktemp(request.param)
    write_exports(short_demo, root / "exports", request.param)
    dataset = open_dataset(short_demo)
    return request.param, rate_with_instrument(dataset, root / "exports", root / "out")


def test_every_makers_form_gives_the_points_of_the_exams_truth(rated, short_demo):
    maker, rating = rated
    # At the short form's pace a pause inside a set is too short to be one, and makes the rhythm uneven.
    truth = {exam.video_id: exam.truth for exam in simulate_labels(len(rating.dataset.videos), seed=7)}
    compared = 0
    for video in rating.dataset.videos:
        for step in video.steps:
            points = step.scores.get("manikin")
            if points is None:
                continue
            true = truth[video.video_id][step.step_id]
            paused = truth[video.video_id]["cpr_14"].losses
            unmeasured = {loss.cause for loss in true.losses} & UNMEASURED
            if not unmeasured and not (step.step_id == "cpr_12" and paused):
                assert points == true.raw, (maker, video.video_id, step.step_id)
                compared += 1
    assert compared >= (6 if maker == "zoll" else 10)
    assert set(rating.judged) == set(MEASURED)
    assert ("release was not measured" in rating.unjudged) == (maker == "zoll")


def test_the_new_folder_differs_by_the_instrument_alone(rated, short_demo):
    _, rating = rated
    before, after = open_dataset(short_demo), rating.dataset
    assert "manikin" not in after.physicians and after.physicians == before.physicians
    assert yaml.safe_load((after.root / "dataset.yaml").read_text())["raters"] == {"manikin": {"kind": "instrument"}}
    assert after.synthetic and "SYNTHETIC" in (after.root / "README.md").read_text()
    for old, new in zip(before.videos, after.videos, strict=True):
        assert (old.video_id, old.duration) == (new.video_id, new.duration)
        for a, b in zip(old.steps, new.steps, strict=True):
            assert a.scores == {name: points for name, points in b.scores.items() if name != "manikin"}
    row = json.loads((after.root / "videos.jsonl").read_text().splitlines()[0])
    values = next(step["measured"]["manikin"] for step in row["steps"] if step["step_id"] == "cpr_11")
    assert set(values) == set(MEASURES) and values["depth"] == pytest.approx(55, abs=0.1)
    assert (after.root / "events" / f"{row['video_id']}.json").is_file()


@pytest.mark.parametrize("error", [e.id for name in MEASURED for e in default_rubric().by_id[name].errors])
def test_every_error_at_full_pace_is_measured_or_known_not_to_be(error):
    """Each error alone, thirty strokes as in a real set: the instrument's points are the truth's, or it is listed."""
    step = error.rpartition(".")[0]
    rubric = default_rubric()
    played = perform(TraineeErrors({step: (error,)}))
    from siming_tasks.tools.instruments import Compressions

    judgement = judge(rubric.by_id[step], measured_facts(rubric)[step],
                      measure(Compressions(*true_compressions(played)), *played.spans[step]))  # fmt: skip
    truth = compute_true_scores(rubric, {step: (error,)})[step]
    if error in UNMEASURED or error in ("cpr_12.omitted", "cpr_13.omitted"):
        assert judgement.points != truth.raw
    else:
        assert judgement.points == truth.raw


def test_original_names_are_found_in_the_private_table(short_demo, tmp_path):
    dataset = open_dataset(short_demo)
    write_exports(short_demo, tmp_path / "exports", "plain")
    first = dataset.videos[0].video_id
    (tmp_path / "exports" / f"{first}.csv").rename(tmp_path / "exports" / "Exam Li.csv")
    offsets = tmp_path / "exports" / "offsets.csv"
    offsets.write_text(offsets.read_text().replace(f"{first}.csv", "Exam Li.csv"))
    with pytest.raises(DataError, match="no video of the data set has this name"):
        rate_with_instrument(dataset, tmp_path / "exports", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    names = tmp_path / "names.csv"
    names.write_text(f"kind,id,name,file\nvideo,{first},Exam Li.mp4,/x/Exam Li.mp4\n")
    rating = rate_with_instrument(dataset, tmp_path / "exports", tmp_path / "out", names=names)
    assert rating.dataset.video(first).step("cpr_11").scores.get("manikin") is not None


def test_a_wrong_offset_is_seen_and_said(short_demo, tmp_path):
    write_exports(short_demo, tmp_path / "exports", "plain")
    offsets = tmp_path / "exports" / "offsets.csv"
    given = offsets.read_text()
    offsets.write_text(given.replace(",7", ",5000", 1))
    with pytest.raises(DataError, match="all outside"):
        rate_with_instrument(open_dataset(short_demo), tmp_path / "exports", tmp_path / "out")
    first = open_dataset(short_demo).videos[0]
    span = first.step("cpr_11").span
    late = (
        first.duration
        - 1
        - float((tmp_path / "exports" / f"{first.video_id}.csv").read_text().split("\n")[1].split(",")[0])
    )
    offsets.write_text(given.replace(f"{first.video_id}.csv,7", f"{first.video_id}.csv,{late:g}", 1))
    rating = rate_with_instrument(open_dataset(short_demo), tmp_path / "exports", tmp_path / "out")
    assert {problem.code for problem in rating.warnings} == {"instrument-clock"}
    assert "Check the video's offset" in str(rating.warnings[0])
    assert span[1] < first.duration - 1
    assert "manikin" not in rating.dataset.video(first.video_id).step("cpr_11").scores, "no points, and not 0"
    assert rating.unjudged["the export does not cover the step's span"] >= 1


@pytest.mark.parametrize("name", ["a/b", "../x", "", "a b", "x" * 65])
def test_a_raters_name_is_a_word(short_demo, tmp_path, name):
    with pytest.raises(DataError, match="--name"):
        rate_with_instrument(open_dataset(short_demo), tmp_path, tmp_path / "out", rater=name)


def test_the_command_says_what_it_did(short_demo, tmp_path, capsys):
    write_exports(short_demo, tmp_path / "exports", "zoll")
    assert main(["data", "sensor", str(short_demo), str(tmp_path / "exports"), str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "cpr_11" in printed and "release was not measured" in printed and "kind instrument" in printed
    assert main(["data", "check", str(tmp_path / "out")]) == 0
    again = ["data", "sensor", str(tmp_path / "out"), str(tmp_path / "exports"), str(tmp_path / "second")]
    assert main(again) == 1
    assert "has a rater 'manikin' already" in capsys.readouterr().err
