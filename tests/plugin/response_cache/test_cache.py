"""A run that is cut short, wherever, asks on the second time only for what is missing, and ends as if nothing was."""

import hashlib
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.serving import Server, completion

pytestmark = pytest.mark.host

REQUESTS, AT_ONCE = 24, 3
ARGUMENTS = {
    "async_openai": f"model_version=m,api_key=sk-private,max_retries=1,retry_backoff_s=0,num_cpus={AT_ONCE},base_url=",
    "openai": f"model_version=m,api_key=sk-private,max_retries=1,retry_backoff_s=0,num_concurrent={AT_ONCE},base_url=",
}
SMALL = {"SIMING_CLIP_FRAMES": "2", "SIMING_FRAME_SIZE": "96"}
LOGGED = ("resps", "filtered_resps", "token_counts")
ONE_OF_TWO = pytest.mark.parametrize("model", ["async_openai", pytest.param("openai", marks=pytest.mark.weekly)])
"""Both classes are kept from asking twice by one dispatcher; ``openai`` is cut short by Ctrl-C every day."""


def points(images: tuple[str, ...], text: str, *_: Any) -> Any:
    """A reply that depends on everything that was sent, and on nothing else."""
    digest = hashlib.sha256("".join((*images, text)).encode()).digest()
    return completion(json.dumps({"score": digest[0] % 2}))


class Runs:
    def __init__(self, host: Callable[..., Any], serve: Callable[..., Server], data: Path, folder: Path) -> None:
        self.host, self.data, self.replies = host, data, folder / "kept"
        self.answer: Callable[..., Any] = points
        self.server = serve(lambda *request: self.answer(*request))
        self.count = 0

    def __call__(self, model: str, *flags: str, name: str = "", **more: Any) -> Any:
        self.count += 1
        return self.host(
            "--model", model, "--model_args", ARGUMENTS[model] + self.server.url, "--tasks", "siming_clip_score",
            "--limit", str(REQUESTS), *flags,
            data=self.data, name=name or f"run{self.count}", **{**SMALL, "SIMING_REPLIES": str(self.replies), **more},
        )  # fmt: skip

    @property
    def sent(self) -> int:
        return len(self.server.received)


@pytest.fixture
def runs(host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path) -> Runs:
    return Runs(host, serve, short_demo, tmp_path)


def logged(run: Any) -> list[list[Any]]:
    """Replies of a run, and its records without times and what it paid."""
    return [
        [*(sample.get(key) for key in LOGGED), {**sample["siming_stderr"], "usage": None}]
        for sample in run.samples("clip_score")
    ]


@ONE_OF_TWO
def test_a_rerun_after_a_killed_run_asks_only_for_missing_replies(
    runs: Runs, kept: Callable[[], Any], warm: Any, tmp_path: Path, model: str
) -> None:
    def killing(images: tuple[str, ...], text: str, number: int) -> Any:
        if number == 13:
            os.kill(warm.pid, signal.SIGKILL)
        return points(images, text)

    runs.answer = killing
    killed = runs(model)
    assert killed.code == -signal.SIGKILL and not list(killed.folder.rglob("*_results.json"))
    saved, sent = len(kept()), runs.sent
    assert sent - AT_ONCE <= saved <= sent <= 13 + AT_ONCE
    runs.answer = points
    counted = runs(model, SIMING_DRY_RUN="yes")
    assert f"dry run: {saved} replies kept; this command would ask for {REQUESTS - saved}." in counted.output
    assert counted.code == 0 and runs.sent == sent and not list(counted.folder.rglob("*_results.json"))
    again = runs(model)
    assert runs.sent - sent == REQUESTS - saved
    assert f"keeping replies in {runs.replies}" in again.output
    assert f"; {saved} of {REQUESTS} are there (the oldest since 20" in again.output
    whole = runs(model, SIMING_REPLIES=str(tmp_path / "elsewhere"))
    assert logged(again) == logged(whole) and again.task("clip_score")["qwk"] == whole.task("clip_score")["qwk"]
    # what the killed run was answered is paid, whether or not its reply could be kept
    paid = again.task("clip_score")["siming_stderr"]["usage"]["attempts"]["total"]
    assert REQUESTS <= paid <= sent + REQUESTS - saved
    assert not [path for path in runs.replies.rglob("*") if path.is_file() and "sk-private" in path.read_text()]


def test_an_interrupted_run_keeps_its_replies(runs: Runs, kept: Callable[[], Any], warm: Any) -> None:
    """Ctrl-C: what is under way in threads is waited for."""

    def interrupting(images: tuple[str, ...], text: str, number: int) -> Any:
        if number == 7:
            os.kill(warm.pid, signal.SIGINT)
        if number >= 7:  # slower than any machine is to interrupt
            time.sleep(3)
        return points(images, text)

    runs.answer = interrupting
    assert not list(runs("openai").folder.rglob("*_results.json"))
    saved, sent = len(kept()), runs.sent
    assert sent - AT_ONCE <= saved <= sent < REQUESTS
    runs.answer = points
    assert runs("openai").task("clip_score")["coverage"] == 1.0 and runs.sent - sent == REQUESTS - saved


def test_an_equal_run_waits_and_asks_nothing_twice(runs: Runs, tmp_path: Path) -> None:
    """The first answers come when the other run says that it waits."""
    names = ("first", "second")

    def when_one_waits(*request: Any) -> Any:
        until, logs = time.monotonic() + 120, [tmp_path / name / "log" for name in names]
        while time.monotonic() < until and not any(
            "waiting until it ends" in log.read_text(errors="replace") for log in logs if log.exists()
        ):
            time.sleep(0.05)
        return points(*request)

    runs.answer = when_one_waits
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda name: runs("async_openai", name=name), names))
    assert set(Counter(runs.server.received).values()) == {1} and runs.sent == REQUESTS
    usages = [run.task("clip_score")["siming_stderr"]["usage"] for run in both]
    assert sorted(usage["kept"] for usage in usages) == [0, REQUESTS]
    assert [usage["prompt_tokens"]["total"] for usage in usages] == [REQUESTS, REQUESTS]
    assert logged(both[0]) == logged(both[1])
    assert sum("waiting until it ends" in run.output for run in both) == 1


@ONE_OF_TWO
def test_the_hosts_own_budget_ends_with_one_message(runs: Runs, model: str) -> None:
    stopped = runs(model, "--max_tokens", "8")  # 2 tokens a request
    sent = runs.sent
    assert stopped.code == 1 and 4 <= sent <= 4 + AT_ONCE and "AssertionError" not in stopped.output
    (last,) = [line for line in stopped.output.splitlines() if line.startswith("siming-tasks: stopped")]
    assert last.startswith("siming-tasks: stopped by --max_tokens: lmms-eval's token budget is used up. Raise it")
    assert f"the {REQUESTS - sent} remaining requests" in last
    assert runs(model).task("clip_score")["coverage"] == 1.0 and runs.sent == REQUESTS


STRANGER = """
task: siming_stranger
dataset_path: json
dataset_kwargs: {data_files: {test: FILE}}
test_split: test
output_type: generate_until
doc_to_visual: !function hooks.no_visual
doc_to_text: !function hooks.text
doc_to_messages: !function hooks.messages
doc_to_target: answer
process_results: !function hooks.score
generation_kwargs: {max_new_tokens: 8}
metric_list: [{metric: right, aggregation: mean, higher_is_better: true}]
"""
HOOKS = """
def no_visual(doc): return []
def text(doc, kwargs=None): return doc["question"]
def messages(doc, kwargs=None):
    return [{"role": "user", "content": [{"type": "text", "text": doc["question"]}]}]
def score(doc, results): return {"right": float(results[0] == doc["answer"])}
"""


def test_a_task_of_somebody_else_beside_ours_a_group_beside_its_member_and_half_a_surrogate_pair(
    runs: Runs, tmp_path: Path
) -> None:
    """The stranger's name begins as ours do, and it is asked first: its loop's connections are not ours."""
    (folder := tmp_path / "theirs").mkdir()
    good = '{"score": 1}'
    rows = [{"question": f"What is [{number}]?", "answer": good} for number in range(4)]
    (file := folder / "rows.json").write_text("\n".join(map(json.dumps, rows)))
    (folder / "stranger.yaml").write_text(STRANGER.replace("FILE", str(file)))
    (folder / "hooks.py").write_text(HOOKS)
    runs.answer = lambda images, *_: completion(f"half \ud83d of a pair\n{good}" if images else good)
    chosen = "siming_stranger,siming_clip,siming_clip_score"
    for kept in (0, 3):
        run = runs("async_openai", "--include_path", str(folder), "--tasks", chosen, "--limit", "3")
        assert run.task("stranger")["right"] == 1.0
        clip = run.task("clip_score")["siming_stderr"]
        assert clip["statuses"]["ok"] == 3 and clip["usage"]["kept"] == kept
        assert run.samples("clip_score")[0]["filtered_resps"].startswith("half � of a pair")
    assert runs.sent == 3 + 6 + 3  # of ours, nothing the second time
