"""The whole baseline on real, encoded exams: what is written, never learnt from itself, kept, gone on with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.options import Options
from siming_tasks.report.charts import ROLES
from siming_tasks.report.leaderboard import build_leaderboard
from siming_tasks.report.run_analysis import analyze_run
from siming_tasks.results.discovery import find_runs, run_at
from siming_tasks.results.record import has_supervised_judge
from siming_tasks.results.run import read_run
from siming_tasks.tasks import BENCHMARK_TASKS
from siming_tasks.tools.baseline.predict import Baseline, write_baseline
from siming_tasks.tools.board.admission import admit
from siming_tasks.tools.board.submission import ModelCard, pack, read_submission
from tests.records import write_predictions
from tests.tools.baseline.turned import worst


class Colours:
    """Mean colours: features that cost nothing."""

    name, digest = "colours", "0" * 64

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, pictures: Sequence[Any]) -> np.ndarray:
        self.asked += len(pictures)
        return np.stack([np.asarray(picture).mean((0, 1)) for picture in pictures]).astype(np.float32)


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    return Options(frames=3, clip_frames=2, frame_size=64, cache=str(tmp_path_factory.mktemp("cache")))


def made(dataset: Dataset, options: Options, out: Path, frozen: Colours | None = None, **more: Any) -> Baseline:
    return write_baseline(dataset, options, frozen or Colours(), out, **{"folds": 2, **more})


@pytest.fixture(scope="module")
def mine(short_demo: Path, options: Options, tmp_path_factory: pytest.TempPathFactory) -> Baseline:
    """The baseline of the short exams, made once; its file is only read."""
    return made(open_dataset(short_demo), options, tmp_path_factory.mktemp("mine") / "mine.jsonl")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_its_own_labels_change_nothing_of_what_is_said_of_a_video(
    short_demo: Path, options: Options, mine: Baseline, tmp_path: Path
) -> None:
    dataset = open_dataset(short_demo)
    name = dataset.videos[1].video_id
    made(worst(dataset, name), options, tmp_path / "b.jsonl")
    before, after = lines(mine.path), lines(tmp_path / "b.jsonl")
    assert [x for x in before if x["video_id"] == name] == [x for x in after if x["video_id"] == name]
    others = [[x for x in some if x["video_id"] != name] for some in (before, after)]
    assert others[0] != others[1]  # who was trained on it says something else


def test_it_is_a_prediction_file_of_its_own_kind(short_demo: Path, mine: Baseline, tmp_path: Path) -> None:
    dataset = open_dataset(short_demo)
    out = tmp_path / "mine.jsonl"
    out.write_bytes(mine.path.read_bytes())
    run = read_run(out, dataset)
    assert run.settings == BENCHMARK_TASKS and not run.problems
    assert all(len(run.records[name]) == len(run.asked(name)) for name in BENCHMARK_TASKS)
    media = run.records["full_score"][0]["media"]
    assert (media["n_frames"], media["mode"], media["size"]) == (3, "frames", 64)
    assert (run.source.role, run.source.name, run.source.reference) == ("supervised", "mine", False)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "part.jsonl").write_bytes(out.read_bytes())
    (folder / "a.jsonl").write_text("")
    assert [source.role for source in find_runs([str(folder)])] == ["supervised"]
    assert "folds=2" in run.source.facts["trained"] and "group=video" in run.source.facts["trained"]
    assert (mine.groups, mine.heads, mine.untrained) == (4, 2 * 33 * 2, 0)
    points = {(x["video_id"], step): value for x in lines(out) if x["setting"] == "full_score"
              for step, value in x["scores"].items()}  # fmt: skip
    verdicts = {(x["video_id"], step): value for x in lines(out) if x["setting"] == "full_error"
                for step, value in x["verdicts"].items()}  # fmt: skip
    tops = {step.id: step.max_score for step in dataset.rubric.steps}
    assert points and all((points[key] < tops[key[1]]) == (verdicts[key] == "incorrect") for key in points)
    out.write_text(out.read_text().replace("supervised, cross-fitted", "something else"))
    assert run_at(out).role == "model"


def test_an_interrupted_run_goes_on_and_a_broken_file_is_made_again(
    short_demo: Path, options: Options, tmp_path: Path
) -> None:
    dataset, out = open_dataset(short_demo), tmp_path / "out.jsonl"
    options = replace(options, frames=4, cache=str(tmp_path / "cache"))

    def interrupted(some: list[Any], what: str) -> Iterable[Any]:
        yield from some[:2]
        raise KeyboardInterrupt

    first, second, third = Colours(), Colours(), Colours()
    with pytest.raises(KeyboardInterrupt):
        made(dataset, options, out, first, watched=interrupted)
    assert not out.exists()
    made(dataset, options, out, second)
    once = out.read_bytes()
    whole = Colours()
    made(dataset, replace(options, cache=str(tmp_path / "other")), out, whole)
    assert out.read_bytes() == once
    assert first.asked + second.asked == whole.asked and first.asked > 0 < second.asked
    broken, *_ = sorted((tmp_path / "cache" / "baseline").iterdir())
    broken.write_bytes(broken.read_bytes()[:-200])
    made(dataset, options, out, third)
    assert out.read_bytes() == once and 0 < third.asked < whole.asked


def test_a_video_that_cannot_be_shown_is_named_and_left_out(short_demo: Path, options: Options, tmp_path: Path) -> None:
    dataset = open_dataset(short_demo)
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    first, *others = dataset.videos
    paths = {video.media: short_demo / video.media for video in others} | {first.media: tmp_path / "bad.mp4"}
    damaged = replace(dataset, meta={**dataset.meta, "media_sha256": {}})
    damaged._media_files.update(paths)
    found = made(damaged, options, tmp_path / "out.jsonl")
    assert len(found.unreadable) == 1 and found.unreadable[0].startswith(f"{first.video_id}: ")
    assert {x["video_id"] for x in lines(tmp_path / "out.jsonl")} == {video.video_id for video in others}
    withheld = [replace(v, steps=tuple(replace(s, scores={}) for s in v.steps)) for v in dataset.videos]
    with pytest.raises(DataError, match="the labels are withheld, and there is nothing to learn from"):
        made(replace(dataset, videos=tuple(withheld)), options, tmp_path / "none.jsonl")


def test_the_command(short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "baseline.jsonl"
    small = ["--frames", "2", "--clip-frames", "1", "--frame-size", "480", "--cache", str(tmp_path / "cache")]
    command = ["run", "baseline", str(short_demo), "--out", str(out), "--device", "cpu", "--folds", "2", *small]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "SYNTHETIC siming-demo, supervised, cross-fitted: 2 folds over 4 groups of 4 videos." in said
    assert main(["score", str(short_demo), str(out), "--validate-only"]) == 0
    assert main(["board", "submit", str(out), "--data", str(short_demo), "--out", str(tmp_path / "a.zip")]) == 1
    assert "a supervised baseline, which learnt from the labels of this very data set" in capsys.readouterr().err
    assert not (tmp_path / "a.zip").exists()
    assert main([*command[: -len(small)], *small, "--device", "nowhere"]) == 2
    assert "--device 'nowhere' cannot be used here" in capsys.readouterr().err


def packed(run: Path, dataset: Dataset, out: Path) -> Path:
    """Packed without the command that would refuse it."""
    source = run_at(run)
    read = read_run(source, dataset)
    found = {name: read.evaluate(name, Options(resamples=20)) for name in read.settings}
    return pack(source, read.records, dataset, ModelCard(name="A model"), found, out)


def test_a_board_knows_it_whoever_packed_it(short_demo: Path, mine: Baseline, tmp_path: Path) -> None:
    dataset, few = open_dataset(short_demo), Options(resamples=20)
    once, again = lines(mine.path), tmp_path / "again.jsonl"
    records = read_run(mine.path, dataset).records
    assert {r["judge"]["features"] for mine in records.values() for r in mine} == {f"colours {'0' * 12}"}
    write_predictions((record for mine in records.values() for record in mine), again)
    assert [{**x, "judge": x["judge"]["kind"]} for x in lines(again)] == [
        {**x, "judge": "supervised, cross-fitted"} for x in once
    ]
    with pytest.raises(
        DataError, match=r"a\.zip: a supervised baseline, which learnt from the labels of this very data"
    ):
        admit(packed(again, dataset, tmp_path / "a.zip"), dataset, few)
    first, *others = once  # the first line tells nothing, and so nothing that is said of the run
    again.write_text("".join(json.dumps(x) + "\n" for x in ({**first, "judge": None}, *others)))
    archive = packed(again, dataset, tmp_path / "b.zip")
    assert "judge" not in read_submission(archive).submission.run
    with pytest.raises(DataError, match=r"b\.zip: a supervised baseline"):
        admit(archive, dataset, few)
    assert main(["board", "submit", str(again), "--data", str(short_demo), "--out", str(tmp_path / "c.zip")]) == 1
    assert not (tmp_path / "c.zip").exists()
    again.write_text("".join(json.dumps({**x, "judge": ["other", 1]}) + "\n" for x in once))
    assert not has_supervised_judge(read_run(again, dataset).records)
    assert admit(packed(again, dataset, tmp_path / "d.zip"), dataset, few).run.settings == BENCHMARK_TASKS


def test_it_stands_beside_the_models_and_has_no_rank(short_demo: Path, mine: Baseline, tmp_path: Path) -> None:
    """The same answers four times: twice as the baseline that they are, twice as if a model had said them."""
    dataset = open_dataset(short_demo)
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(mine.path.read_bytes())
    for name in ("m", "n"):
        bare = [{key: value for key, value in line.items() if key != "judge"} for line in lines(mine.path)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in bare))
    how = Options(resamples=50)
    studies = [
        analyze_run(source, dataset, how) for source in find_runs([str(tmp_path / f"{x}.jsonl") for x in "abmn"])
    ]
    table = build_leaderboard(studies, dataset, "clip_error", how)
    assert table is not None and table["models"] == 2
    assert [(row["role"], row["name"]) for row in table["rows"]][:5] == [
        ("model", "m"), ("model", "n"), ("supervised", "a"), ("supervised", "b"), ("human", "second physician")
    ]  # fmt: skip
    assert {row["name"] for row in table["rows"] if row.get("standing")} == {"m", "n"}
    for signs in ([role.mark, role.outline, role.symbol, role.colour] for role in ROLES.values()):
        assert all(signs)
    assert len({role.mark for role in ROLES.values()}) == len({role.symbol for role in ROLES.values()}) == len(ROLES)
