"""The frames that reach a backend are the store's, whatever the backend; and what lmms-eval does to a video item."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from siming_tasks.common.errors import OptionsError
from siming_tasks.data import open_dataset
from siming_tasks.media import backends, view
from siming_tasks.options import Options
from siming_tasks.plugin.hooks import doc_to_messages, doc_to_text, doc_to_visual
from siming_tasks.plugin.hooks.run_context import RUN

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]  # warnings of the host's own imports

FRAMES = 128


@pytest.fixture(params=["full", "clip"])
def doc(request: Any, short_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("SIMING_CACHE", str(tmp_path))
    monkeypatch.setenv("SIMING_FRAMES", str(FRAMES))
    monkeypatch.delenv("SIMING_MEDIA", raising=False)
    RUN.begin()
    video = open_dataset(short_demo).videos[0]
    step = "" if request.param == "full" else next(s.step_id for s in video.applicable if s.span)
    parts = [f"{request.param}_score", video.video_id, *([step] if step else [])]
    return {"id": "/".join(parts), "setting": parts[0], "video_id": parts[1], "step_id": step, "root": str(short_demo)}


def store_frames(doc: dict[str, str]) -> list[np.ndarray]:
    dataset = open_dataset(doc["root"])
    video = dataset.video(doc["video_id"])
    span = video.step(doc["step_id"]).span if doc["step_id"] else None
    shown = view(
        dataset.media_path(video), digest=dataset.media_digest(video), span=span,
        frames=16 if span else FRAMES, mode="frames", cache=Options.from_env().cache_dir,
    )  # fmt: skip
    return [np.asarray(image) for image in shown.images()]


def decoded(messages: list[dict[str, Any]]) -> list[np.ndarray]:
    urls = [part["image_url"]["url"] for part in messages[0]["content"] if part["type"] == "image_url"]
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(url.split(",", 1)[1])))) for url in urls]


def equal(ours: list[np.ndarray], theirs: list[np.ndarray]) -> bool:
    return len(ours) == len(theirs) and all(map(np.array_equal, ours, theirs))


def test_chat_backends_get_the_stores_frames(doc: dict[str, str]) -> None:
    from lmms_eval.protocol import ChatMessages

    expected = store_frames(doc)
    messages = doc_to_messages(doc, {"media": "frames"})
    chat = ChatMessages(messages=messages)
    assert equal(expected, [np.asarray(image) for image in chat.extract_media()[0]])  # Hugging Face models
    assert equal(expected, decoded(chat.to_openai_messages({"nframes": 8})))  # openai, async_openai, litellm, vllm
    captions = [part["text"] for part in messages[0]["content"] if part["type"] == "text"]
    assert len(captions) == len(expected) + 1 and captions[0] == "Frame at 0.0 s:"
    kinds = [part["type"] for part in messages[0]["content"]]
    assert kinds == ["text", "image"] * len(expected) + ["text"]


def test_qwen_prepares_the_stores_frames(doc: dict[str, str]) -> None:
    from lmms_eval.protocol import ChatMessages
    from qwen_vl_utils import process_vision_info

    height, width = 56, 84  # multiples of 28, so that its resizing is one that we can repeat
    limits = {"resized_height": height, "resized_width": width}
    hugging = ChatMessages(messages=doc_to_messages(doc, {"media": "frames"})).to_hf_messages(image_kwargs=limits)
    images, videos = process_vision_info(hugging)
    expected = [np.asarray(Image.fromarray(frame).resize((width, height))) for frame in store_frames(doc)]
    assert videos is None
    assert equal(expected, [np.asarray(image) for image in images])


def test_simple_models_get_the_same(doc: dict[str, str]) -> None:
    assert equal(store_frames(doc), [np.asarray(image) for image in doc_to_visual(doc, {"media": "frames"})])
    text = doc_to_text(doc, {"media": "frames"})
    count = len(store_frames(doc))
    assert text.startswith(
        f"The {count} images above are frames of the video in order; the time of each, in seconds, is 0.0, "
    )
    (path,) = doc_to_visual(doc, {"media": "video"})
    assert path.endswith(".mp4") and Path(path).is_file()
    assert doc_to_text(doc, {"media": "video"}) == text.split("\n\n", 1)[1]


def test_messages_are_fresh_lists(doc: dict[str, str]) -> None:
    first, second = (doc_to_messages(doc, {"media": "frames"}) for _ in range(2))
    first[0]["content"].clear()
    assert second[0]["content"] and doc_to_messages(doc, {"media": "frames"})[0]["content"]


@pytest.mark.parametrize("doc", ["full"], indirect=True)
def test_lmms_eval_corrupts_a_video_item_and_we_refuse_that_way(
    doc: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stock conversion sends frames more than once; if a later lmms-eval mends it, the refusal can go."""
    from lmms_eval.protocol import ChatMessages
    from qwen_vl_utils import fetch_video

    (path,) = doc_to_visual(doc, {"media": "video"})
    truth = [
        frame.permute(1, 2, 0).numpy().astype(np.uint8) for frame in fetch_video({"video": path, "nframes": FRAMES})
    ]
    stock = ChatMessages(messages=[{"role": "user", "content": [{"type": "video", "url": path}]}])
    sent = decoded(stock.to_openai_messages({"nframes": FRAMES}))
    assert len(sent) == len(truth)
    wrong = sum(not np.array_equal(a, b) for a, b in zip(sent, truth, strict=True))
    assert wrong > 0
    for media in ("video", "proxy"):
        monkeypatch.setenv("SIMING_MEDIA", media)
        RUN.begin()
        words = f"SIMING_MEDIA={media}: .* replaces frames of a video by older ones"
        with RUN.evaluating(backends()["chat.openai"]), pytest.raises(OptionsError, match=words):
            doc_to_messages(doc)


def test_a_proxy_holds_the_frames_of_frames_mode(doc: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every frame of the short file is nearer to its own stored frame than to any other of those shown."""
    expected = store_frames(doc)
    monkeypatch.setenv("SIMING_MEDIA", "proxy")
    RUN.begin()
    (path,) = doc_to_visual(doc, {"media": "frames"})
    with av.open(path) as file:
        decoded = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
    assert len(decoded) == len(expected) > 4
    sparse = [
        [frame[::4, ::4].astype(float) for frame in side] for side in (decoded, expected)
    ]  # 128 x 128 comparisons
    errors = np.array([[np.abs(a - b).mean() for b in sparse[1]] for a in sparse[0]])
    assert (errors.diagonal() < 4).all()
    assert (errors.diagonal() <= errors.min(axis=1) + 0.5).all()
