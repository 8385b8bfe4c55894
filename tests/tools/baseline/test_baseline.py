"""The supervised baseline, with a tiny image model of random weights, on real, encoded exams."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, CLIPConfig, CLIPImageProcessor, CLIPModel, ViTConfig, ViTImageProcessor
from transformers import ViTModel as Vit

from siming_tasks.benchmark.clusters import clusters_of
from siming_tasks.benchmark.record import has_supervised_judge
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.options import Options
from siming_tasks.study.results.discovery import run_at
from siming_tasks.study.results.run import read_run
from siming_tasks.tools.baseline.backbone import Backbone
from siming_tasks.tools.baseline.crossfit import SETTINGS, Baseline, predict, write_baseline
from tests.records import read_rows, write_rows

WIDTH = 16
SMALL: dict[str, Any] = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2,
                         "intermediate_size": 24, "image_size": 32, "patch_size": 16}  # fmt: skip
TEXT = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 20}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of tiny models: ``vit`` sees, ``both`` sees and reads, ``words`` reads."""
    folder = tmp_path_factory.mktemp("backbones")
    torch.manual_seed(3)
    for part in (Vit(ViTConfig(**SMALL)), ViTImageProcessor(size={"height": 32, "width": 32})):
        part.save_pretrained(folder / "vit")
    both = CLIPModel(CLIPConfig(text_config=TEXT, vision_config=SMALL))
    for part in (both, CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})):
        part.save_pretrained(folder / "both")
    BertModel(BertConfig(**TEXT)).save_pretrained(folder / "words")
    return folder


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    return Options(clip_frames=2, frame_size=64, cache=str(tmp_path_factory.mktemp("cache")))


def made(dataset: Dataset, options: Options, out: Path) -> Baseline:
    """The file of a baseline whose features are mean colours, which cost nothing."""

    def colours(pictures: Sequence[Any]) -> Any:
        return np.mean([np.asarray(picture).mean((0, 1)) for picture in pictures], 0).astype(np.float32)

    backbone: Any = SimpleNamespace(name="colours", features=colours)
    return write_baseline(dataset, options, backbone, out)


@pytest.fixture(scope="module")
def mine(short_demo: Path, options: Options, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("mine") / "mine.jsonl"
    found = made(open_dataset(short_demo), options, out)
    assert (found.folds, found.clusters, found.unlearned, found.unreadable) == (4, 4, 0, ())
    return out


def test_features_are_the_mean_of_the_hidden_state(shelf: Path) -> None:
    from PIL import Image

    rng = np.random.default_rng(2)
    pictures = [Image.fromarray(rng.integers(0, 256, (48, 64, 3), np.uint8)) for _ in range(19)]
    net, processor = Vit.from_pretrained(shelf / "vit").eval(), ViTImageProcessor.from_pretrained(shelf / "vit")
    with torch.no_grad():
        hidden = net(**processor(images=pictures, return_tensors="pt")).last_hidden_state
    np.testing.assert_allclose(Backbone(str(shelf / "vit")).features(pictures), hidden.mean((0, 1)).numpy(), atol=2e-6)
    assert Backbone(str(shelf / "both")).features(pictures).shape == (WIDTH,)


def test_the_command(shelf: Path, short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "baseline.jsonl"
    small = ["--clip-frames", "1", "--frame-size", "64", "--cache", str(tmp_path / "cache")]
    command = ["run", "baseline", "--data", str(short_demo), "--out", str(out), *small, "--backbone"]
    assert main([*command, str(shelf / "vit")]) == 0
    said = capsys.readouterr().out
    assert "SYNTHETIC siming-demo, supervised, cross-fitted: 4 folds over 4 clusters (video)." in said
    assert main(["score", "--show", "missing", "--data", str(short_demo), str(out)]) == 0
    assert main(["board", "submit", str(out), "--data", str(short_demo), "--out", str(tmp_path / "a.zip")]) == 1
    assert "a supervised baseline, which was trained on the labels of this data set" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    for wrong in (shelf / "words", tmp_path / "empty", tmp_path / "gone"):
        assert main([*command, str(wrong)]) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"siming run baseline: --backbone {wrong}: ") and error.count("\n") == 1


def test_it_is_a_prediction_file_of_its_own_kind(short_demo: Path, mine: Path) -> None:
    dataset = open_dataset(short_demo)
    run = read_run(mine, dataset)
    assert run.settings == SETTINGS and not run.problems
    assert all(len(run.records[name]) == len(run.asked(name)) for name in SETTINGS)
    media = run.records["clip_score"][0]["media"]
    assert (media["n_frames"], media["mode"], media["size"]) == (2, "frames", 64)
    assert (run.source.role, run.source.name) == ("supervised", "mine")
    assert run.source.facts["trained"] == "backbone=colours, folds=4, unit=video"
    said = {(x["setting"], x["video_id"], x["step_id"]): x for x in read_rows(mine)}
    tops = {step.id: step.max_score for step in dataset.rubric.steps}
    for (setting, video, step), line in said.items():
        if setting == "clip_score":
            wrong = said["clip_error", video, step]["verdict"] == "incorrect"
            assert wrong == (line["score"] < tops[step])


def turned(dataset: Dataset, names: Sequence[str]) -> Dataset:
    tops = {step.id: step.max_score for step in dataset.rubric.steps}
    videos = [
        replace(v, steps=tuple(replace(s, scores={"consensus": tops[s.step_id] - (s.consensus or 0)}) for s in v.steps))
        if v.video_id in names else v
        for v in dataset.videos
    ]  # fmt: skip
    return replace(dataset, videos=tuple(videos))


def test_labels_of_its_own_cluster_change_nothing_of_what_is_said_of_a_video(
    short_demo: Path, options: Options, tmp_path: Path
) -> None:
    """Two exams of one student are one cluster; whoever was trained on them says something else."""
    dataset = open_dataset(short_demo)
    students = ("s1", "s1", "s2", "s3")
    videos = [replace(v, extra={**v.extra, "student": s}) for v, s in zip(dataset.videos, students, strict=True)]
    dataset = replace(dataset, videos=tuple(videos))
    assert clusters_of(dataset).unit == "video", "three students are too few for an interval, and kept together"
    names = [video.video_id for video in videos[:2]]
    assert made(dataset, options, tmp_path / "a.jsonl").clusters == 3
    made(turned(dataset, names), options, tmp_path / "b.jsonl")
    before, after = read_rows(tmp_path / "a.jsonl"), read_rows(tmp_path / "b.jsonl")
    assert [x for x in before if x["video_id"] in names] == [x for x in after if x["video_id"] in names]
    assert before != after


def test_regressions_find_what_features_tell() -> None:
    """Points that follow a feature are found for others; with one level alone that one is said."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(90, 8)).astype(np.float32)
    points = np.digitize(features[:, 2], [-0.5, 0.5]).astype(float)
    groups = np.arange(90) // 2
    found = predict(features[:60], points[:60], groups[:60], features[60:])
    assert np.mean(found == points[60:]) > 0.8
    assert predict(features[:3], np.full(3, 2.0), groups[:3], features[60:]).tolist() == [2.0] * 30
    rare = np.where(np.arange(60) == 7, 1.0, 2.0)  # no inner fold holds both levels on both sides
    assert set(predict(features[:60], rare, groups[:60], features[60:])) <= {1.0, 2.0}


def test_what_cannot_be_learnt_or_shown_is_said(short_demo: Path, options: Options, tmp_path: Path) -> None:
    dataset = open_dataset(short_demo)
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    first, *others = dataset.videos
    damaged = replace(dataset, meta={**dataset.meta, "media_sha256": {}})
    damaged._media_files.update(
        {video.media: short_demo / video.media for video in others} | {first.media: tmp_path / "bad.mp4"}
    )
    found = made(damaged, options, tmp_path / "out.jsonl")
    assert len(found.unreadable) == 1 and found.unreadable[0].startswith(f"{first.video_id}: ")
    assert {x["video_id"] for x in read_rows(tmp_path / "out.jsonl")} == {video.video_id for video in others}
    with pytest.raises(DataError, match="all videos are of one video, so nothing is left to train on"):
        made(replace(dataset, videos=dataset.videos[:1]), options, tmp_path / "none.jsonl")
    withheld = [replace(v, steps=tuple(replace(s, scores={}) for s in v.steps)) for v in dataset.videos]
    with pytest.raises(DataError, match="the labels are withheld, so there is nothing to train on"):
        made(replace(dataset, videos=tuple(withheld)), options, tmp_path / "none.jsonl")


def test_a_board_knows_it_whoever_packed_it(short_demo: Path, mine: Path, tmp_path: Path) -> None:
    from siming_tasks.tools.board.admission import admit
    from siming_tasks.tools.board.submission import ModelCard, pack

    dataset, again = open_dataset(short_demo), tmp_path / "again.jsonl"
    first, *others = read_rows(mine)  # the first line tells nothing, and so nothing that is said of the run
    write_rows(again, ({**first, "judge": None}, *others))
    read = read_run(again, dataset)
    archive = pack(run_at(again), read.records, dataset, ModelCard(name="A model"), tmp_path / "b.zip")
    with pytest.raises(DataError, match=r"b\.zip: a supervised baseline"):
        admit(archive, dataset, Options())
    write_rows(again, ({**x, "judge": ["other", 1]} for x in read_rows(mine)))
    assert not has_supervised_judge(read_run(again, dataset).records)
