"""Images sent to a service by lmms-eval's classes: the stored files, under their own media type."""

import base64
import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from siming_tasks.data import open_dataset
from siming_tasks.media import view
from siming_tasks.options import Options
from siming_tasks.plugin.hooks import doc_to_messages, doc_to_text, doc_to_visual
from siming_tasks.plugin.hooks.messages import stored_images_sent
from siming_tasks.plugin.run_context import current_run
from tests.plugin.hooks.conftest import build, record
from tests.plugin.serving import Server, message

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]  # warnings of the host's own imports

FRAMES = 24


@pytest.fixture
def doc(short_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("SIMING_DATA", str(short_demo))
    monkeypatch.setenv("SIMING_CACHE", str(tmp_path))
    monkeypatch.setenv("SIMING_FRAMES", str(FRAMES))
    monkeypatch.setenv("LMMS_IMAGE_ENCODE_FORMAT", "PNG")  # changes nothing here
    video = open_dataset(short_demo).videos[0].video_id
    ids = {"id": f"full_score/{video}", "setting": "full_score", "video_id": video, "step_id": ""}
    return ids


def stored(doc: dict[str, str]) -> list[tuple[str, bytes]]:
    """Media type and bytes of the stored frames that a document shows, in order."""
    dataset = current_run().dataset
    video = dataset.video(doc["video_id"])
    path, digest = dataset.media_path(video), dataset.media_digest(video)
    shown = view(path, digest=digest, span=None, frames=FRAMES, cache=Options.from_env().cache_dir)
    return [("image/jpeg", path.read_bytes()) for path in shown.files()]


def sent_by_chat(messages: list[dict[str, Any]]) -> list[tuple[str, bytes]]:
    urls = [part["image_url"]["url"] for part in messages[0]["content"] if part["type"] == "image_url"]
    return [(url[5 : url.index(";")], base64.b64decode(url.split(",", 1)[1])) for url in urls]


def of_others() -> tuple[Image.Image, Any]:
    from lmms_eval.protocol import ChatMessages

    image = Image.effect_noise((64, 48), 60).convert("RGB")
    return image, ChatMessages(messages=[{"role": "user", "content": [{"type": "image", "url": image}]}])


@pytest.mark.parametrize("way", ["to_openai_messages", "to_qwen3_vl_openai_messages"])
def test_chat_backends_send_the_stored_files(doc: dict[str, str], way: str) -> None:
    from lmms_eval.protocol import ChatMessages

    expected = stored(doc)
    assert len(set(expected)) == FRAMES
    with stored_images_sent():
        messages = getattr(ChatMessages(messages=build(doc_to_messages, doc)), way)({"nframes": 8})
        image, other = of_others()
        ((kind, data),) = sent_by_chat(getattr(other, way)({}))
    assert sent_by_chat(messages) == expected
    assert [part["type"] for part in messages[0]["content"]] == ["text", "image_url"] * FRAMES + ["text"]
    media = record(doc)["media"]
    assert (media["encoding"], media["bytes"]) == ("jpeg90", sum(len(data) for _, data in expected))
    # images that are not ours are sent as ever
    assert kind == "image/png" and np.array_equal(np.asarray(Image.open(io.BytesIO(data))), np.asarray(image))


def test_gemini_is_sent_the_stored_files(doc: dict[str, str]) -> None:
    pytest.importorskip("google.genai")
    from lmms_eval.models.chat import gemini
    from lmms_eval.protocol import ChatMessages

    messages = ChatMessages(messages=build(doc_to_messages, doc))
    with stored_images_sent():
        (content,) = gemini._chat_messages_to_gemini_contents(messages, None, [])  # called as its class calls it
        (other,) = gemini._chat_messages_to_gemini_contents(of_others()[1], None, [])
    images = [part.inline_data for part in content.parts if part.inline_data]
    assert [(image.mime_type, image.data) for image in images] == stored(doc)
    second = messages.messages[0].content[2].text
    assert [part.text for part in content.parts][:3:2] == ["Frame at 0.0 s:", second]
    assert record(doc)["media"]["encoding"] == "jpeg90"
    assert other.parts[0].inline_data.mime_type == "image/png" and other.parts[0].inline_data.data[:4] == b"\x89PNG"


def test_claude_is_sent_the_stored_files(
    doc: dict[str, str], serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its class encodes to JPEG of quality 85 (a second loss), after a PNG of each image for its size."""
    pytest.importorskip("anthropic")
    from lmms_eval.models.simple.claude import Claude

    server = serve(lambda *_: message({"type": "text", "text": "{}"}))
    server.stands_for("claude", monkeypatch)
    model = Claude(model_version="m")
    model.task_dict = {"task": {"test": [doc]}}
    arguments = (
        doc_to_text(doc),
        {"max_new_tokens": 16},
        lambda document: build(doc_to_visual, document),
        0,
        "task",
        "test",
    )
    with stored_images_sent():
        (reply,) = model.generate_until([SimpleNamespace(args=arguments)])
    assert reply.text == "{}"
    assert server.options[0]["images"] == stored(doc)
    assert record(doc)["media"]["encoding"] == "jpeg90"
