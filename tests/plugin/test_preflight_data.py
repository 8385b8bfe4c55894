"""Wrong data stop a run before a model is loaded, with one message that says where and how."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import SimingError
from siming_tasks.data import restate
from siming_tasks.options import Options
from siming_tasks.plugin.preflight import plan
from tests.records import change_rows


@pytest.fixture
def copy(short_demo: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(short_demo, tmp_path / "data"))


def no_spans(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        for step in row["steps"]:
            step.update(start=None, end=None)


def not_applicable(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        row["steps"] = [{"step_id": step["step_id"], "applicable": False} for step in row["steps"]]


@pytest.mark.parametrize(
    ("change", "tasks", "shard", "words"),
    [
        (no_spans, ["siming"], "", "siming_clip_score and siming_clip_error: no .* step has a span.*siming_full"),
        (no_spans, ["siming_clip_error", "mme"], "", "nothing to ask in siming_clip_error:"),
        (not_applicable, ["siming_full"], "", "siming_full_error: no step of any video is applicable"),
        (None, ["siming_full"], "1/1000", "1000 shards of the .* requests of siming_full_score: some would be empty"),
        (None, ["siming_egooops"], "", "siming_egooops asks about the set egooops, and SIMING_DATA="),
        (
            None,
            ["siming_egooops", "siming_egoems"],
            "",
            r"--tasks of several sets \(egoems, egooops\): a run covers one",
        ),
    ],
)
def test_tasks_without_documents_are_refused(
    monkeypatch: pytest.MonkeyPatch, copy: Path, change: Any, tasks: list[str], shard: str, words: str
) -> None:
    if change:
        change_rows(copy / "videos.jsonl", change)
        restate(copy)
    monkeypatch.setenv("SIMING_DATA", str(copy))
    monkeypatch.setenv("SIMING_SHARD", shard)
    with pytest.raises(SimingError, match=words) as caught:
        plan(Options.from_env(), tasks)
    assert "\n" not in str(caught.value)


def test_a_group_of_a_public_set_without_videos_names_the_variable() -> None:
    with pytest.raises(SimingError, match="Set EGOOOPS_VIDEO_DIR to their folder"):
        plan(Options(), ["siming_egooops"])


@pytest.mark.host
def test_a_misspelt_task_is_named_and_draws_no_demo(host: Callable[..., Any], tmp_path: Path) -> None:
    """lmms-eval would print a traceback after a list of ways to list, and exit 0; another name beside it is right."""
    model = ("--model", "siming_reference")
    run = host(*model, "--tasks", "siming_full_score,siming_fulll", data=None, SIMING_CACHE=str(tmp_path / "cache"))
    meant = "Did you mean siming_full? The groups are siming, siming_full and siming_clip."
    assert run.code == 1 and f"siming-tasks: there is no task 'siming_fulll'. {meant}" in run.output.splitlines()
    assert "Traceback" not in run.output and not (tmp_path / "cache" / "demo").exists()


@pytest.mark.host
def test_the_real_command_stops_before_the_model_is_loaded(host: Callable[..., Any], copy: Path) -> None:
    change_rows(copy / "videos.jsonl", lambda rows: rows[0]["steps"][0].update(step_id="cpr_99"))
    nowhere = "pretrained=/no/such/model,device=cpu"
    run = host("--model", "qwen2_5_vl", "--model_args", nowhere, "--tasks", "siming_full", data=copy)
    assert run.code == 1
    assert run.output.count("siming-tasks: ") == 1 and "cpr_99" in run.output
    assert "Traceback" not in run.output and "/no/such/model" not in run.output.split("siming-tasks: ")[1]


@pytest.mark.host
def test_a_video_that_breaks_during_a_run_ends_it_with_a_sentence_and_exit_code_1(
    host: Callable[..., Any], copy: Path, tmp_path: Path
) -> None:
    """lmms-eval prints a traceback and exits 0 after an error of its own accord."""
    film = sorted((copy / "media").iterdir())[1]
    content = film.read_bytes()
    half = len(content) // 2  # its table of contents, at the beginning, is whole
    film.write_bytes(content[:half] + bytes(60_000) + content[half + 60_000 :])
    restate(copy)
    few = {"SIMING_FRAMES": "8", "SIMING_CLIP_FRAMES": "2", "SIMING_CACHE": str(tmp_path / "cache")}
    nobody = "model_version=m,base_url=http://127.0.0.1:9/v1,api_key=x"  # it is never asked
    judge = ["--model", "async_openai", "--model_args", nobody, "--tasks", "siming_clip_error"]
    run = host(*judge, data=copy, **few)
    said = [line for line in run.output.splitlines() if line.startswith("siming-tasks: ")]
    assert run.code == 1 and f"{film.name}: " in said[-1] and "Make a clean copy: ffmpeg" in said[-1], said
    assert "Traceback" not in run.output and not list(run.folder.rglob("*_results.json"))
