"""Frames that are freed after they are encoded must not lend their encoding to the next frame at their address."""

import base64
from io import BytesIO
from pathlib import Path

import av
import numpy as np
from PIL import Image
from qwen_vl_utils import fetch_video

from lmms_eval.models.model_utils.media_encoder import encode_image_to_base64
from lmms_eval.protocol import ChatMessages

FRAMES = 128


def _pixels(data: str) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(base64.b64decode(data))))


def test_every_image_has_its_own_encoding() -> None:
    cache: dict = {}
    seen = []
    for value in range(FRAMES):
        image = Image.new("RGB", (8, 8), (value, 0, 0))
        seen.append(int(_pixels(encode_image_to_base64(image, cache=cache))[0, 0, 0]))
    assert encode_image_to_base64(image, cache=cache) is encode_image_to_base64(image, cache=cache), "nothing is cached"
    assert seen == list(range(FRAMES)), "an image was encoded as an earlier one"


def _video(path: Path) -> str:
    """A video whose frames all differ: its brightness rises from frame to frame."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 112
        stream.pix_fmt = "yuv420p"
        for value in range(FRAMES):
            frame = av.VideoFrame.from_ndarray(np.full((112, 112, 3), 2 * value, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return str(path)


def test_a_video_is_sent_frame_by_frame(tmp_path: Path) -> None:
    video = _video(tmp_path / "rising.mp4")
    size = {"nframes": FRAMES, "resized_height": 112, "resized_width": 112}
    messages = ChatMessages(messages=[{"role": "user", "content": [{"type": "video", "url": video}]}])
    (message,) = messages.to_openai_messages(size)
    sent = [_pixels(part["image_url"]["url"].partition(",")[2]) for part in message["content"]]
    given = [frame.permute(1, 2, 0).numpy().astype(np.uint8) for frame in fetch_video({"type": "video", "video": video, **size})]
    assert len(sent) == len(given) == FRAMES
    wrong = sum(not np.array_equal(a, b) for a, b in zip(sent, given))
    assert not wrong, f"frames sent in place of others: {wrong} of {FRAMES}"
