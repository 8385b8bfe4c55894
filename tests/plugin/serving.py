"""A service on loopback that decodes every image it is sent, for the clients of OpenAI, Google and Anthropic."""

import base64
import hashlib
import io
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from PIL import Image


def pixels(image: Image.Image) -> str:
    return hashlib.sha256(image.convert("RGB").tobytes()).hexdigest()


class Server(ThreadingHTTPServer):
    """A service; ``answer(images, text, n)`` gives status, body and maybe headers, or None to drop the connection."""

    daemon_threads = True

    def __init__(self, answer: Callable[[tuple[str, ...], str, int], tuple[Any, ...] | None], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.answer, self.received, self.lock = answer, [], threading.Lock()
        self.options: list[dict[str, Any]] = []
        """Path of each request, its ``images`` and ``sounds`` (media type, bytes), and the fields of its body besides
        the messages."""
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
        return f"http://127.0.0.1:{self.port}/v1"

    def stands_for(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have the clients of ``gemini`` or ``claude`` ask here, who take the address from the environment."""
        address = {"gemini": "GOOGLE_GEMINI_BASE_URL", "claude": "ANTHROPIC_BASE_URL"}[name]
        monkeypatch.setenv(address, self.url.removesuffix("/v1"))
        monkeypatch.setenv("GOOGLE_API_KEY" if name == "gemini" else "ANTHROPIC_API_KEY", "k")
        for variable in ("NO_PROXY", "no_proxy"):
            monkeypatch.setenv(variable, "127.0.0.1")


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        parts = list(parts_of(body))
        images, sounds = (
            [(kind, base64.b64decode(data)) for kind, data in parts if kind.startswith(start)]
            for start in ("image", "audio")
        )
        forms = {kind.partition("#")[2] for kind, _ in parts if kind.startswith("audio")}
        texts = tuple(data for kind, data in parts if kind == "text")
        shown = tuple(pixels(Image.open(io.BytesIO(data))) for _, data in images)
        with self.server.lock:
            number = len(self.server.received)
            self.server.received.append((shown, texts))
            self.server.options.append({"path": self.path, "images": images, "sounds": sounds, "forms": forms, **body})
        reply = self.server.answer(shown, texts[-1], number)
        if reply is None:
            self.close_connection = True
            return
        status, content, *headers = reply
        payload = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in (headers[0] if headers else {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: Any) -> None:
        pass


def parts_of(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """``text`` or a media type, and the text or base64, of each part of the messages, which leave the body.

    That of a sound has the form behind it in which it came: ``audio/wav#input_audio``.
    """
    if "contents" in body:
        (message,) = body.pop("contents")
        plain = str.maketrans("-_", "+/")  # Google's clients write what is safe in an address
        for part in message["parts"]:
            data = part.get("inlineData")
            yield (data["mime_type"], data["data"].translate(plain)) if data else ("text", part.get("text", ""))
        return
    for message in body.pop("messages"):
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            match part:
                case {"type": "text", "text": text}:
                    yield "text", text
                case {"type": "image", "source": source}:
                    yield source["media_type"], source["data"]
                case {"type": "input_audio", "input_audio": {"data": data}}:
                    yield "audio/wav#input_audio", data
                case {"type": "image_url" | "audio_url" as form}:
                    kind, data = part[form]["url"].removeprefix("data:").split(";base64,", 1)
                    yield kind + f"#{form}" * (form == "audio_url"), data


def generated(content: str) -> tuple[int, dict[str, Any]]:
    candidate = {"content": {"role": "model", "parts": [{"text": content}]}, "finishReason": "STOP"}
    return 200, {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": "m",
    }


def message(*content: dict[str, Any], stop: str = "end_turn") -> tuple[int, dict[str, Any]]:
    """An answer of Anthropic's service, of 7 tokens in and 11 out."""
    return 200, {
        "id": "x", "type": "message", "role": "assistant", "model": "m", "stop_reason": stop, "content": list(content),
        "usage": {"input_tokens": 7, "output_tokens": 11},
    }  # fmt: skip


def completion(content: str | None, **choice: Any) -> tuple[int, dict[str, Any]]:
    said = {"role": "assistant", "content": content}
    return 200, {
        "id": "x", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "message": said, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip
