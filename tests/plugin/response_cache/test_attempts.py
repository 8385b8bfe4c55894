"""The ledger of attempts: statuses, money and retries follow what a service on loopback said, not the host's words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from tests.plugin.response_cache.test_cache import ARGUMENTS, SMALL, kept
from tests.plugin.serving import Server, completion, generated

pytestmark = pytest.mark.host

USED = {"prompt_tokens": 7, "completion_tokens": 11, "total_tokens": 18}
GOOD = '{"score": 1}'


def said(content: Any, **choice: Any) -> tuple[int, dict[str, Any]]:
    """A completion of 7 tokens in and 11 out."""
    message = choice.pop("message", {})
    status, body = completion(content, **choice)
    body["choices"][0]["message"] |= message
    return status, {**body, "usage": USED}


class Asked:
    """Runs of one command against a server whose answer depends on the step that is asked about."""

    def __init__(self, host: Callable[..., Any], serve: Callable[..., Server], data: Path, folder: Path) -> None:
        self.host, self.data, self.folder = host, data, folder
        self.faults: list[Any] = []
        self.steps: dict[str, int] = {}
        self.good: Any = said(GOOD)
        self.server = serve(self.answer)
        self.count = 0

    def answer(self, _: tuple[str, ...], text: str, __: int) -> Any:
        number = self.steps.setdefault(text.split("[", 1)[1].split("]", 1)[0], len(self.steps))
        return self.faults[number] if number < len(self.faults) else self.good

    def __call__(self, model: str, *flags: str, limit: int, arguments: str = "", **more: Any) -> Any:
        """The run; ``sent`` of it is how many requests the server got."""
        self.count, before = self.count + 1, len(self.server.received)
        arguments = arguments or ARGUMENTS[model].replace("max_retries=1", "max_retries=2") + self.server.url
        more = {"SIMING_REPLIES": str(self.folder / "kept"), **SMALL, **more}
        run = self.host(
            "--model", model, "--model_args", arguments, "--tasks", "siming_clip_score", "--limit", str(limit), *flags,
            data=self.data, name=f"run{self.count}", **more,
        )  # fmt: skip
        self.sent = len(self.server.received) - before
        return run

    def records(self, run: Any) -> list[dict[str, Any]]:
        """Records in the order of the faults that their requests met."""
        records = {sample["siming_stderr"]["step_id"]: sample["siming_stderr"] for sample in run.samples("clip_score")}
        return [records[step] for step in self.steps]

    def statuses(self, run: Any) -> list[str]:
        return [record["status"] for record in self.records(run)]


@pytest.fixture
def ask(host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path) -> Asked:
    return Asked(host, serve, short_demo, tmp_path)


NOTHING = (200, {**completion("")[1], "choices": [], "usage": USED})
PARTS = [{"type": "text", "text": '{"score"'}, {"type": "text", "text": ": 1}"}]
AZURE = (400, {"error": {  # as Microsoft's page on content filtering shows it
    "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    "type": None, "param": "prompt", "code": "content_filter", "status": 400,
    "innererror": {"code": "ResponsibleAIPolicyViolation"},
}})  # fmt: skip
OPENAI = [
    # answer of the service; status; attempts of the record (two where the class asks again); kept
    (said(None, finish_reason="length"), "truncated", False),
    (said(None, message={"refusal": "I will not."}), "refused", True),
    (said("The hands are placed", finish_reason="content_filter"), "truncated", False),
    (said(None, finish_reason="content_filter"), "refused", True),
    (said(PARTS), "ok", True),
    (NOTHING, "request_failed", False),
    ((500, {"error": {"message": "broken", "type": "server_error"}}), "request_failed", False),
    (said(None), "empty", False),
    (said("I would say", finish_reason="length"), "truncated", False),
    (said(GOOD, finish_reason="content_filter"), "ok", True),
    (AZURE, "refused", True),
]


@pytest.mark.parametrize("model", ARGUMENTS)
def test_the_service_decides_the_status(ask: Asked, capsys: pytest.CaptureFixture[str], model: str) -> None:
    """Of eleven kinds of answers; all tokens are counted, whatever the host made of the answer."""
    ask.faults = [answer for answer, _, _ in OPENAI]
    run = ask(model, limit=13)
    assert ask.statuses(run) == [status for _, status, _ in OPENAI] + ["ok", "ok"]
    for (answer, _, _), record in zip(OPENAI, ask.records(run), strict=False):
        usage = record["usage"]
        answered = usage["attempts"] if answer[0] == 200 else 0
        expected = (7 * answered, 11 * answered) if answered else (None, None)
        assert (usage["prompt_tokens"], usage["completion_tokens"]) == expected, record
    assert main(["run", "missing", "--data", str(ask.data), str(run.folder), "--json"]) == 1
    missing, totals = json.loads(capsys.readouterr().out)["missing"], run.task("clip_score")["siming_stderr"]["usage"]
    listed = [request for request in missing if request["status"] == "request_failed"]
    assert sorted(totals["errors"]) == ["HTTP 500 server_error", "no choice"]
    assert totals["attempts"]["failed"] == sum(record["usage"]["failed_attempts"] for record in ask.records(run))
    assert {request["reason"].split(",")[0] for request in listed} == {"no choice", "HTTP 500 server_error"}
    failed = ask.records(run)[6]["usage"]
    assert failed["http_status"] == 500 and failed["error"] == "HTTP 500 server_error"
    assert failed["attempts"] == failed["failed_attempts"] >= 2
    stored = {entry["id"] for entry in kept(ask.folder / "kept")}
    assert stored == {
        record["id"]
        for record, (_, _, keep) in zip(ask.records(run), [*OPENAI, *[(0, 0, True)] * 2], strict=True)
        if keep
    }
    assert totals["waits"] == [{"timeout": 600.0, "tries": 6}] and totals["not_stored"] == 0
    ask.faults, ask.good = [], said(GOOD)
    again = ask(model, limit=13)
    assert ask.sent == 6 and sorted(ask.statuses(again)) == ["ok"] * 10 + ["refused"] * 3


PRICES = "date: 2026-11-01\nmodels: {m: {input: 1.0e6, output: 1.0e6}}\n"  # 18 USD an answer


def test_the_limit_of_cost_counts_answers_that_the_host_loses(ask: Asked, tmp_path: Path) -> None:
    """Paid answers without a choice fail in the host, are retried, and cost; three requests are under way at once."""
    (prices := tmp_path / "prices.yaml").write_text(PRICES)
    ask.good = NOTHING
    env = {"SIMING_PRICES": str(prices), "SIMING_LIMIT_COST": "50"}
    stopped = ask("async_openai", limit=20, **env)
    assert stopped.code == 1 and ask.sent <= 3 + 2
    assert "stopped by SIMING_LIMIT_COST: " in stopped.output and " of 50 USD are spent" in stopped.output
    again = ask("async_openai", limit=20, **env)  # what was paid stays paid, although there is no reply
    assert again.code == 1 and ask.sent == 0
    ask.good = said(GOOD)
    assert ask("async_openai", limit=20, **{**env, "SIMING_LIMIT_COST": "1000"}).task("clip_score")["coverage"] == 1.0


REWORDED = """
import inspect, sys
import lmms_eval.models.chat.{model} as module
source = inspect.getsource(module).replace("[LMMS_EVAL_REQUEST_FAILED after", "Sorry, no answer after")
exec(compile(source, module.__file__, "exec"), vars(module))
from lmms_eval.cli.dispatch import main
sys.argv[0] = "lmms-eval"
main()
"""


@pytest.mark.parametrize("model", ARGUMENTS)
def test_a_failure_in_other_words_is_a_failure(ask: Asked, tmp_path: Path, model: str) -> None:
    (script := tmp_path / "reworded.py").write_text(REWORDED.replace("{model}", model))
    ask.faults = [(500, {"error": {"message": "broken"}})]
    run = ask(model, limit=3, script=str(script))
    assert ask.statuses(run) == ["request_failed", "ok", "ok"]
    (sample,) = (s for s in run.samples("clip_score") if s["siming_stderr"]["status"] != "ok")
    assert "by the model's class] HTTP 500: Sorry, no answer after 2 retries" in json.dumps(sample["filtered_resps"])


def candidate(finish: str, *parts: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    _, body = generated("")
    return 200, {**body, "candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}]}


GEMINI = [
    ((200, {"usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1}, "modelVersion": "m"}), "request_failed"),
    (candidate("OTHER"), "empty"),
    (candidate("SAFETY"), "refused"),
    (candidate("MAX_TOKENS"), "truncated"),
    (candidate("MAX_TOKENS", {"text": "I think", "thought": True}), "truncated"),
    (candidate("STOP", {"text": "I think", "thought": True}, {"text": GOOD}), "ok"),
    ((200, {**generated("")[1], "candidates": [], "promptFeedback": {"blockReason": "SAFETY"}}), "refused"),
    (candidate("SAFETY", {"text": "The hands"}), "truncated"),
]


def test_gemini_without_a_reply_is_no_refusal(ask: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("google.genai")
    ask.faults, ask.good = [answer for answer, _ in GEMINI], generated(GOOD)
    run = ask(
        "gemini", limit=9, arguments="model_version=m,api_key=k,max_retries=2,retry_backoff_s=0",
        GOOGLE_GEMINI_BASE_URL=ask.server.url.removesuffix("/v1"),
    )  # fmt: skip
    assert ask.statuses(run) == [status for _, status in GEMINI] + ["ok"]
    assert {entry["id"] for entry in kept(ask.folder / "kept")} == {
        record["id"] for record in ask.records(run) if record["status"] in ("ok", "refused")
    }


def message(*content: dict[str, Any], stop: str = "end_turn") -> tuple[int, dict[str, Any]]:
    """An answer of Anthropic's service."""
    return 200, {
        "id": "x", "type": "message", "role": "assistant", "model": "m", "stop_reason": stop, "content": list(content),
        "usage": {"input_tokens": 7, "output_tokens": 11},
    }  # fmt: skip


TEXT = {"type": "text", "text": GOOD}
THINKING = {"type": "thinking", "thinking": "I see hands.", "signature": "s"}
CLAUDE = [
    (message(), "empty"),
    (message(THINKING, TEXT), "ok"),
    (message(stop="refusal"), "refused"),
    (message(THINKING, stop="max_tokens"), "truncated"),
    (message(THINKING), "empty"),
]


@pytest.mark.parametrize("replies", ["", "off"])
def test_odd_answers_of_claude_do_not_end_the_run(ask: Asked, capsys: pytest.CaptureFixture[str], replies: str) -> None:
    """What was heard is recorded also where no reply is stored, and that is said."""
    pytest.importorskip("anthropic")
    ask.faults, ask.good = [answer for answer, _ in CLAUDE], message(TEXT)
    env = {"ANTHROPIC_BASE_URL": ask.server.url.removesuffix("/v1"), "ANTHROPIC_API_KEY": "k"}
    off = {"SIMING_REPLIES": "off"} if replies else {}
    run = ask("claude", limit=7, arguments="model_version=m", **env, **off)
    assert ask.statuses(run) == [*(status for _, status in CLAUDE), "ok", "ok"]
    totals = run.task("clip_score")["siming_stderr"]["usage"]
    assert totals["prompt_tokens"] == {"total": 49, "requests": 7}
    assert totals["completion_tokens"] == {"total": 77, "requests": 7}
    assert totals["waits"] == [{"timeout": 600.0, "tries": 15}] and totals["not_stored"] == 7 * bool(off)
    assert main(["run", "missing", "--data", str(ask.data), str(run.folder)]) in (0, 1)
    assert ("SIMING_REPLIES=off: no reply was stored." in capsys.readouterr().out) == bool(off)


@pytest.mark.parametrize("model", ARGUMENTS)
def test_the_hosts_own_budget_ends_with_one_message(ask: Asked, model: str) -> None:
    stopped = ask(model, "--max_tokens", "60", limit=12)  # 18 tokens a request
    assert stopped.code == 1 and 4 <= ask.sent <= 4 + 3 and "AssertionError" not in stopped.output
    (last,) = [line for line in stopped.output.splitlines() if line.startswith("siming-tasks: stopped")]
    assert last.startswith("siming-tasks: stopped by --max_tokens: lmms-eval's budget of tokens is used up.")
    assert f"{12 - ask.sent} requests are left" in last
    sent = ask.sent
    assert ask(model, limit=12).task("clip_score")["coverage"] == 1.0 and ask.sent == 12 - sent


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


def test_a_task_of_somebody_else_beside_ours(ask: Asked, tmp_path: Path) -> None:
    """Its name begins as ours do, and it is asked first: the connections of its event loop are not used for ours."""
    (folder := tmp_path / "theirs").mkdir()
    rows = [{"question": f"What is [{number}]?", "answer": GOOD} for number in range(4)]
    (file := folder / "rows.json").write_text("\n".join(map(json.dumps, rows)))
    (folder / "stranger.yaml").write_text(STRANGER.replace("FILE", str(file)))
    (folder / "hooks.py").write_text(HOOKS)
    time.sleep(0.01)
    run = ask(
        "async_openai", "--include_path", str(folder), "--tasks", "siming_stranger,siming_clip_score", limit=12,
        arguments=ARGUMENTS["async_openai"] + ask.server.url,
    )  # fmt: skip
    assert run.task("stranger")["right"] == 1.0
    assert run.task("clip_score")["siming_stderr"]["statuses"]["ok"] == 12 and ask.sent == 16


def test_a_group_beside_its_member_asks_once(ask: Asked) -> None:
    run = ask("async_openai", "--tasks", "siming_clip,siming_clip_score", limit=3)
    assert ask.sent == 6 and run.task("clip_score")["coverage"] == 1.0


def test_what_earlier_commands_paid_for_lost_answers_stays_in_the_records(ask: Asked, tmp_path: Path) -> None:
    """An empty answer (18 USD) and a failure, asked again: three commands state what a request has cost in all."""
    (prices := tmp_path / "prices.yaml").write_text(PRICES)
    env = {"SIMING_PRICES": str(prices)}
    ask.faults = [said(None), (500, {"error": {"message": "broken"}})]
    first = ask.records(ask("openai", limit=3, **env))
    assert [record["usage"]["cost"] for record in first] == [18, None, 18]
    ask.faults = []
    for command in (2, 3):
        records = ask.records(ask("openai", limit=3, **env))
        usages = [record["usage"] for record in records]
        tried = first[1]["usage"]["attempts"]
        assert [usage["cost"] for usage in usages] == [36, 18, 18], command
        assert [usage["prompt_tokens"] for usage in usages] == [14, 7, 7]
        assert [usage["attempts"] for usage in usages] == [2, tried + 1, 1]
        assert [usage["failed_attempts"] for usage in usages] == [0, tried, 0]
    assert ask.sent == 0
    stopped = ask("openai", limit=4, **env, SIMING_LIMIT_COST="50")
    assert stopped.code == 1 and ask.sent == 0
    words = "72 of 50 USD are spent, 72 of it on replies already kept and lost answers of earlier commands"
    assert words in " ".join(stopped.output.split())


@pytest.mark.parametrize("replies", ["kept", "off"])
def test_an_answer_of_unknown_form_that_is_asked_again_has_failed(ask: Asked, tmp_path: Path, replies: str) -> None:
    ask.faults = [(200, {})]
    more = {"SIMING_REPLIES": "off"} if replies == "off" else {}
    failed, good = ask.records(ask("openai", limit=2, **more))
    assert failed["status"] == "request_failed" and good["status"] == "ok"
    assert failed["usage"]["attempts"] == failed["usage"]["failed_attempts"] == 2
    assert good["usage"]["failed_attempts"] == 0
