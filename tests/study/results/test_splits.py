"""Parts of a split: what a run on one is asked, and what a run on the whole is scored on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.data.dataset import read_pairs
from siming_tasks.data.splits import parts_of, take_part
from siming_tasks.study.results.lmms_eval_commands import missing_requests
from siming_tasks.study.results.run import read_run, score_run
from tests.records import number_of
from tests.runs import unanswered

Edit = Callable[[Callable[[list[dict[str, Any]]], Any]], None]
SETTINGS = ("full_score", "clip_error")


@pytest.fixture
def parted(folder: Path, edit: Edit) -> Dataset:
    """Three videos: two train, one test; by person one train, two test."""

    def change(rows: list[dict[str, Any]]) -> None:
        for row, main_part, person in zip(rows, ("train", "test", "train"), ("test", "train", "test"), strict=True):
            row |= {"split": main_part, "splits": {"person": person}}

    edit(change)
    return open_dataset(folder)


def on_part(folder: Path, part: str) -> Path:
    """Make a run's results file say that it was made on a part, as the tasks' metadata say it."""
    for path in folder.glob("*_results.json"):
        results = json.loads(path.read_text())
        for task in results["configs"].values():
            task["metadata"]["split"] = part
        path.write_text(json.dumps(results))
    return folder


def test_a_part_has_its_videos_and_the_digest_of_the_whole(parted: Dataset) -> None:
    part = take_part(parted, "person:test")
    assert [video.video_id for video in part.videos] == ["v001", "v003"]
    assert (part.digest, part.part, part.whole) == (parted.digest, "person:test", parted)
    assert part.facts["split"] == "person:test" and "split" not in parted.facts
    assert [video.video_id for video in take_part(part, "test").videos] == ["v002"]  # of the whole, not of the part
    assert take_part(part, "") is part
    assert parts_of(parted.videos) == {"person:test": 2, "person:train": 1, "test": 1, "train": 2}
    with pytest.raises(DataError, match=r"in the split 'dev'. Its videos state person:test \(2\), person:train \(1\)"):
        take_part(parted, "dev")


def test_pairs_are_those_within_the_part(parted: Dataset) -> None:
    row = {"kind": "local", "step_id": "cpr_01", "direction": 1, "unchanged_steps": []}
    pairs = [{**row, "pair_id": second, "video_a": "v001", "video_b": second} for second in ("v002", "v003")]
    (parted.root / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    assert len(read_pairs(parted)) == 2
    assert [pair["video_b"] for pair in read_pairs(take_part(parted, "train"))] == ["v003"]


def test_a_run_on_the_whole_is_scored_on_a_part(parted: Dataset, make_run: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_run(parted, tmp_path / "a", "rater_b", settings=SETTINGS)
    whole = read_run(folder, parted)
    part = read_run(folder, take_part(parted, "train"))
    assert [len(whole.asked(name)) for name in SETTINGS] == [3, 12]
    assert sorted(part.asked("full_score")) == ["full_score/v001", "full_score/v003"]
    assert len(part.asked("clip_error")) == 8 and not part.problems
    scores = score_run(part)
    result = scores.settings["full_score"]
    assert (number_of(result, "qwk").n, number_of(result, "coverage").value) == (2, 1.0)
    assert result["dataset"]["split"] == "train"
    assert "over 2 videos of the split train" in result["estimand"]["sentence"]
    matrix = part.score_matrix("full_score")
    assert matrix.video_ids == ("v001", "v003")


def test_a_run_on_a_part_is_read_on_that_part(parted: Dataset, make_run: Callable[..., Path], tmp_path: Path) -> None:
    train = take_part(parted, "train")
    folder = on_part(make_run(train, tmp_path / "a", "rater_b", settings=SETTINGS), "train")
    run = read_run(folder, parted)  # before: six of nine requests of v002 counted as missing
    assert run.dataset.part == "train" and not run.problems
    assert number_of(score_run(run).settings["full_score"], "coverage").value == 1
    both = read_run(folder, take_part(parted, "person:test"))  # v001 and v003, which are the part train
    assert len(both.asked("full_score")) == 2
    with pytest.raises(DataError, match="no line is a prediction for the split 'test' of"):
        read_run(folder, take_part(parted, "test"))
    unanswered(next(folder.glob("*_samples_*full_score*")), (1,))
    run = read_run(folder, parted)
    ((count, missing),) = missing_requests(run, run.dataset, ["full_score"]).values()
    assert count == 2 and [request.id for request in missing] == ["full_score/v003"]


def test_a_limit_counts_the_videos_of_the_part(parted: Dataset, make_run: Callable[..., Path], tmp_path: Path) -> None:
    train = take_part(parted, "train")
    folder = make_run(train, tmp_path / "a", settings=("full_score",), config={"limit": 1, "offset": 1})
    on_part(folder, "train")
    log = next(folder.glob("*_samples_*"))
    log.write_text(log.read_text().splitlines()[1] + "\n")
    assert read_run(folder, parted).asked("full_score") == {"full_score/v003"}


def test_commands_take_the_part_that_they_are_told_or_that_the_run_names(
    parted: Dataset, make_run: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run(parted, tmp_path / "a", "rater_b", settings=("full_score",))
    root = str(parted.root)
    assert main(["score", "--data", root, str(folder), "--split", "person:train"]) == 0
    assert "over 1 video of the split person:train" in capsys.readouterr().out
    assert main(["score", "--data", root, str(folder), "--split", "dev"]) == 1
    assert "no video is in the split 'dev'" in capsys.readouterr().err
    on_part(folder, "person:test")
    assert main(["score", "--data", root, str(folder)]) == 0
    captured = capsys.readouterr()
    assert "Split: person:test, as the run states." in captured.err
    assert "tiny 1, split person:test SYNTHETIC" in captured.out
