"""A physician answers as a model: from exactly a model's frames, into a file that `siming score` takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from siming_tasks.cli import main
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.options import Options
from siming_tasks.plugin.hooks.messages import doc_to_visual, shown_view
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.tasks import TASKS
from siming_tasks.tools.station.answer_as_model import AsModel
from siming_tasks.tools.station.event_log import EventLog
from tests.conftest import NEEDS_BROWSER
from tests.data.conftest import make_folder
from tests.plugin.hooks.conftest import docs
from tests.records import number_of
from tests.tools.station.conftest import Station
from tests.tools.station.pages import complaints, keys, text, visit, wait

Begin = Callable[..., Station]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two videos of 20 frames; consensus of cpr_01, cpr_02, cpr_03, aed_01: v001 1, 2, 4, 3; v002 2, 1, 5, 2."""
    return make_folder(tmp_path_factory.mktemp("set") / "tiny", videos=2)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def scores(folder: Path, predictions: Path, capsys: Any) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["score", str(folder), str(predictions), "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out)["settings"])


@NEEDS_BROWSER
def test_verdicts_by_keyboard_scored_by_hand(
    browser: Any, begin: Begin, folder: Path, tmp_path: Path, capsys: Any
) -> None:
    """Steps below full points are errors: v001 cpr_01 and cpr_03, v002 cpr_02 and aed_01. The physician says: all of
    v001 is correct, all of v002 is incorrect. So TP 2, FP 2, FN 2, TN 2: precision and recall .5, MCC 0."""
    out = tmp_path / "human.jsonl"
    words = ["--as-model", "--setting", "full_error", "--rater", "x", "--out", out, "--store", tmp_path / "s.sqlite"]
    station = begin(folder, *words, "--frames", 4)
    visit(browser, station)
    steps = ["cpr_01", "cpr_02", "cpr_03", "aed_01"]
    shown = {}
    for exam in range(2):
        wait(browser, f"document.getElementById('exams').value === '{exam}'")
        assert "v00" not in text(browser, "#who"), "a model is not told which exam it is"
        assert "frame 1 of 4" in text(browser, "#time")
        keys(browser, "\ue014", "\ue014", "\ue014")
        wait(browser, "document.getElementById('time').textContent.includes('frame 4 of 4')")
        wait(browser, "document.getElementById('frame').naturalWidth === 64")
        name = _name(tmp_path / "s.sqlite", exam)
        shown[name] = exam
        keys(browser, *[("1" if name == "v001" else "0") for _ in steps])
        wait(browser, "document.getElementById('progress').textContent.includes('finished')")
        if exam == 0:
            keys(browser, "Shift+n")
    assert set(shown) == {"v001", "v002"} and complaints(browser) == []
    assert "2 answered questions" in station.end()
    lines = {line["video_id"]: line for line in read(out)}
    assert lines["v001"]["verdicts"] == dict.fromkeys(steps, "correct")
    assert lines["v002"]["verdicts"] == dict.fromkeys(steps, "incorrect")
    said = scores(folder, out, capsys)["full_error"]
    assert {
        name: number_of(said, name).value for name in ("precision", "recall", "f1", "mcc", "coverage")
    } == pytest.approx({"precision": 0.5, "recall": 0.5, "f1": 0.5, "mcc": 0.0, "coverage": 1.0})


def _name(store: Path, place: int) -> str:
    """Which exam the event log has at a place of x's order."""
    event_log = EventLog.read(store)
    (work,) = [event.work for event in event_log.events()][:1]
    names = {f"full_error/{known.name}": known.name for known in event_log.exams().values()}
    return names[event_log.orders("x", work)[place]]


def worker(folder: Path, setting: str, tmp_path: Path, **options: Any) -> tuple[AsModel, Dataset]:
    dataset = open_dataset(folder)
    chosen = Options(cache=str(tmp_path / "cache"), **options)
    event_log = EventLog.begin(tmp_path / "s.sqlite", dataset.rubric, synthetic=dataset.synthetic)
    return AsModel(event_log, "x", dataset, TASKS[setting], chosen, tmp_path / f"{setting}.jsonl"), dataset


def answer(work: AsModel, points: Callable[[str, str], Any]) -> None:
    kind = work.kinds[0]
    for number, item in enumerate(work.items):
        work.open(number, f"open-{work.name}-{number:05}".replace("/", "-").replace("_", "-"))
        for step in item.steps:
            name = f"event-{work.name}-{number}-{step}".replace("/", "-").replace("_", "-")
            work.event(number, name, step, kind, points(item.exam.name, step))


@pytest.mark.parametrize("setting", ["full_score", "full_error", "clip_score", "clip_error"])
def test_the_truth_scores_one_in_every_setting(setting: str, folder: Path, tmp_path: Path, capsys: Any) -> None:
    work, dataset = worker(folder, setting, tmp_path, frames=4, clip_frames=2)

    def truth(video: str, step: str) -> Any:
        points, most = dataset.video(video).step(step).consensus, dataset.rubric.by_id[step].max_score
        assert points is not None
        return int(points) if setting.endswith("score") else "correct" if points == most else "incorrect"

    assert len(work.items) == (2 if setting.startswith("full") else 8)
    answer(work, truth)
    assert f"{len(work.items)} answered questions" in work.end()
    said = scores(folder, work.out, capsys)[setting]
    for name in ("qwk",) if setting.endswith("score") else ("mcc", "f1"):
        assert number_of(said, name).value == number_of(said, "coverage").value == 1


@pytest.mark.parametrize(("setting", "questions", "frames"), [("full_score", 2, 5), ("clip_error", 8, 2)])
def test_the_frames_are_those_that_a_model_gets(
    setting: str, questions: int, frames: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIMING_DATA", str(folder))
    monkeypatch.setenv("SIMING_CACHE", str(tmp_path / "models"))
    monkeypatch.setenv("SIMING_FRAMES", "5")
    monkeypatch.setenv("SIMING_CLIP_FRAMES", "2")
    work, _ = worker(folder, setting, tmp_path, frames=5, clip_frames=2)
    answer(work, lambda video, step: 1 if setting == "full_score" else "correct")
    work.write()
    records = {(line["video_id"], line.get("step_id")): line for line in read(work.out)}
    asked = docs(setting)
    assert len(asked) == questions
    for doc in asked:
        item = next(item for item in work.items if item.key == doc["id"])
        text, prompt = RUN.dataset_of(doc).prompt(doc)
        record = records[doc["video_id"], doc["step_id"] or None]
        assert record["prompt"] == prompt, "a comparison sees that both were asked the same"
        assert all(part in text for part in work.shown(item)["task"].split("\n\n"))
        shown = shown_view(doc, {"media": "frames"})
        assert {key: record["media"][key] for key in shown.info()} == shown.info()
        theirs = doc_to_visual(doc, {"media": "frames"})
        ours = [work.picture(item, frame) for frame in range(len(work.frames(item).times))]
        assert len(theirs) == len(ours) == frames and None not in ours
        for image, path in zip(theirs, ours, strict=True):
            assert np.array_equal(np.asarray(image), np.asarray(Image.open(BytesIO(path.read_bytes()))))
        assert work.picture(item, len(ours)) is None


def test_answers_under_other_conditions_are_another_worklist(folder: Path, tmp_path: Path) -> None:
    few, _ = worker(folder, "clip_score", tmp_path, clip_frames=2)
    answer(few, lambda video, step: 1)
    assert few.write() == 8
    assert len(read(few.out)) == 8 and read(few.out)[0]["media"]["n_frames"] == 2
    many, _ = worker(folder, "clip_score", tmp_path, clip_frames=4)
    assert len(read(many.out)) == 8, "the file stays as it is until there is an answer to write"
    answer(many, lambda video, step: 0)
    assert many.write() == 8 and {row["media"]["n_frames"] for row in read(many.out)} == {4}
    again, _ = worker(folder, "clip_score", tmp_path, clip_frames=2)
    assert again.write() == 8 and {row["media"]["n_frames"] for row in read(again.out)} == {2}


def test_undo_is_about_the_question_on_screen(folder: Path, tmp_path: Path) -> None:
    work, _ = worker(folder, "clip_score", tmp_path, clip_frames=2)
    exam = work.items[0].exam.name
    one, two = [number for number, item in enumerate(work.items) if item.exam.name == exam][:2]
    for number, name in ((one, "event-0001"), (two, "event-0002")):
        work.event(number, name, work.items[number].part, "points", 1)
    assert work.event(one, "event-0003", None, "undo", None)["left"] == 1
    assert work.open_steps()[two] == 0, "the other clip of the same exam keeps its points"


def test_a_place_that_cannot_be_written_is_said_first(folder: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "file").write_text("")
    words = [
        "data",
        "rate",
        folder,
        "--rater",
        "x",
        "--as-model",
        "--setting",
        "full_score",
        "--out",
        tmp_path / "file" / "o",
    ]
    assert main([*map(str, words), "--store", str(tmp_path / "s.sqlite")]) == 2
    assert "is no folder. Choose another place." in capsys.readouterr().err
