"""Each request's own reply, from real classes of the host against a real server or as they are."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from lmms_eval.api.instance import Instance
from PIL import Image

from siming_tasks.benchmark.parsing import parse_reply
from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.common.errors import SimingError
from siming_tasks.media import Backend, backends
from siming_tasks.plugin.reply import ASKED, AskedRequest
from siming_tasks.plugin.response_cache.dispatch import FAILED, one_reply_per_request
from siming_tasks.plugin.response_cache.key import KeyedRequest
from tests.plugin.response_cache.keyed import keyed
from tests.plugin.serving import Server, message


def request(text: str, task: str = "t", doc: int = 0) -> Any:
    image = Image.new("RGB", (8, 8))
    arguments = (text, {"max_new_tokens": 9}, lambda _: [image], doc, task, "test")
    return Instance("generate_until", arguments, 0, {"task": task, "doc_id": doc, "repeats": 1})


@pytest.mark.filterwarnings("ignore")
def test_claude_keeps_each_reply_with_its_request(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service that answers with the number in the question and refuses one: the class by itself shifts the rest."""
    pytest.importorskip("anthropic")
    module = pytest.importorskip("lmms_eval.models.simple.claude")
    monkeypatch.setattr(module, "NUM_SECONDS_TO_SLEEP", 0)
    bad = ""

    def answer(_: tuple[str, ...], text: str, __: int) -> tuple[int, Any]:
        if text == bad:
            return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
        return message({"type": "text", "text": f"answer to {text}"})

    serve(answer).stands_for("claude", monkeypatch)
    model = module.Claude(model_version="m")
    model.task_dict = {"t": {"test": [None]}}
    for bad in ("0", "2", "4"):
        asked = [request(str(number)) for number in range(5)]
        outputs = one_reply_per_request(model, backends()["simple.claude"], list(map(keyed, asked)))
        replies = [getattr(output, "text", output) for output in outputs]
        failed = replies.pop(int(bad))
        assert replies == [f"answer to {number}" for number in range(5) if str(number) != bad]
        status = parse_reply(failed, default_rubric().steps[:1], "score").status
        assert failed.startswith(FAILED) and status == "request_failed"


class Batches:
    """A class that takes the task of a batch from its first request, as most local ones of the host do."""

    batch_size = 2

    def generate_until(self, requests: list[Any]) -> list[str]:
        pairs = [requests[start : start + 2] for start in range(0, len(requests), 2)]
        return [f"{batch[0].args[-2]}/{instance.args[-3]}" for batch in pairs for instance in batch]


def test_a_batch_holds_requests_of_one_task() -> None:
    asked = [request("x", task, number) for task, count in (("a", 3), ("b", 2), ("c", 1)) for number in range(count)]
    replies = one_reply_per_request(Batches(), Backend("x", images="several"), list(map(keyed, asked)))
    assert replies == ["a/0", "a/1", "a/2", "b/0", "b/1", "c/0"]


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
        ({"own_arguments": {"max_new_tokens": "own", "top_k": "no"}}, lambda lm, _: [str(lm.own)] * 3, ["9"] * 3),
    ],
)  # fmt: skip
def test_what_a_class_says_and_what_becomes_of_it(row: dict[str, Any], says: Any, replies: list[str]) -> None:
    """No reply, or what it gives in place of an error, is a failed request; it gets arguments of its own."""
    asked, lm = [request(str(number)) for number in range(3)], Saying(says)
    found = one_reply_per_request(lm, Backend("x", **row), list(map(keyed, asked)))
    assert [FAILED if text.startswith(FAILED) else text for text in found] == replies
    assert [instance.args[1] for instance in asked] == [{"max_new_tokens": 9}] * 3 and lm.own == 2048


def test_replies_that_cannot_be_matched_to_requests_are_not_scored() -> None:
    with pytest.raises(SimingError, match="Saying returned 1 reply to 2 requests; they"):
        one_reply_per_request(Saying(lambda *_: ["one"]), Backend("x"), [keyed(request("1")), keyed(request("2"))])


class FirstForAll:
    """A class that builds the media of a whole batch by the function of its first request, as most local ones do."""

    batch_size = 2

    def generate_until(self, requests: list[Any]) -> list[str]:
        for first in range(0, len(requests), 2):
            for request in requests[first : first + 2]:
                requests[first].args[2]({"id": f"d{request.args[3]}"})
        return ["x"] * len(requests)


def test_media_are_noted_for_the_document_that_they_are_of() -> None:
    def build(doc: Any) -> None:
        asked = ASKED.get()
        assert asked is not None
        asked.facts = {"of": doc["id"]}

    asked = []
    for number in range(4):
        instance = request("x", doc=number)
        instance.arguments = ("x", {"max_new_tokens": 9}, build, number, "t", "test")
        pending = AskedRequest(cast("Any", None), f"k{number}", [], f"d{number}")
        asked.append(KeyedRequest(instance, {"id": f"d{number}"}, pending))
    one_reply_per_request(FirstForAll(), Backend("x", images="several"), asked)
    assert [one.media()["of"] for one in asked] == ["d0", "d1", "d2", "d3"]
