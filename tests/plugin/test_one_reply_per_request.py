"""Each request's own reply, from real classes of the host against a real server or as they are."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
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
from tests.plugin.serving import Server, message


def request(text: str, task: str = "t", doc: int = 0) -> Any:
    image = Image.new("RGB", (8, 8))
    arguments = (text, {"max_new_tokens": 9}, lambda _: [image], doc, task, "test")
    return Instance("generate_until", arguments, 0, {"task": task, "doc_id": doc, "repeats": 1})


def texts(replies: list[Any]) -> list[str]:
    return [getattr(reply, "text", reply) for reply in replies]


@pytest.fixture
def claude(serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Its class, and a service that answers with the number in the question and refuses those in ``bad``."""
    pytest.importorskip("anthropic")
    module = pytest.importorskip("lmms_eval.models.simple.claude")
    monkeypatch.setattr(module, "NUM_SECONDS_TO_SLEEP", 0)

    def answer(_: tuple[str, ...], text: str, __: int) -> tuple[int, Any]:
        if text in model.bad:
            return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
        return message({"type": "text", "text": f"answer to {text}"})

    serve(answer).stands_for("claude", monkeypatch)
    model = module.Claude(model_version="m")
    model.task_dict, model.bad = {"t": {"test": [None]}}, set()
    return model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("bad", ["0", "2", "4"])
def test_claude_keeps_each_reply_with_its_request(claude: Any, bad: str) -> None:
    claude.bad = {bad}
    asked = [request(str(number)) for number in range(5)]
    replies = texts(one_reply_per_request(claude, backends()["simple.claude"], asked))
    failed = replies.pop(int(bad))
    assert replies == [f"answer to {number}" for number in range(5) if str(number) != bad]
    status = parse_reply(failed, default_rubric().steps[:1], "score").status
    assert failed.startswith(FAILED) and status == "request_failed"


@pytest.mark.filterwarnings("ignore")
def test_claude_by_itself_shifts_them(claude: Any) -> None:
    """If a later lmms-eval mends it, it need not be asked one by one."""
    claude.bad = {"2"}
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
    replies = one_reply_per_request(lm, Backend("x", images="several"), asked)
    assert replies == ["a/0", "a/1", "a/2", "b/0", "b/1", "c/0"]
    assert all(len(set(batch)) == 1 for batch in lm.batches)


class Saying:
    """A class that says what a function makes of the generation arguments of its requests."""

    batch_size, own = 2, 2048

    def __init__(self, says: Callable[..., list[Any]]) -> None:
        self.says = says

    def generate_until(self, requests: list[Any]) -> list[Any]:
        return self.says(self, [request.args[1] for request in requests])


def greedy(_: Any, arguments: list[dict[str, Any]]) -> list[str]:
    caps = [str(one["max_new_tokens"]) for one in arguments]
    for one in arguments:
        one.update(top_p=None, max_new_tokens=0)
    return caps


SWALLOWS = ["1", " ", "Video x.mp4 can not load, check the source"]


@pytest.mark.parametrize(
    ("row", "says", "replies"),
    [
        ({}, lambda *_: ["one", None, "3"], ["one", FAILED, "3"]),
        ({}, lambda *_: SWALLOWS, SWALLOWS),
        ({"failed": "^$|can not load, check the source$"}, lambda *_: SWALLOWS, ["1", FAILED, FAILED]),
        ({"most_tokens": 5}, greedy, ["5", "5", "5"]),
        ({}, greedy, ["9", "9", "9"]),
        ({"own_arguments": {"max_new_tokens": "own", "top_k": "no"}}, lambda lm, _: [str(lm.own)] * 3, ["9"] * 3),
    ],
)  # fmt: skip
def test_what_a_class_says_and_what_becomes_of_it(row: dict[str, Any], says: Any, replies: list[str]) -> None:
    """No reply, or what it gives in place of an error, is a failed request; it gets arguments of its own."""
    asked, lm = [request(str(number)) for number in range(3)], Saying(says)
    found = one_reply_per_request(lm, Backend("x", **row), asked)
    assert [FAILED if text.startswith(FAILED) else text for text in found] == replies
    assert [instance.args[1] for instance in asked] == [{"max_new_tokens": 9}] * 3 and lm.own == 2048


def test_replies_that_cannot_be_matched_to_requests_are_not_scored() -> None:
    with pytest.raises(SimingError, match="Saying returned 1 replies to 2 requests: which"):
        one_reply_per_request(Saying(lambda *_: ["one"]), Backend("x"), [request("1"), request("2")])


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
