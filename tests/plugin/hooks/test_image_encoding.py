"""Images sent to a service by lmms-eval's classes: the stored files, under their own media type."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from siming_tasks.data import open_dataset
from siming_tasks.media import View, view
from siming_tasks.options import Options
from siming_tasks.plugin.hooks import doc_to_messages, doc_to_text, doc_to_visual, process_results
from siming_tasks.plugin.hooks.messages import stored_images_sent
from siming_tasks.plugin.hooks.run_context import RUN

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]  # warnings of the host's own imports

FRAMES = 24


@pytest.fixture
def doc(short_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("SIMING_CACHE", str(tmp_path))
    monkeypatch.setenv("SIMING_FRAMES", str(FRAMES))
    monkeypatch.delenv("SIMING_MEDIA", raising=False)
    monkeypatch.setenv("LMMS_IMAGE_ENCODE_FORMAT", "PNG")  # changes nothing here
    RUN.begin()
    video = open_dataset(short_demo).videos[0].video_id
    return {
        "id": f"full_score/{video}",
        "setting": "full_score",
        "video_id": video,
        "step_id": "",
        "root": str(short_demo),
    }


def stored(doc: dict[str, str]) -> list[bytes]:
    """The files of the frames that a document shows, in order."""
    dataset = open_dataset(doc["root"])
    video = dataset.video(doc["video_id"])
    media = view(
        dataset.media_path(video), digest=dataset.media_digest(video), span=None, frames=FRAMES,
        cache=Options.from_env().cache_dir,
    )  # fmt: skip
    return [media.store.path(index).read_bytes() for index in media.indices]


def sent_by_chat(messages: list[dict[str, Any]]) -> list[tuple[str, bytes]]:
    """Media type and bytes of each image of an OpenAI message."""
    urls = [part["image_url"]["url"] for part in messages[0]["content"] if part["type"] == "image_url"]
    return [(url[5 : url.index(";")], base64.b64decode(url.split(",", 1)[1])) for url in urls]


def record(doc: dict[str, str]) -> dict[str, Any]:
    return process_results(doc, ["{}"])["siming_stderr"]["media"]


@pytest.mark.parametrize("way", ["to_openai_messages", "to_qwen3_vl_openai_messages"])
def test_chat_backends_send_the_stored_files(doc: dict[str, str], way: str) -> None:
    from lmms_eval.protocol import ChatMessages

    expected = stored(doc)
    assert len(set(expected)) == FRAMES
    with stored_images_sent():
        messages = getattr(ChatMessages(messages=doc_to_messages(doc)), way)({"nframes": 8})
    assert sent_by_chat(messages) == [("image/jpeg", data) for data in expected]
    assert [part["type"] for part in messages[0]["content"]] == ["text", "image_url"] * FRAMES + ["text"]
    media = record(doc)
    assert (media["encoding"], media["bytes"]) == ("jpeg90", sum(map(len, expected)))


def test_images_that_are_not_ours_are_sent_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_eval.protocol import ChatMessages

    monkeypatch.delenv("LMMS_IMAGE_ENCODE_FORMAT", raising=False)
    image = Image.effect_noise((64, 48), 60).convert("RGB")
    other = ChatMessages(messages=[{"role": "user", "content": [{"type": "image", "url": image}]}])
    with stored_images_sent():
        ((kind, data),) = sent_by_chat(other.to_openai_messages({}))
    assert kind == "image/png" and np.array_equal(np.asarray(Image.open(io.BytesIO(data))), np.asarray(image))


def test_gemini_is_sent_the_stored_files(doc: dict[str, str]) -> None:
    pytest.importorskip("google.genai")
    from lmms_eval.models.chat import gemini
    from lmms_eval.protocol import ChatMessages

    expected = stored(doc)
    messages = ChatMessages(messages=doc_to_messages(doc))
    with stored_images_sent():
        (content,) = gemini._chat_messages_to_gemini_contents(messages, None, [])  # called as its class calls it
    images = [part.inline_data for part in content.parts if part.inline_data]
    assert [(image.mime_type, image.data) for image in images] == [("image/jpeg", data) for data in expected]
    assert [part.text for part in content.parts][:3:2] == ["Frame at 0.0 s:", doc_text(messages, 2)]
    assert record(doc)["encoding"] == "jpeg90"
    plain = {"role": "user", "content": [{"type": "image", "url": Image.new("RGB", (8, 8))}]}
    with stored_images_sent():
        (other,) = gemini._chat_messages_to_gemini_contents(ChatMessages(messages=[plain]), None, [])
    assert other.parts[0].inline_data.mime_type == "image/png" and other.parts[0].inline_data.data[:4] == b"\x89PNG"


def doc_text(messages: Any, place: int) -> str:
    return str(messages.messages[0].content[place].text)


@pytest.fixture
def anthropic_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """A service on loopback that says {} to every message, and what it was sent."""
    received: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps({
                "id": "x", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "{}"}], "usage": {"input_tokens": 1, "output_tokens": 1},
            }).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield received
    server.shutdown()
    server.server_close()


def test_claude_is_sent_the_stored_files(doc: dict[str, str], anthropic_service: list[Any]) -> None:
    """Its class encodes to JPEG of quality 85 (a second loss), after a PNG of each image for its size."""
    pytest.importorskip("anthropic")
    from lmms_eval.models.simple.claude import Claude

    expected = stored(doc)
    model = Claude(model_version="m")
    model.task_dict = {"task": {"test": [doc]}}
    arguments = (doc_to_text(doc), {"max_new_tokens": 16}, lambda document: doc_to_visual(document), 0, "task", "test")
    with stored_images_sent():
        (reply,) = model.generate_until([SimpleNamespace(args=arguments)])
    assert reply.text == "{}"
    (body,) = anthropic_service
    images = [part["source"] for part in body["messages"][0]["content"] if part["type"] == "image"]
    assert {image["media_type"] for image in images} == {"image/jpeg"}
    assert [base64.b64decode(image["data"]) for image in images] == expected
    assert record(doc)["encoding"] == "jpeg90"


def test_a_photographic_request_fits_where_the_hosts_own_does_not(photo_video: Path, tmp_path: Path) -> None:
    """64 frames of 896 x 504: below the limits of the known services as they are stored, above them as PNG."""
    from lmms_eval.protocol import ChatMessages

    shown: View = view(photo_video, span=None, frames=64, cache=tmp_path)

    def weight(images: list[Image.Image]) -> int:
        content = [{"type": "image", "url": image} for image in images]
        with stored_images_sent():
            return len(json.dumps(ChatMessages(messages=[{"role": "user", "content": content}]).to_openai_messages({})))

    ours, host = weight(shown.to_send(decode=False)[0]), 8 * weight(shown.images()[::8])
    assert ours < 20e6 < 50e6 < host
    assert host > 4 * ours
