"""Every public set, with stand-ins for its videos, through the real command: from annotations to a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.tools.public_sets import SETS
from tests.data.conftest import write_video
from tests.tools.public_sets.test_published_sets import ANNOTATIONS, FOLDERS

FEW = {"SIMING_FRAMES": "8", "SIMING_CLIP_FRAMES": "2"}
pytestmark = [
    pytest.mark.host,
    pytest.mark.weekly,
    pytest.mark.skipif(not ANNOTATIONS.is_dir(), reason="the published annotation files are not here"),
]


def arguments(kind: str, group: str, media: bool) -> list[str]:
    judge = f"kind={kind},media={media}"
    return ["--model", "siming_reference", "--model_args", judge, "--tasks", group]


def make_stand_ins(name: str, folder: Path) -> None:
    """Wandering squares, as long as the annotations state, of five recordings: they show nothing of the labels."""
    _, recordings = SETS[name].read(FOLDERS[name])
    for seed, one in enumerate(recordings[:: math.ceil(len(recordings) / 5)]):
        write_video(folder / f"{one.video_id}.mp4", seed=seed, rate=2, frames=math.ceil(2 * one.duration) + 2)


@pytest.mark.parametrize("name", FOLDERS)
def test_the_oracle_is_perfect_and_a_constant_is_worth_nothing(
    name: str, host: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    videos, out = tmp_path / "videos", tmp_path / "set"
    make_stand_ins(name, videos)
    fetch = ["data", "fetch", name, str(out), "--annotations", str(FOLDERS[name]), "--videos", str(videos)]
    assert main(fetch) == 0 and main(["data", "check", str(out)]) == 0
    assert "0 errors" in capsys.readouterr().out
    oracle = host(*arguments("oracle", f"siming_{name}", media=True), data=out, name="oracle", **FEW)
    constant = host(*arguments("all_correct", f"siming_{name}", media=False), data=out, name="constant", **FEW)
    for scope in ("full", "clip"):
        for task, metrics in ((f"{scope}_score", ("qwk", "plcc", "srcc")), (f"{scope}_error", ("mcc", "recall"))):
            assert [oracle.task(task)[metric] for metric in metrics] == [1.0] * len(metrics)
            assert oracle.task(task)["coverage"] == constant.task(task)["coverage"] == 1
        # A constant has neither correlation nor MCC (0/0 is undefined, not 0); its kappa and its recall are 0.
        constants = {**constant.task(f"{scope}_score"), **constant.task(f"{scope}_error")}
        assert [constants[metric] for metric in ("qwk", "plcc", "srcc", "mcc", "recall")] == [0, None, None, None, 0]
    assert oracle.results()["group_subtasks"][f"siming_{name}"] == ["siming_full", "siming_clip"]
    assert oracle.results()["configs"]["siming_full_score"]["metadata"]["siming_dataset"] == name


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ("siming_egooops", "siming_egooops asks about the set egooops, and SIMING_DATA="),
        ("siming_egooops,siming_egoems", "--tasks of several sets (egoems, egooops): a run covers one set."),
    ],
)
def test_another_set_than_the_groups_is_refused(
    tasks: str, words: str, host: Callable[..., Any], short_demo: Path
) -> None:
    run = host(*arguments("oracle", tasks, media=False), data=short_demo)
    assert run.code == 1 and words in run.output and "Traceback" not in run.output


def test_a_group_without_videos_names_the_variable(host: Callable[..., Any]) -> None:
    run = host(*arguments("oracle", "siming_egooops", media=False), data=None)
    assert run.code == 1 and "Set EGOOOPS_VIDEO_DIR to their folder" in run.output and "Traceback" not in run.output
