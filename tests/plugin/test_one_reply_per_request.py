"""Each request's own reply, from real classes of the host against a real server or as they are."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from lmms_eval.api.instance import Instance
from PIL import Image

from siming_tasks.common.errors import SimingError
from siming_tasks.media import Backend, backends
from siming_tasks.parsing import parse_reply
from siming_tasks.plugin.response_cache.dispatch import FAILED, one_reply_per_request
from siming_tasks.rubrics import default_rubric


@contextmanager
def careful(lm: Any, backend: Backend) -> Iterator[None]:
    """While the block runs, the object is asked as a run asks it."""
    lm.generate_until = functools.partial(one_reply_per_request, lm, backend)
    yield
    del lm.generate_until


class Messages(BaseHTTPRequestHandler):
    """The Anthropic endpoint: answers with the number in the question, refuses the questions in ``server.bad``."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = next(part["text"] for part in body["messages"][0]["content"] if part["type"] == "text")
        bad = asked in self.server.bad  # type: ignore[attr-defined]
        answer: dict[str, Any] = {
            "id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": f"answer to {asked}"}],
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        if bad:
            answer = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
        data = json.dumps(answer).encode()
        self.send_response(400 if bad else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), Messages)
    http.bad = set()  # type: ignore[attr-defined]
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{http.server_address[1]}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    yield http
    http.shutdown()
    http.server_close()


def request(text: str, task: str = "t", doc: int = 0) -> Any:
    image = Image.new("RGB", (8, 8))
    arguments = (text, {"max_new_tokens": 9}, lambda _: [image], doc, task, "test")
    return Instance("generate_until", arguments, 0, {"task": task, "doc_id": doc, "repeats": 1})


@pytest.fixture
def claude(server: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("anthropic")
    module = pytest.importorskip("lmms_eval.models.simple.claude")
    monkeypatch.setattr(module, "NUM_SECONDS_TO_SLEEP", 0)
    model = module.Claude(model_version="m")
    model.task_dict = {"t": {"test": [None]}}
    return model


def texts(replies: list[Any]) -> list[str]:
    return [getattr(reply, "text", reply) for reply in replies]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bad", ["0", "2", "4"])
def test_claude_keeps_each_reply_with_its_request(claude: Any, server: Any, bad: str) -> None:
    asked = [request(str(number)) for number in range(5)]
    server.bad = {bad}
    with careful(claude, backends()["simple.claude"]):
        replies = texts(claude.generate_until(asked))
    assert len(replies) == 5
    for number, reply in enumerate(replies):
        if str(number) == bad:
            status = parse_reply(reply, default_rubric().steps[:1], "score").status
            assert reply.startswith(FAILED) and status == "request_failed"
        else:
            assert reply == f"answer to {number}"


@pytest.mark.filterwarnings("ignore")
def test_claude_by_itself_shifts_them(claude: Any, server: Any) -> None:
    """If a later lmms-eval mends it, it need not be asked one by one."""
    server.bad = {"2"}
    replies = texts(claude.generate_until([request(str(number)) for number in range(5)]))
    assert len(replies) == 6 and replies[4] == "answer to 3"  # the reply of request 3 in the place of request 4


class Batches:
    """A class that takes the task of a batch from its first request, as most local ones of the host do."""

    def __init__(self, batch_size: int) -> None:
        self.batch_size, self.batches = batch_size, []

    def generate_until(self, requests: list[Any]) -> list[str]:
        replies = []
        for start in range(0, len(requests), self.batch_size):
            batch = requests[start : start + self.batch_size]
            self.batches.append([instance.args[-2] for instance in batch])
            replies += [f"{batch[0].args[-2]}/{instance.args[-3]}" for instance in batch]
        return replies


@pytest.mark.parametrize("batch_size", [1, 2, 4])
def test_a_batch_holds_requests_of_one_task(batch_size: int) -> None:
    asked = [request("x", task, number) for task, count in (("a", 3), ("b", 2), ("c", 1)) for number in range(count)]
    lm = Batches(batch_size)
    with careful(lm, Backend("x", images="several")):
        assert lm.generate_until(asked) == ["a/0", "a/1", "a/2", "b/0", "b/1", "c/0"]
    assert all(len(set(batch)) == 1 for batch in lm.batches)
    assert "generate_until" not in vars(lm)  # as it was


def test_replies_that_cannot_be_matched_to_requests_are_not_scored() -> None:
    class Short:
        batch_size = 2

        def generate_until(self, requests: list[Any]) -> list[str | None]:
            return ["one"]

    class Gap(Short):
        def generate_until(self, requests: list[Any]) -> list[str | None]:
            return ["one", None]

    asked = [request("1"), request("2")]
    lm = Short()
    with careful(lm, Backend("x")), pytest.raises(SimingError, match="Short returned 1 replies to 2 requests: which"):
        lm.generate_until(asked)
    gap = Gap()
    with careful(gap, Backend("x")):
        assert gap.generate_until(asked) == ["one", f"{FAILED}no reply"]


def test_a_class_gets_arguments_of_its_own_and_no_more_tokens_than_it_gives() -> None:
    class Greedy:
        batch_size = 1

        def generate_until(self, requests: list[Any]) -> list[str]:
            kwargs = [request.args[1] for request in requests]
            caps = [str(arguments["max_new_tokens"]) for arguments in kwargs]
            for arguments in kwargs:
                arguments.update(top_p=None)
            return caps

    asked = [request("1"), request("2")]
    asked[1].args[1]["max_new_tokens"] = 8192
    greedy = Greedy()
    with careful(greedy, Backend("x", most_tokens=1500)):
        assert greedy.generate_until(asked) == ["9", "1500"]
    assert [instance.args[1] for instance in asked] == [{"max_new_tokens": 9}, {"max_new_tokens": 8192}]


def test_what_a_class_gives_in_place_of_an_error_is_a_failed_request() -> None:
    class Swallowing:
        batch_size = 1

        def generate_until(self, requests: list[Any]) -> list[str]:
            return ["1", " ", "Video x.mp4 can not load, check the source"]

    asked, lm = [request("1"), request("2"), request("3")], Swallowing()
    with careful(lm, Backend("x", failed="^$|can not load, check the source$")):
        replies = lm.generate_until(asked)
    assert replies[0] == "1" and all(reply.startswith(FAILED) for reply in replies[1:])
    with careful(lm, Backend("x")):
        assert lm.generate_until(asked)[1] == " "


def test_a_class_that_goes_by_its_own_numbers_is_given_those_that_are_asked_for() -> None:
    class Own:
        batch_size, own = 1, 2048

        def generate_until(self, requests: list[Any]) -> list[str]:
            return [str(self.own)] * len(requests)

    lm = Own()
    with careful(lm, Backend("x", own_arguments={"max_new_tokens": "own", "top_k": "not asked for"})):
        assert lm.generate_until([request("1")]) == ["9"]
    assert lm.own == 2048


def test_caps_of_the_host_are_those_of_the_table() -> None:
    models = Path(importlib.util.find_spec("lmms_eval.models").origin).parent  # type: ignore[union-attr, arg-type]
    capped = set()
    for name, row in backends().items():
        path = models / f"{name.replace('.', '/')}.py"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        caps = re.findall(r'gen_kwargs\["max_new_tokens"\] > (\d+)', text)
        if row.media:
            assert {int(number) for number in caps} == ({row.most_tokens} - {0}), name
            capped |= {name} if caps else set()
    assert capped == {"simple.claude", "simple.gpt4v", "simple.qwen_vl_api"}
