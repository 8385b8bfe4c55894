"""A request that fails for good has one empty result, and every other reply stays with its own question."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from PIL import Image

from lmms_eval.api.instance import Instance
from lmms_eval.models.simple import claude, qwen_vl_api

FAILS = "question 1"
REPLIES = ["reply to question 0", "", "reply to question 2", "reply to question 3"]


class Service(BaseHTTPRequestHandler):
    """The messages endpoint; it refuses one question each time it is asked."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        question = next(part["text"] for part in body["messages"][0]["content"] if part["type"] == "text")
        reply: dict = {"type": "error", "error": {"type": "invalid_request_error", "message": "refused"}}
        if question != FAILS:
            content = [{"type": "text", "text": f"reply to {question}"}]
            usage = {"input_tokens": 1, "output_tokens": 1}
            reply = {"id": "1", "type": "message", "role": "assistant", "model": "m", "content": content, "usage": usage}
        payload = json.dumps(reply).encode()
        self.send_response(400 if question == FAILS else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setattr(claude, "NUM_SECONDS_TO_SLEEP", 0)
    yield
    server.shutdown()
    server.server_close()


def _requests(lm: object, questions: list[str]) -> list[Instance]:
    lm.task_dict = {"task": {"test": [{}] * len(questions)}}
    image = Image.new("RGB", (8, 8))
    arguments = [(question, {}, lambda doc: [image], i, "task", "test") for i, question in enumerate(questions)]
    return [Instance(request_type="generate_until", arguments=args, idx=0, metadata={"task": "task", "doc_id": args[3], "repeats": 1}) for args in arguments]


def test_claude_keeps_replies_with_their_questions(service: None) -> None:
    lm = claude.Claude()
    replies = [result.text for result in lm.generate_until(_requests(lm, [f"question {i}" for i in range(4)]))]
    assert replies == REPLIES, "the replies after the failed request are not their questions' own"


def test_claude_whose_first_request_fails_goes_on(service: None) -> None:
    lm = claude.Claude()
    assert [result.text for result in lm.generate_until(_requests(lm, [FAILS, "question 2"]))] == ["", REPLIES[2]]


def test_qwen_vl_api_keeps_replies_with_their_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    def call(messages: list, **kwargs: object) -> dict:
        text = messages[0]["content"][-1]["text"]
        if text == FAILS:
            raise ConnectionError("refused")
        return {"output": {"choices": [{"message": {"content": [{"text": f"reply to {text}"}]}}]}}

    monkeypatch.setattr(qwen_vl_api, "dashscope", SimpleNamespace(MultiModalConversation=SimpleNamespace(call=call)), raising=False)
    monkeypatch.setattr(qwen_vl_api, "NUM_SECONDS_TO_SLEEP", 0)
    lm = qwen_vl_api.Qwen_VL_API()
    assert lm.generate_until(_requests(lm, [f"question {i}" for i in range(4)])) == REPLIES
