"""Records of a rerun on replies of an earlier command, with lmms-eval's own response cache and without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.response_cache.test_cache import ARGUMENTS, SMALL, points
from tests.plugin.serving import Server, completion

pytestmark = pytest.mark.host

LIMIT = 6
TASKS = "siming_full_score,siming_clip_score"
NAMES = ("full_score", "clip_score")


class Asked:
    """Runs of one command, and how many requests each sent."""

    def __init__(self, host: Callable[..., Any], serve: Callable[..., Server], data: Path) -> None:
        self.host, self.data, self.answer = host, data, points
        self.server = serve(lambda *request: self.answer(*request))
        self.count = 0

    def __call__(self, *flags: str, model: str = "async_openai", **env: str) -> tuple[Any, int]:
        self.count, before = self.count + 1, len(self.server.received)
        run = self.host(
            "--model", model, "--model_args", ARGUMENTS[model] + self.server.url, "--tasks", TASKS, "--limit",
            str(LIMIT), *flags, data=self.data, name=f"run{self.count}", **{**SMALL, "SIMING_FRAMES": "3", **env},
        )  # fmt: skip
        return run, len(self.server.received) - before


@pytest.fixture
def ask(host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path) -> Asked:
    return Asked(host, serve, short_demo)


def media(run: Any, name: str) -> list[dict[str, Any]]:
    return [sample["siming_stderr"]["media"] for sample in run.samples(name)]


def same_but_for_time(first: Any, again: Any) -> None:
    """Equal records, metrics and logged replies; only that they were kept is said."""
    for name in NAMES:
        before, after = (dict(run.task(name)["siming_stderr"]) for run in (first, again))
        assert before["usage"]["kept"] == 0 and after["usage"]["kept"] == len(again.samples(name))
        assert before | {"usage": {**before["usage"], "kept": None}} == after | {
            "usage": {**after["usage"], "kept": None}
        }
        assert first.task(name) | {"siming_stderr": None} == again.task(name) | {"siming_stderr": None}
        for old, new in zip(first.samples(name), again.samples(name), strict=True):
            assert old["siming_stderr"].pop("usage") | {"kept": True} == new["siming_stderr"].pop("usage")
            assert old == new


@pytest.mark.parametrize("model", ARGUMENTS)
def test_a_rerun_states_the_same_media(ask: Asked, tmp_path: Path, model: str) -> None:
    """A rerun sends no request and no media; its records still state the media, their encoding and their size."""
    env = {"SIMING_REPLIES": str(tmp_path / "kept")}
    first, sent = ask(model=model, **env)
    again, asked = ask(model=model, **env)
    assert (sent, asked) == (4 + LIMIT, 0)
    for name, frames in (("full_score", 3), ("clip_score", 2)):
        for shown in media(again, name):
            assert shown["mode"] == "frames" and shown["n_frames"] == len(shown["indices"]) == frames
            assert shown["encoding"] == "jpeg90" and shown["bytes"] > 500 * frames
        assert media(first, name) == media(again, name)
    same_but_for_time(first, again)


@pytest.mark.parametrize("model", ARGUMENTS)
def test_the_hosts_own_cache_hits_where_ours_is_off(ask: Asked, tmp_path: Path, model: str) -> None:
    """It stores texts alone: the numbers are the same; how images were encoded and what a reply took is not known."""
    flags = ("--use_cache", str(tmp_path / "theirs"))
    first, sent = ask(*flags, model=model, SIMING_REPLIES="off")
    again, asked = ask(*flags, model=model, SIMING_REPLIES="off")
    assert (sent, asked) == (4 + LIMIT, 0)
    for name in NAMES:
        for old, new in zip(media(first, name), media(again, name), strict=True):
            assert old == {**new, "encoding": "jpeg90", "bytes": old["bytes"]} and "bytes" not in new
        assert {sample["siming_stderr"].get("usage") for sample in again.samples(name)} == {None}
        assert first.task(name)["qwk"] == again.task(name)["qwk"]
        assert first.task(name)["siming_stderr"]["statuses"] == again.task(name)["siming_stderr"]["statuses"]


@pytest.mark.parametrize("model", ARGUMENTS)
def test_both_caches_together_act_like_the_response_cache_alone(ask: Asked, tmp_path: Path, model: str) -> None:
    """The host's cache takes an error's sentence and a cut reply for answers; a rerun asks for both again."""
    env = {"SIMING_REPLIES": str(tmp_path / "ours")}
    flags = ("--use_cache", str(tmp_path / "theirs"))
    faulty: dict[str, Any] = {}

    def answer(images: tuple[str, ...], text: str, number: int) -> Any:
        faults = [(500, {"error": {"message": "broken"}}), completion('{"score": 1', finish_reason="length")]
        if len(images) == 2 and (text in faulty or len(faulty) < 2):
            return faults[faulty.setdefault(text, len(faulty))]
        return points(images, text)

    ask.answer = answer
    first, _ = ask(*flags, model=model, **env)
    assert "siming-tasks: --use_cache is for other tasks" in first.output
    statuses = first.task("clip_score")["siming_stderr"]["statuses"]
    assert (statuses["request_failed"], statuses["truncated"], statuses["ok"]) == (1, 1, LIMIT - 2)
    ask.answer = points
    mended, asked = ask(*flags, model=model, **env)
    assert asked == 2 and mended.task("clip_score")["coverage"] == 1.0
    again, asked = ask(*flags, model=model, **env)
    assert asked == 0
    for name in NAMES:
        assert media(first, name) == media(mended, name) == media(again, name)
        assert again.task(name)["siming_stderr"]["usage"]["kept"] == len(again.samples(name))


@pytest.mark.filterwarnings("ignore")  # of the host's own imports
def test_other_tasks_keep_the_hosts_cache(tmp_path: Path) -> None:
    """A real cache, and requests of two tasks in turn: each reply in its place, ours neither stored nor found there."""
    from lmms_eval.api.instance import Instance
    from lmms_eval.caching.response_cache import ResponseCache

    from siming_tasks.plugin.response_cache.cache import HostCache

    class Echo:
        asked = 0

        def generate_until(self, requests: list[Any]) -> list[str]:
            self.asked += len(requests)
            return [f"{request.task_name} {request.doc_id} of {self.asked}" for request in requests]

    def request(task: str, number: int) -> Any:
        facts = {"task": task, "doc_id": number, "repeats": 1}
        return Instance("generate_until", ("text", None, {"temperature": 0}, number, task, "test"), 0, facts)

    model, cache = Echo(), ResponseCache.create(str(tmp_path), model="echo")
    requests = [request(task, number) for number in range(2) for task in ("siming_clip_score", "mme")]
    replies = [HostCache(cache).execute(model, "generate_until", requests) for _ in range(2)]
    assert replies == [
        ["siming_clip_score 0 of 4", "mme 0 of 2", "siming_clip_score 1 of 4", "mme 1 of 2"],
        ["siming_clip_score 0 of 6", "mme 0 of 2", "siming_clip_score 1 of 6", "mme 1 of 2"],
    ]
    assert HostCache(cache).get_stats()["total_cached_entries"] == 2
    cache.finalize(success=True)
