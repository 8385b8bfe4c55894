"""A chat completion endpoint on loopback that decodes every image it is sent."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image


def pixels(image: Image.Image) -> str:
    return hashlib.sha256(image.convert("RGB").tobytes()).hexdigest()


class Server(ThreadingHTTPServer):
    """A chat completion endpoint; ``answer(images, text, n)`` gives status and body, or None to drop the connection."""

    daemon_threads = True

    def __init__(self, answer: Callable[[tuple[str, ...], str, int], tuple[int, Any] | None], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.answer, self.received, self.lock = answer, [], threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def gone(self) -> None:
        """From now on, connections are refused."""
        self.shutdown()
        self.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        (message,) = body["messages"]
        images, texts = [], []
        for part in message["content"]:
            if part["type"] == "text":
                texts.append(part["text"])
            else:
                data = part["image_url"]["url"].split(",", 1)[1]
                images.append(pixels(Image.open(io.BytesIO(base64.b64decode(data)))))
        with self.server.lock:
            number = len(self.server.received)
            self.server.received.append((tuple(images), tuple(texts)))
        reply = self.server.answer(tuple(images), texts[-1], number)
        if reply is None:
            self.close_connection = True
            return
        status, content = reply
        payload = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: Any) -> None:
        pass


def completion(content: str | None, **choice: Any) -> tuple[int, dict[str, Any]]:
    message = {"role": "assistant", "content": content}
    return 200, {
        "id": "x", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip
