"""``simple_evaluate`` from Python: what arrives is what was decoded, and what cannot work ends with its error."""

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


@pytest.fixture
def run(warm: Any, short_demo: Path, shared: Path, tmp_path: Path) -> Callable[..., Any]:
    """``run(how, address, *frames, NAME=...)``: what the script said of each run, in its order."""

    def call(how: str, url: str, *frames: str, **env: str) -> Any:
        places = {"CACHE": str(shared / "siming-cache"), "REPLIES": str(tmp_path / "replies"), "DATA": str(short_demo)}
        settings = {f"SIMING_{name}": value for name, value in {**places, "FRAME_SIZE": "96", **env}.items()}
        argv, log = [how, MODEL_ARGS["async_openai"] + url, str(tmp_path / "out.json"), *frames], tmp_path / "log"
        assert warm.run(argv, tmp_path, environment(**settings), log, script=SCRIPT) == 0, log.read_text()[-3000:]
        return json.loads((tmp_path / "out.json").read_text())

    return call


@pytest.mark.parametrize(
    "how", ["name", "instance", *(pytest.param(how, marks=pytest.mark.weekly) for how in ("manager", "subclass"))]
)
def test_every_image_arrives_once_by_the_options_of_its_own_run(
    run: Callable[..., Any], serve: Callable[..., Server], how: str
) -> None:
    server = serve(lambda *_: completion('{"score": 1}'))
    media = run(how, server.url, "3", "5")
    assert [(one["mode"], one["n_frames"]) for one in media] == [("frames", 3), ("frames", 5)]
    assert [(len(images), len(set(images)), len(texts)) for images, texts in server.received] == [(3, 3, 4), (5, 5, 6)]


def test_a_task_object_that_was_loaded_under_other_options_is_refused(
    run: Callable[..., Any], serve: Callable[..., Server]
) -> None:
    server = serve(lambda *_: completion('{"score": 1}'))
    first, second = run("task", server.url, "16", "5")  # 16 frames of a clip are what is asked without the option
    assert first["mode"] == "frames" and len(server.received) == 1
    assert second.startswith("OptionsError: siming_clip_score was loaded with siming_options {")


@pytest.mark.parametrize(
    ("how", "env", "words"),
    [
        ("instance", {"MEDIA": "video"}, "OptionsError: SIMING_MEDIA=video: with this backend lmms-eval"),
        ("name", {"DATA": "/nowhere"}, "DataError: "),
    ],
)
def test_a_run_that_cannot_work_ends_with_its_error_message(
    run: Callable[..., Any], how: str, env: dict[str, str], words: str
) -> None:
    """Not as an ImportError of a task file; and no request is sent (nobody listens on port 9)."""
    (said,) = run(how, "http://127.0.0.1:9", "3", **env)
    assert said.startswith(words)
