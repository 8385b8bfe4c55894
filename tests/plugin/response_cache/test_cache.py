"""A run that is cut short, wherever, asks on the second time only for what is missing, and ends as if nothing was."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
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
LOGGED = ("resps", "filtered_resps", "token_counts")
SMALL = {"SIMING_CLIP_FRAMES": "2", "SIMING_FRAME_SIZE": "96"}


def points(images: tuple[str, ...], text: str, *_: Any) -> Any:
    """A reply that depends on everything that was sent, and on nothing else."""
    digest = hashlib.sha256("".join((*images, text)).encode()).digest()
    return completion(json.dumps({"score": digest[0] % 2}))


class Runs:
    """Runs of one command against a server that stays where it is."""

    def __init__(self, host: Callable[..., Any], serve: Callable[..., Server], data: Path, folder: Path) -> None:
        self.host, self.data, self.replies = host, data, folder / "kept"
        self.answer: Callable[..., Any] = points
        self.server = serve(lambda *request: self.answer(*request))
        self.count = 0

    def __call__(self, model: str, answer: Callable[..., Any] = points, **more: Any) -> tuple[Any, int]:
        """The run, and how many requests the server got of it."""
        self.answer, self.count, before = answer, self.count + 1, len(self.server.received)
        run = self.host(
            "--model", model, "--model_args", ARGUMENTS[model] + self.server.url, "--tasks", "siming_clip_score",
            "--limit", str(REQUESTS),
            data=self.data, name=f"run{self.count}", **{**SMALL, "SIMING_REPLIES": str(self.replies), **more},
        )  # fmt: skip
        return run, len(self.server.received) - before


@pytest.fixture
def runs(host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path) -> Runs:
    return Runs(host, serve, short_demo, tmp_path)


def kept(folder: Path) -> list[dict[str, Any]]:
    """The replies that lie in a folder, whole lines only."""
    entries = []
    for path in folder.rglob("*.jsonl"):
        for line in path.read_text().splitlines()[1:]:
            entries.append(json.loads(line)["kept"])
    return [entry for entry in entries if "attempt" not in entry]


TIMES = {"at", "kept", "latency"}
"""Facts of usage that differ between two runs of the same requests."""
PAID = {"attempts", "failed_attempts", "prompt_tokens", "completion_tokens"}
"""Facts that differ as well where a killed run had been answered a request whose reply it could not keep any more."""


def same(first: Any, second: Any) -> None:
    """Two runs ended with the same numbers, records, and logged replies, whatever they paid."""
    assert numbers(first, "clip_score", TIMES | PAID) == numbers(second, "clip_score", TIMES | PAID)
    same_samples(first, second, "clip_score", TIMES | PAID)


def numbers(run: Any, name: str, varying: set[str] = TIMES) -> dict[str, Any]:
    """All that a results file says of a task, but when replies came, how long they took, or what varies."""
    task = run.task(name)
    usage = {key: value for key, value in task["siming_stderr"]["usage"].items() if key not in varying}
    return {**task, "siming_stderr": {**task["siming_stderr"], "usage": usage}}


def timeless(record: dict[str, Any], varying: set[str]) -> dict[str, Any]:
    usage = {key: value for key, value in record["usage"].items() if key not in varying}
    return {**record, "usage": usage}


def same_samples(before: Any, after: Any, name: str, varying: set[str] = TIMES) -> None:
    for first, second in zip(before.samples(name), after.samples(name), strict=True):
        assert timeless(first["siming_stderr"], varying) == timeless(second["siming_stderr"], varying)
        assert [first.get(key) for key in LOGGED] == [second.get(key) for key in LOGGED]


def test_an_edited_system_prompt_gets_replies_of_its_own(
    host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path
) -> None:
    """``system_prompt=prompt.txt``: a file without a slash, which the class reads from the working folder."""
    script = tmp_path / "with_prompt.py"
    script.write_text(
        "import os, pathlib\npathlib.Path('prompt.txt').write_text(os.environ['PROMPT'])\n"
        "from lmms_eval.__main__ import cli_evaluate\ncli_evaluate()\n"
    )
    server = serve(points)
    for number, (prompt, asked) in enumerate([("Be strict.", 2), ("Be gentle", 4), ("Be strict.", 4)]):
        host(
            "--model", "async_openai", "--tasks", "siming_clip_score", "--limit", "2",
            "--model_args", f"{ARGUMENTS['async_openai']}{server.url},system_prompt=prompt.txt",
            data=short_demo, name=str(number), script=str(script), PROMPT=prompt,
            **SMALL, SIMING_REPLIES=str(tmp_path / "kept"),
        ).results()  # fmt: skip
        assert len(server.received) == asked
    assert [texts[0] for _, texts in server.received] == ["Be strict."] * 2 + ["Be gentle"] * 2


@pytest.mark.parametrize("model", ARGUMENTS)
def test_a_rerun_after_a_killed_run_asks_only_for_missing_replies(
    runs: Runs, warm: Any, tmp_path: Path, model: str
) -> None:
    def killing(images: tuple[str, ...], text: str, number: int) -> Any:
        if number == 13:
            os.kill(warm.pid, signal.SIGKILL)
        return points(images, text)

    killed, sent = runs(model, answer=killing)
    assert killed.code == -signal.SIGKILL and not list(killed.folder.rglob("*_results.json"))
    saved = kept(runs.replies)
    assert sent - AT_ONCE <= len(saved) <= sent <= 13 + AT_ONCE
    again, missing = runs(model)
    assert missing == REQUESTS - len(saved)
    assert f"keeping replies in {runs.replies}" in again.output
    assert f"; {len(saved)} of {REQUESTS} are there (the oldest since 20" in again.output
    whole, asked = runs(model, SIMING_REPLIES=str(tmp_path / "elsewhere"))
    assert asked == REQUESTS
    same(again, whole)
    # what the killed run was answered is paid, whether or not its reply could be kept
    paid = again.task("clip_score")["siming_stderr"]["usage"]["attempts"]["total"]
    assert REQUESTS <= paid <= sent + missing
    assert runs(model)[1] == 0
    assert not [path for path in runs.replies.rglob("*") if path.is_file() and "sk-private" in path.read_text()]


@pytest.mark.parametrize("model", ARGUMENTS)
def test_an_interrupted_run_keeps_its_replies(runs: Runs, warm: Any, model: str) -> None:
    """Ctrl-C: what is under way in threads is waited for."""

    def interrupting(images: tuple[str, ...], text: str, number: int) -> Any:
        if number == 7:
            os.kill(warm.pid, signal.SIGINT)
        if number >= 7:  # slower than any machine is to interrupt
            time.sleep(0.5)
        return points(images, text)

    stopped, sent = runs(model, answer=interrupting)
    assert not list(stopped.folder.rglob("*_results.json"))
    saved = len(kept(runs.replies))
    assert sent - AT_ONCE <= saved <= sent < REQUESTS
    again, missing = runs(model)
    assert missing == REQUESTS - saved
    assert again.task("clip_score")["coverage"] == 1.0


@pytest.mark.parametrize("model", ARGUMENTS)
def test_replies_before_the_server_went_away_are_kept(runs: Runs, serve: Callable[..., Server], model: str) -> None:
    """Refused connections are failed requests: counted, never kept, asked again."""

    def leaving(images: tuple[str, ...], text: str, number: int) -> Any:
        if number == 9:
            threading.Thread(target=runs.server.gone).start()
            time.sleep(0.7)  # its loop ends within half a second
        return points(images, text)

    broken, _ = runs(model, answer=leaving)
    statuses = broken.task("clip_score")["siming_stderr"]["statuses"]
    saved = len(kept(runs.replies))
    assert statuses["ok"] == saved >= 9 and statuses["request_failed"] == REQUESTS - saved > 0
    failed = [s["siming_stderr"]["usage"] for s in broken.samples("clip_score") if s["siming_stderr"]["status"] != "ok"]
    assert all(usage["prompt_tokens"] is usage["completion_tokens"] is usage["at"] is None for usage in failed)
    runs.server = serve(lambda *request: runs.answer(*request), runs.server.port)
    again, missing = runs(model)
    assert missing == REQUESTS - saved and again.task("clip_score")["coverage"] == 1.0


def test_incomplete_replies_are_asked_again(runs: Runs) -> None:
    """Empty, cut at the limit, refused by the service, an error's text, no content: none of them is kept."""
    faults: list[Callable[[], Any]] = [
        lambda: completion(""),
        lambda: completion('{"reason": "the hands', finish_reason="length"),
        lambda: completion("The hands are placed", finish_reason="length"),
        lambda: (500, {"error": {"message": "broken"}}),
        lambda: completion(None),
        lambda: completion("[LMMS_EVAL_REQUEST_FAILED after 5 retries] x"),
        lambda: completion('{"score": 0} and so', finish_reason="length"),  # whole: this one is kept
        lambda: completion("I cannot judge this.", finish_reason="stop"),  # the model's own word is kept
    ]

    faulty: dict[tuple[Any, ...], int] = {}

    def answer(images: tuple[str, ...], text: str, _: int) -> Any:
        number = faulty.setdefault((images, text), len(faulty))  # one that is tried again meets the same fault
        return faults[number]() if number < len(faults) else points(images, text)

    broken, sent = runs("async_openai", answer=answer)
    statuses = broken.task("clip_score")["siming_stderr"]["statuses"]
    assert len(faulty) == REQUESTS <= sent and len(kept(runs.replies)) == REQUESTS - 6
    counts = {name: count for name, count in statuses.items() if count}
    assert counts == {"ok": REQUESTS - 7, "request_failed": 2, "empty": 2, "truncated": 2, "refused": 1}
    usage = broken.task("clip_score")["siming_stderr"]["usage"]
    assert usage["finish_reasons"] == {"length": 3, "stop": REQUESTS - 4} and usage["served"] == {"m": REQUESTS - 1}
    again, missing = runs("async_openai")
    assert missing == 6
    statuses = again.task("clip_score")["siming_stderr"]["statuses"]
    assert statuses["ok"] == REQUESTS - 1 and statuses["refused"] == 1
    assert again.task("clip_score")["siming_stderr"]["usage"]["kept"] == REQUESTS - 6


def test_a_limit_of_cost_stops_a_run_that_then_goes_on(runs: Runs, tmp_path: Path) -> None:
    (prices := tmp_path / "prices.yaml").write_text("date: 2026-11-01\nmodels: {m: {input: 3.0e6, output: 1.0e6}}\n")

    def priced(images: tuple[str, ...], text: str, number: int) -> Any:
        status, content = points(images, text)
        return status, {**content, "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}}

    env = {"SIMING_PRICES": str(prices)}
    stopped, sent = runs("async_openai", answer=priced, **env, SIMING_LIMIT_COST="75")  # 10 USD a request
    assert stopped.code == 1 and not list(stopped.folder.rglob("*_results.json"))
    saved = len(kept(runs.replies))
    assert 8 <= saved == sent < 8 + AT_ONCE
    (last,) = [line for line in stopped.output.splitlines() if line.startswith("siming-tasks: stopped")]
    assert last.startswith(f"siming-tasks: stopped by SIMING_LIMIT_COST: {10 * saved} of 75 USD are spent.")
    assert f"{REQUESTS - saved} requests are left" in last and "Traceback" not in stopped.output
    again, missing = runs("async_openai", answer=priced, **env, SIMING_LIMIT_COST="1000")
    assert missing == REQUESTS - saved
    usage = again.task("clip_score")["siming_stderr"]["usage"]
    assert usage["cost"] == {"USD": {"total": 240.0, "requests": REQUESTS}} and usage["kept"] == saved
    assert again.samples("clip_score")[0]["siming_stderr"]["usage"]["cost"] == 10.0
    unpriced, sent = runs("openai", SIMING_LIMIT_COST="1")
    assert unpriced.code == 1 and sent == 0
    assert "SIMING_LIMIT_COST=1 cannot be kept: SIMING_PRICES names no price table." in unpriced.output


def test_a_full_disk_warns_and_the_run_goes_on(runs: Runs, forked: tuple[str, ...]) -> None:
    """The run goes on and says loudly that it keeps nothing more; no half line is ever read as a reply."""
    full, sent = runs("openai", launcher=(sys.executable, "-c", FULL, *forked))
    assert sent == REQUESTS and full.code == 1  # its results do not fit either, which is said too
    assert full.output.count("REPLIES ARE NOT KEPT: ") == 1 and "File too large" in full.output
    (file,) = runs.replies.rglob("*.jsonl")
    saved = len(kept(runs.replies))
    assert 0 < saved < REQUESTS and file.read_text().endswith("\n")
    again, missing = runs("openai")
    assert missing == REQUESTS - saved and again.task("clip_score")["coverage"] == 1.0


FULL = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
os.execv(sys.argv[1], sys.argv[1:])
"""


TINY = "device=cpu,device_map=cpu,max_num_frames=4,max_pixels=50176,min_pixels=3136,pretrained="


def test_a_killed_local_model_keeps_its_replies(
    host: Callable[..., Any], warm: Any, short_demo: Path, speaking_vlm: Path, tmp_path: Path
) -> None:
    """Finished slices are kept, and the two tasks are never asked in one batch."""
    replies = tmp_path / "kept"

    def run(name: str, **env: str) -> Any:
        return host(
            "--model", "qwen2_5_vl", "--model_args", TINY + str(speaking_vlm), "--tasks", "siming_clip", "--limit", "8",
            "--gen_kwargs", "max_new_tokens=8", data=short_demo, name=name,
            **{"SIMING_REPLIES": str(replies), "SIMING_CLIP_FRAMES": "4", **env},
        )  # fmt: skip

    watcher = threading.Thread(target=kill_at, args=(warm, replies, 5), daemon=True)
    watcher.start()
    assert run("killed").code == -signal.SIGKILL
    watcher.join(10)
    saved = len(kept(replies))
    assert 5 <= saved < 16
    again = run("again")
    assert f"; {saved} of 16 are there" in again.output and len(kept(replies)) == 16
    whole = run("whole", SIMING_REPLIES=str(tmp_path / "elsewhere"))
    assert "; 0 of 16 are there." in whole.output
    for name in ("clip_score", "clip_error"):
        assert numbers(again, name) == numbers(whole, name)
        assert again.task(name)["coverage"] == 1.0
        assert again.task(name)["siming_stderr"]["usage"]["completion_tokens"] == {"total": 16, "requests": 8}
        same_samples(again, whole, name)
        assert {sample["siming_stderr"]["media"]["mode"] for sample in again.samples(name)} == {"frames"}


def kill_at(warm: Any, replies: Path, number: int) -> None:
    """Kill the run that goes on as soon as so many replies are kept."""
    while len(kept(replies)) < number:
        time.sleep(0.005)
    os.kill(warm.pid, signal.SIGKILL)
