"""The main job through the real command: nothing is lost on the road, constants score what theory says."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.data import open_dataset, with_labels, withhold
from siming_tasks.study.results.run import load, score_run
from tests.records import number_of

pytestmark = pytest.mark.host

TASKS = "siming_full,siming_clip"
NAMES = ("full_score", "full_error", "clip_score", "clip_error")
FEW = {"SIMING_FRAMES": "4", "SIMING_CLIP_FRAMES": "2"}  # these judges look at no frame


def arguments(kind: str, tasks: str = TASKS) -> list[str]:
    return ["--model", "siming_reference", "--model_args", f"kind={kind}", "--tasks", tasks]


def test_oracle_is_perfect_everywhere(host: Callable[..., Any], short_demo: Path) -> None:
    run = host(*arguments("oracle"), data=short_demo, **FEW)
    for scope in ("full", "clip"):
        score, error = run.task(f"{scope}_score"), run.task(f"{scope}_error")
        assert [score[name] for name in ("plcc", "srcc", "qwk", "coverage")] == [1.0] * 4
        assert [error[name] for name in ("mcc", "precision", "recall", "f1", "coverage")] == [1.0] * 5
        assert score["qwk_stderr"] == error["mcc_stderr"] == 0.0
    details = run.task("full_score")["siming_stderr"]
    assert details["synthetic"] is True and details["media"]["modes"] == {"frames": 4}
    assert details["statuses"]["ok"] == 4 == sum(details["statuses"].values()) == len(run.samples("full_score"))
    assert "SYNTHETIC" in run.output  # in the printed table
    metadata = run.results()["configs"]["siming_full_score"]["metadata"]
    assert metadata["version"] == run.results()["versions"]["siming_clip_error"] == "1-A"
    assert metadata["siming_digest"] == open_dataset(short_demo).digest
    spans = sum(step.span is not None for video in open_dataset(short_demo).videos for step in video.applicable)
    assert len(run.samples("clip_error")) == spans
    record = run.samples("clip_score")[0]["siming_stderr"]
    assert record["media"]["mode"] == "frames" and record["status"] == "ok" and record["missing"] == {}


@pytest.mark.weekly
def test_two_processes_with_uneven_shares_give_the_numbers_of_one(
    host: Callable[..., Any], two_processes: tuple[str, ...], short_demo: Path
) -> None:
    few = (*arguments("rater_b"), "--limit", "3")
    single = host(*few, data=short_demo, name="one", **FEW)
    two = host(*few, data=short_demo, name="two", launcher=two_processes, **FEW)
    for name in NAMES:
        ranks = re.findall(rf"Building contexts for siming_{name} on rank (\d+)", two.output)
        assert set(ranks) == {"0", "1"} and single.task(name) == two.task(name)
        ids = [sorted(sample["siming_stderr"]["id"] for sample in run.samples(name)) for run in (single, two)]
        assert ids[0] == ids[1]
    # the same records, scored without lmms-eval, give the same numbers to the last digit
    scored = score_run(load(two.folder, short_demo))
    for name in NAMES:
        mine = dict(scored.settings[name])
        assert json.loads(json.dumps(mine)) == single.task(name)["siming_stderr"]
        for row in scored.rows(name).of("answered", "all steps"):
            assert row.value == single.task(name)[row.metric]


def test_withheld_labels_give_predictions_instead_of_metrics(
    host: Callable[..., Any], short_demo: Path, tmp_path: Path
) -> None:
    public = withhold(short_demo, tmp_path / "public", tmp_path / "labels.jsonl")
    run = host(*arguments("all_correct", "siming_full"), data=tmp_path / "public", **FEW)
    for name, metrics in (
        ("full_score", ("plcc", "srcc", "qwk")),
        ("full_error", ("mcc", "precision", "recall", "f1")),
    ):
        task = run.task(name)
        assert [task[metric] for metric in metrics] == [None] * len(metrics)
        assert task["coverage"] == 1.0
        file = run.folder / task["siming_stderr"]["predictions"]
        assert file.name == f"siming_predictions_{name}.jsonl" and len(file.read_text().splitlines()) == 4
        assert file.name in run.output and "1 is perfect" not in run.output
    assert "siming-tasks: Next:" not in run.output  # no board accepts a reference judge
    scored = score_run(load(run.folder, with_labels(public, tmp_path / "labels.jsonl")))
    assert number_of(scored.settings["full_score"], "coverage").value == 1.0
    assert number_of(scored.settings["full_score"], "qwk").value == 0.0  # a constant
