"""The network trained on: the right gradient, a few frames at a time, and nothing of the videos that it predicts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.models.nano.frame_features import pixels
from siming_tasks.options import Options
from siming_tasks.results.run import read_run
from siming_tasks.rubrics import Rubric
from siming_tasks.tasks import BENCHMARK_TASKS
from siming_tasks.tools.baseline import tuning
from siming_tasks.tools.baseline.features import views_of
from siming_tasks.tools.baseline.predict import Baseline, write_baseline
from siming_tasks.tools.baseline.tuning import Lesson, Tuned, Tuner
from tests.data.conftest import unstate
from tests.tools.baseline.turned import worst

CPU = torch.device("cpu")
STEPS = ("cpr_01", "cpr_06", "aed_02")


@pytest.fixture(scope="module")
def few(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The short exams with clips of two steps only, which spares four fifths of the frames."""
    folder = shutil.copytree(short_demo, tmp_path_factory.mktemp("few") / "exams")
    rows = lines(folder / "videos.jsonl")
    for row in rows:
        for step in row["steps"]:
            if step["step_id"] not in STEPS[:2]:
                del step["start"], step["end"]
    (folder / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    unstate(folder)
    return folder


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    return Options(frames=3, clip_frames=1, frame_size=480, cache=str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def lesson(few: Path, options: Options) -> Lesson:
    """Five frames of an exam, two clips of three, one of them without a label; one label of half points."""
    dataset = open_dataset(few)
    video = dataset.videos[0]
    views = views_of(dataset, video, dataset.media_digest(video, options.cache_dir), replace(options, frames=5))
    part = {name: views[name] for name in ("", *STEPS[:2])}
    return Lesson(part, {"": STEPS, STEPS[0]: STEPS[:1], STEPS[1]: STEPS[1:2]}, {STEPS[0]: 0.0, STEPS[2]: 0.5})


def direct_loss(net: Tuned, lesson: Lesson) -> torch.Tensor:
    """The loss written out for that lesson, all frames in one graph."""
    facts, found = net._watcher.facts, []
    for name, steps in (("", (STEPS[0], STEPS[2])), (STEPS[0], STEPS[:1])):
        view = lesson.views[name]
        array = np.stack([pixels(picture) for picture in view.images()])
        frames = net._encoder.features(torch.from_numpy(array).permute(0, 3, 1, 2) / 255 - 0.5)
        times = torch.tensor([[round(time - (view.times[0] if name else 0), 1) for time in view.times]])
        numbers = [facts.steps.index(step) for step in steps]
        logits = net._judge(frames[None], times, torch.zeros_like(times, dtype=torch.bool), torch.tensor([numbers]),
                            torch.tensor([int(name != "")]))[0]  # fmt: skip
        log = [torch.log_softmax(row[: int(facts.maxima[n]) + 1], 0) for row, n in zip(logits, numbers, strict=True)]
        found.append([-log[0][0], *(-(row[0] + row[1]) / 2 for row in log[1:])])
    (first, third), (clip,) = found
    return (first + third) / 2 + clip / 2  # of two clips one has a label


def test_the_gradient_is_that_of_all_frames_at_once(lesson: Lesson, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "_AT_ONCE", 2)
    direct, net = Tuned(CPU), Tuned(CPU)
    parameters = [*direct._encoder.parameters(), *direct._judge.parameters()]
    direct_loss(direct, lesson).backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    own = [*net._encoder.parameters(), *net._judge.parameters()]
    before = [value.detach().clone() for value in own]
    net._optimizer = torch.optim.SGD(own, lr=1.0)
    net.learn(lesson)
    for value, start, wanted in zip(own, before, parameters, strict=True):
        expected = torch.zeros_like(start) if wanted.grad is None else -wanted.grad
        torch.testing.assert_close(value.detach() - start, expected, atol=2e-5, rtol=1e-3)
    moved = [value.ne(start).any() for value, start in zip(own, before, strict=True)]
    assert moved[0] and moved[-1]  # from the first layer of the encoder to the judge's last


def test_what_is_taught_is_learnt(lesson: Lesson) -> None:
    net = Tuned(CPU)
    before = net.chances(lesson)
    for _ in range(5):
        net.learn(lesson)
    after = net.chances(lesson)
    assert set(after) == {"", *STEPS[:2]} and after[""].shape[0] == 3
    np.testing.assert_allclose(after[""].sum(1), 1, atol=1e-6)
    assert after[""][0, 0] > 20 * before[""][0, 0] and after[STEPS[0]][0, 0] >= before[STEPS[0]][0, 0]
    statistics = [buffer for name, buffer in net._encoder.named_buffers() if "running" in name]
    fresh = [buffer for name, buffer in Tuned(CPU)._encoder.named_buffers() if "running" in name]
    assert statistics and all(torch.equal(*pair) for pair in zip(statistics, fresh, strict=True))


def tuned(dataset: Dataset, options: Options, out: Path, cache: Path, **more: Any) -> Baseline:
    """Two folds, one epoch; the frames stay where they are."""
    cache.mkdir(exist_ok=True)
    if not (cache / "media").exists():
        (cache / "media").symlink_to(options.cache_dir / "media")
    return write_baseline(dataset, replace(options, cache=str(cache)), Tuner("cpu", 1), out, **{"folds": 2, **more})


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def counting(seen: list[str], stop: int = 10**6) -> Callable[[list[Any], str], Iterable[Any]]:
    def watched(some: list[Any], what: str) -> Iterable[Any]:
        for one in some:
            if len(seen) == stop and "fold" in what:
                raise KeyboardInterrupt
            seen.extend(["step"] * ("fold" in what))
            yield one

    return watched


def test_folds_are_kept_and_never_see_what_they_predict(few: Path, options: Options, tmp_path: Path) -> None:
    dataset, out = open_dataset(few), tmp_path / "whole.jsonl"
    found = tuned(dataset, options, out, tmp_path / "a")
    run = read_run(out, dataset)
    assert run.settings == BENCHMARK_TASKS and not run.problems and (found.heads, found.untrained) == ((33 + 2) * 2, 0)
    assert "fine-tuned" in run.source.facts["trained"] and run.source.role == "supervised"

    # Interrupted in the second fold: nothing is written, and the first fold is not trained again.
    first: list[str] = []
    second: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        tuned(dataset, options, tmp_path / "b.jsonl", tmp_path / "b", watched=counting(first, stop=3))
    assert not (tmp_path / "b.jsonl").exists()
    tuned(dataset, options, tmp_path / "b.jsonl", tmp_path / "b", watched=counting(second))
    assert (len(first), len(second)) == (3, 2)  # two folds of two videos
    assert (tmp_path / "b.jsonl").read_bytes() == out.read_bytes()

    # All labels of a video turned round: whoever predicts it says the same, whoever learnt from it does not.
    name = dataset.videos[1].video_id
    third: list[str] = []
    tuned(worst(dataset, name), options, tmp_path / "c.jsonl", tmp_path / "b", watched=counting(third))
    assert len(third) == 2  # the fold that holds the video out is as it was
    before, after = lines(out), lines(tmp_path / "c.jsonl")
    assert [x for x in before if x["video_id"] == name] == [x for x in after if x["video_id"] == name]
    assert before != after


def test_steps_that_the_network_does_not_know_are_missing(few: Path, options: Options, tmp_path: Path) -> None:
    dataset = open_dataset(few)

    def renamed(ids: tuple[str, ...]) -> Rubric:
        steps = [
            step.model_copy(update={"max_score": 9.0}) if step.id in ids else step for step in dataset.rubric.steps
        ]
        return dataset.rubric.model_copy(update={"steps": tuple(steps)})

    other = replace(dataset, rubric=renamed(("cpr_01",)))
    found = tuned(other, options, tmp_path / "a.jsonl", tmp_path / "a")
    assert found.untrained == 2 * 2  # two scopes, two folds
    full = next(x for x in lines(tmp_path / "a.jsonl") if x["setting"] == "full_score")
    assert "cpr_01" not in full["scores"] and full["missing"] == {"cpr_01": "absent"} and len(full["scores"]) == 32
    none = replace(dataset, rubric=renamed(tuple(step.id for step in dataset.rubric.steps)))
    with pytest.raises(DataError, match=r"none of its steps, .* Leave --fine-tune out"):
        tuned(none, options, tmp_path / "b.jsonl", tmp_path / "a")


def test_the_command_fine_tunes_one_network(few: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.jsonl"
    command = ["run", "baseline", str(few), "--fine-tune", "--folds", "2", "--frames", "2", "--clip-frames", "1",
               "--frame-size", "480", "--device", "cpu", "--epochs", "1", "--cache", str(tmp_path / "cache"),
               "--out", str(out)]  # fmt: skip
    assert main([*command, "--backbone", "org/name"]) == 2
    assert "Leave one of --fine-tune and --backbone out" in capsys.readouterr().err
    assert main([word for word in command if word != "--fine-tune"]) == 2
    assert "--epochs is for --fine-tune" in capsys.readouterr().err
    assert main(command) == 0
    judge = lines(out)[0]["judge"]
    assert (judge["epochs"], judge["seed"], judge["network"].endswith(", fine-tuned")) == (1, 0, True)
