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
        self.options: list[dict[str, Any]] = []
        """Path of each request, and the fields of its body besides the messages."""
        self.media_types: set[str] = set()
        """Media types that OpenAI's requests state for their images."""
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

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
        images, texts = [], []
        parts = [part for message in body.get("messages", ()) for part in message["content"] if isinstance(part, dict)]
        forms = {part["type"] for part in parts if "audio" in part["type"]}
        sounds = [
            part["audio_url"]["url"] if "audio_url" in part else f"data:audio/wav;base64,{part['input_audio']['data']}"
            for part in parts if "audio" in part["type"]
        ]  # fmt: skip
        urls = [part["image_url"]["url"] for part in parts if part.get("type") == "image_url"]
        self.server.media_types |= {url.removeprefix("data:").partition(";")[0] for url in urls}
        for text, data in parts_of(body):
            if data is None:
                texts.append(text)
            else:
                images.append(pixels(Image.open(io.BytesIO(base64.b64decode(data)))))
        with self.server.lock:
            number = len(self.server.received)
            self.server.received.append((tuple(images), tuple(texts)))
            self.server.options.append({"path": self.path, "sounds": sounds, "forms": forms, "pictures": urls, **body})
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


def parts_of(body: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Text or base64 of each part of the message (a system prompt first), as OpenAI's or Google's clients send it."""
    if "contents" in body:
        (message,) = body.pop("contents")
        plain = str.maketrans("-_", "+/")  # Google's clients write what is safe in an address
        return [
            (part.get("text", ""), part["inlineData"]["data"].translate(plain) if "inlineData" in part else None)
            for part in message["parts"]
        ]
    *system, message = body.pop("messages")
    systems = [("".join(part["text"] for part in message["content"]), None) for message in system]
    return systems + [
        (part.get("text", ""), image_of(part)) for part in message["content"] if "audio" not in part["type"]
    ]


def image_of(part: dict[str, Any]) -> str | None:
    """Base64 of an image as clients of OpenAI or Anthropic write it; None for a text."""
    if part["type"] == "image":
        return str(part["source"]["data"])
    return None if part["type"] == "text" else str(part["image_url"]["url"].split(",", 1)[1])


def generated(content: str) -> tuple[int, dict[str, Any]]:
    """A reply as Google's service gives it."""
    candidate = {"content": {"role": "model", "parts": [{"text": content}]}, "finishReason": "STOP"}
    return 200, {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "m",
    }


def completion(content: str | None, **choice: Any) -> tuple[int, dict[str, Any]]:
    message = {"role": "assistant", "content": content}
    return 200, {
        "id": "x", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip
