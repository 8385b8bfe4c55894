"""Reasoning models are asked in the parameters that they take, other models as before."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lmms_eval.api.instance import Instance
from lmms_eval.models.chat.async_openai import AsyncOpenAIChat


class Service(BaseHTTPRequestHandler):
    """A chat completion endpoint that refuses what the services refuse."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        new = not body["model"].startswith("gpt-4")
        refused = [name for name in ("max_tokens", "temperature") if new and name in body]
        limit = body.get("max_completion_tokens" if new else "max_tokens")
        reply: dict = {"error": {"message": f"Unsupported parameter: {refused}", "type": "invalid_request_error"}}
        if not refused:
            message = {"role": "assistant", "content": f"at most {limit} tokens"}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            reply = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
        payload = json.dumps(reply).encode()
        self.send_response(400 if refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


def _reply(url: str, model: str) -> str:
    lm = AsyncOpenAIChat(model_version=model, base_url=url, api_key="none", max_retries=1, num_cpus=1)
    lm.task_dict = {"task": {"test": [{}]}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "question"}]}]
    arguments = ("question", lambda doc: messages, {"max_new_tokens": 7}, 0, "task", "test")
    request = Instance(request_type="generate_until", arguments=arguments, idx=0, metadata={"task": "task", "doc_id": 0, "repeats": 1})
    return lm.generate_until([request])[0].text


@pytest.mark.parametrize("model", ["gpt-5.2", "o3-mini"])
def test_a_reasoning_model_is_asked_in_its_own_parameters(url: str, model: str) -> None:
    assert _reply(url, "gpt-4o") == "at most 7 tokens"
    assert _reply(url, model) == "at most 7 tokens"
