"""The installed lmms-eval is refused, in one sentence, where it does something else with a reply than 0.7.3."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import SimingError
from siming_tasks.plugin import host_check
from tests.plugin.serving import Server, completion

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]

evaluator: Any = pytest.importorskip("lmms_eval.evaluator")


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(host_check, "_checked", set())
    yield


def shifted() -> Callable[[Any], Any]:
    """Each reply goes to the next request, as after a failure that was counted twice."""
    before, kept = evaluator.unwrap_generation_output, ["first"]

    def unwrap(output: Any) -> Any:
        text, counts = before(output)
        kept.append(text)
        return kept[-2], counts

    return unwrap


def crashing(output: Any) -> Any:
    if output is None:
        raise TypeError("argument of type 'NoneType' is not iterable")
    return WHOLE_UNWRAP(output)


WHOLE_UNWRAP = evaluator.unwrap_generation_output
WHOLE_MAP = getattr(evaluator, "_thread_map_ordered", None)  # earlier versions score one by one

BROKEN: dict[str, tuple[str, Any, str]] = {
    "another's reply": ("unwrap_generation_output", shifted, "a reply reaches the scoring"),
    "None crashes": (
        "unwrap_generation_output", lambda: crashing,
        "None ends the run with TypeError: argument of type 'NoneType' is not iterable",
    ),
    "counted replies are handed on whole": (
        "unwrap_generation_output", lambda: lambda output: (str(output), None),
        "a reply with token counts reaches the scoring changed, as ['GenerationResult(text=",
    ),
    "replies are stripped": (
        "unwrap_generation_output",
        lambda: lambda output: (str(WHOLE_UNWRAP(output)[0]).replace("\n", ""), None),
        "a reply reaches the scoring changed",
    ),
    "the last document is lost": (
        "_thread_map_ordered", lambda: lambda *args, **kwargs: WHOLE_MAP(*args, **kwargs)[:-1],
        "a metric of 5 documents is made of [0, 1, 2, 3]",
    ),
    "in the order of completion": (
        "_thread_map_ordered", lambda: lambda *args, **kwargs: WHOLE_MAP(*args, **kwargs)[::-1],
        "a metric of 5 documents is made of [4, 3, 2, 1, 0]",
    ),
}  # fmt: skip


def test_the_installed_lmms_eval_behaves() -> None:
    assert host_check.misbehaviour() is None


@pytest.mark.parametrize("name", BROKEN)
def test_a_host_that_does_something_else_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    attribute, make, said = BROKEN[name]
    if not hasattr(evaluator, attribute):
        pytest.skip(f"this lmms-eval has no {attribute}")
    monkeypatch.setattr(evaluator, attribute, make())
    with pytest.raises(SimingError) as caught:
        host_check.refuse_if_misbehaving(tmp_path)
    message = str(caught.value)
    assert said in message and "(lmms-eval 0.7.3, siming-tasks " in message and ", Python 3." in message
    assert not list(tmp_path.rglob("*.json"))  # it is tried again by the next command


def test_it_is_tried_once_for_an_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")  # two processes: each tries alone, and waits for nobody
    host_check.refuse_if_misbehaving(tmp_path)
    assert os.environ["WORLD_SIZE"] == "2"
    (note,) = tmp_path.rglob("*.json")
    assert json.loads(note.read_text())["seconds"] < 30
    monkeypatch.setattr(evaluator, "unwrap_generation_output", crashing)
    host_check._checked.clear()
    host_check.refuse_if_misbehaving(tmp_path)  # remembered
    monkeypatch.setattr(host_check, "_versions", lambda: "lmms-eval 0.8")
    with pytest.raises(SimingError, match="None ends the run"):
        host_check.refuse_if_misbehaving(tmp_path)


def test_a_class_that_mixes_up_replies_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_eval.models.chat.openai import OpenAICompatible
    from lmms_eval.models.model_utils import usage_metrics

    model, before = OpenAICompatible(model_version="m", api_key="k"), len(usage_metrics._USAGE_HISTORY)
    host_check.refuse_misbehaving_class(model)
    assert len(usage_metrics._USAGE_HISTORY) == before and model.max_retries == 5
    whole = OpenAICompatible.generate_until
    monkeypatch.setattr(OpenAICompatible, "generate_until", lambda *args: whole(*args)[::-1])
    with pytest.raises(SimingError, match=r"OpenAICompatible answers three requests with \['reply 2', 'reply 1'"):
        host_check.refuse_misbehaving_class(model)


REWORDED = """
import importlib.util, sys
name = "lmms_eval.models.chat.openai"
spec = importlib.util.find_spec(name)
module = importlib.util.module_from_spec(spec)
source = open(spec.origin, encoding="utf-8").read()
assert "[LMMS_EVAL_REQUEST_FAILED after" in source
sys.modules[name] = module
source = source.replace("[LMMS_EVAL_REQUEST_FAILED after", "Request failed after")
exec(compile(source, spec.origin, "exec"), vars(module))
from lmms_eval.__main__ import cli_evaluate
cli_evaluate()
"""


def test_a_failure_in_other_words_does_not_become_a_reply(
    host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path
) -> None:
    """An HTTP 500 would be scored as what the model said."""
    server = serve(lambda *_: (500, {}) if server.received else completion("{}"))
    (script := tmp_path / "reworded.py").write_text(REWORDED)
    run = host(
        "--model", "openai", "--tasks", "siming_clip_score", "--limit", "1",
        "--model_args", f"model_version=m,api_key=k,base_url={server.url}",
        data=short_demo, script=str(script), SIMING_CLIP_FRAMES="2", SIMING_FRAME_SIZE="32",
    )  # fmt: skip
    (message,) = (line for line in run.output.splitlines() if line.startswith("siming-tasks: "))
    assert run.code == 1 and not server.received and not list(run.folder.rglob("*_results.json"))
    assert 'OpenAICompatible writes a request that failed as ["Request failed after 1 retries]' in message
    assert "which would be read as a reply (lmms-eval 0.7.3, siming-tasks " in message
