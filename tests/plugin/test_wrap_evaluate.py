"""``simple_evaluate`` without a model's name: what arrives is what was decoded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lmms_eval_runs import environment
from tests.plugin.serving import Server, completion
from tests.plugin.test_api_models import MODEL_ARGS

pytestmark = pytest.mark.host

SCRIPT = str(Path(__file__).with_name("api_run.py"))
FRAMES = 64
WEEKLY = pytest.mark.weekly


@pytest.mark.parametrize(
    "how", ["name", "instance", pytest.param("manager", marks=WEEKLY), pytest.param("subclass", marks=WEEKLY)]
)
def test_every_image_arrives_once(
    warm: Any, serve: Callable[..., Server], short_demo: Path, shared: Path, tmp_path: Path, how: str
) -> None:
    server = serve(lambda *_: completion("{}"))
    env = environment(
        SIMING_DATA=str(short_demo), SIMING_CACHE=str(shared / "siming-cache"), SIMING_FRAME_SIZE="256",
        SIMING_FRAMES=str(FRAMES), SIMING_REPLIES=str(tmp_path / "replies"),
    )  # fmt: skip
    argv = [how, MODEL_ARGS["async_openai"] + server.url, "siming_full_score", "1", str(tmp_path / "out.json")]
    code = warm.run(argv, tmp_path, env, tmp_path / "log", script=SCRIPT)
    assert code == 0, (tmp_path / "log").read_text()[-3000:]
    ((images, texts),) = server.received
    assert (len(images), len(set(images)), len(texts)) == (FRAMES, FRAMES, FRAMES + 1)
    (sample,) = json.loads((tmp_path / "out.json").read_text())["samples"]["siming_full_score"]
    assert (sample["siming_stderr"]["media"]["mode"], sample["siming_stderr"]["media"]["n_frames"]) == (
        "frames",
        FRAMES,
    )


@pytest.mark.parametrize("how", ["name", pytest.param("manager", marks=WEEKLY), "instance"])
@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"SIMING_MEDIA": "video"}, "OptionsError: SIMING_MEDIA=video: with this backend lmms-eval 0.7.3 replaces"),
        ({"SIMING_DATA": "/nowhere"}, "DataError: "),
    ],
    ids=["file", "data"],
)
def test_a_run_that_cannot_work_ends_with_its_error_message(
    warm: Any, short_demo: Path, tmp_path: Path, how: str, env: dict[str, str], words: str
) -> None:
    """Not as an ImportError of a task file; and no request is sent (nobody listens on port 9)."""
    argv = [how, MODEL_ARGS["async_openai"] + "http://127.0.0.1:9", "siming_full_score", "1", str(tmp_path / "o.json")]
    settings = {"SIMING_DATA": str(short_demo), "SIMING_CACHE": str(tmp_path / "cache"), **env}
    code = warm.run(argv, tmp_path, environment(**settings), tmp_path / "log", script=SCRIPT)
    errors = [line for line in (tmp_path / "log").read_text().splitlines() if "Error: " in line]
    assert code == 1 and len(errors) == 1 and errors[0].startswith(f"siming_tasks.common.errors.{words}"), errors
    assert not (tmp_path / "o.json").exists()


@pytest.mark.parametrize("by_name", [True, False])
def test_the_options_of_an_earlier_run_do_not_decide(
    warm: Any, serve: Callable[..., Server], short_demo: Path, shared: Path, tmp_path: Path, by_name: bool
) -> None:
    """In one process: a task that is loaded by its name is asked as the environment says now; its object is refused."""
    server = serve(lambda *_: completion('{"score": 1}'))
    env = environment(
        SIMING_DATA=str(short_demo), SIMING_CACHE=str(shared / "siming-cache"), SIMING_FRAME_SIZE="96",
        SIMING_REPLIES=str(tmp_path / "replies"), SIMING_CLIP_FRAMES="3",
    )  # fmt: skip
    argv = [MODEL_ARGS["async_openai"] + server.url, str(tmp_path / "out.json"), *(["name"] if by_name else [])]
    script = str(Path(__file__).with_name("task_objects_run.py"))
    assert warm.run(argv, tmp_path, env, tmp_path / "log", script=script) == 0, (tmp_path / "log").read_text()[-3000:]
    first, second = json.loads((tmp_path / "out.json").read_text())
    assert first == 3 and [len(images) for images, _ in server.received] == ([3, 5] if by_name else [3])
    if by_name:
        assert second == 5
    else:
        assert second.startswith("OptionsError: siming_clip_score was loaded with siming_options {")
