"""Cost of images on their way to a service: from stored frames to the body of a request.

    python utils/bench_image_encoding.py [--frames 64] [--repeats 3] [VIDEO]

On a generated recording (a textured room, a swaying camera, sensor noise; 1280 x 720) or one of your own, in
one run, in CPU seconds: lmms-eval's own conversion of image objects (PNG, and JPEG by its environment variable), and
ours, each from files of a warm store to the JSON that is posted. Weights are those of the JSON: base64 included.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench_media import generate
from PIL import Image

from siming_tasks.media import Budget, Encoding, View, view
from siming_tasks.plugin.hooks.messages import stored_images_sent


def body(images: list[Image.Image]) -> bytes:
    """The request as a client of an OpenAI-like service posts it."""
    from lmms_eval.protocol import ChatMessages

    content = [{"type": "image", "url": image} for image in images]
    messages = ChatMessages(messages=[{"role": "user", "content": content}]).to_openai_messages({})
    return json.dumps({"model": "m", "messages": messages}).encode()


def host(shown: View, form: str) -> bytes:
    """lmms-eval's own way, with plain images."""
    os.environ["LMMS_IMAGE_ENCODE_FORMAT"] = form
    return body(shown.images())


def ours(shown: View, encoding: str) -> bytes:
    """Images that know their files."""
    return body(shown.to_send(Encoding.of(encoding), decode=False)[0])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("video", type=Path, nargs="?")
    parser.add_argument("--frames", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        video = arguments.video or Path(folder, "photo.mp4")
        if not arguments.video:
            generate(video, seconds=12, rate=10)
        shown = view(video, span=None, budget=Budget(arguments.frames), cache=Path(folder))
        import lmms_eval.protocol  # noqa: F401 - not part of what is measured

        stack.enter_context(stored_images_sent())
        ways: dict[str, Callable[[], bytes]] = {
            "lmms-eval, PNG (its default)": lambda: host(shown, "PNG"),
            "lmms-eval, JPEG 85": lambda: host(shown, "JPEG"),
            "ours, stored files (default)": lambda: ours(shown, "jpeg"),
            "ours, jpeg75": lambda: ours(shown, "jpeg75"),
            "ours, webp80": lambda: ours(shown, "webp80"),
            "ours, png": lambda: ours(shown, "png"),
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        weights = {name: len(way()) for name, way in ways.items()}  # also warms the caches of the file system
        for _ in range(arguments.repeats):
            for name, way in ways.items():
                began = time.process_time()
                way()
                seconds[name].append(time.process_time() - began)
        width, height = shown.images()[0].size
    whole = statistics.median(seconds["lmms-eval, PNG (its default)"])
    print(f"{len(shown.indices)} frames of {width} x {height}, medians of {arguments.repeats}")
    print(f"{'':32}{'CPU s':>8}{'ratio':>8}{'MB':>8}")
    for name in ways:
        median = statistics.median(seconds[name])
        print(f"{name:32}{median:8.3f}{median / whole:8.4f}{weights[name] / 1e6:8.1f}")


if __name__ == "__main__":
    main()
