"""Requests in the formats of other harnesses; their media as data URLs or as files beside the requests."""

from __future__ import annotations

import base64
import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.common.files import atomic_path, atomic_write, sha256_file
from siming_tasks.media import StoredImage
from siming_tasks.plugin.hooks.messages import doc_to_messages, doc_to_text, doc_to_visual
from siming_tasks.plugin.hooks.run_context import Doc

__all__ = ["REQUEST_FORMATS", "InlineMedia", "MediaFolder"]


@dataclass(frozen=True)
class InlineMedia:
    """Media inside the requests, as ``data:`` URLs."""

    def image(self, image: StoredImage) -> str:
        """One frame, in the run's encoding."""
        return image.data_url()

    def file(self, path: str) -> str:
        """A video file."""
        return f"data:video/mp4;base64,{base64.b64encode(Path(path).read_bytes()).decode('ascii')}"


@dataclass(frozen=True)
class MediaFolder:
    """Media in a folder beside the requests, each once under the digest of its content; named relative to them."""

    folder: Path

    def image(self, image: StoredImage) -> str:
        """One frame, in the run's encoding."""
        encoding, data = image.encoded()
        suffix = "jpg" if encoding.format == "jpeg" else encoding.format
        target = self.folder / f"{hashlib.sha256(data).hexdigest()[:32]}.{suffix}"
        if not target.is_file():
            with atomic_write(target, "wb") as stream:
                stream.write(data)
        return f"{self.folder.name}/{target.name}"

    def file(self, path: str) -> str:
        """A video file."""
        target = self.folder / f"{sha256_file(Path(path))[:32]}{Path(path).suffix}"
        if not target.is_file():
            with atomic_path(target) as part:
                shutil.copyfile(path, part)
        return f"{self.folder.name}/{target.name}"


Place = InlineMedia | MediaFolder


def _openai(doc: Doc, place: Place) -> dict[str, Any]:
    def image(url: str) -> dict[str, Any]:
        return {"type": "image_url", "image_url": {"url": url}}

    def video(url: str) -> dict[str, Any]:
        return {"type": "video_url", "video_url": {"url": url}}

    return _chat(doc, place, image, video)


def _qwen(doc: Doc, place: Place) -> dict[str, Any]:
    def image(url: str) -> dict[str, Any]:
        return {"type": "image", "image": url}

    def video(url: str) -> dict[str, Any]:
        return {"type": "video", "video": url}

    return _chat(doc, place, image, video)


_Part = Callable[[str], dict[str, Any]]


def _chat(doc: Doc, place: Place, image: _Part, video: _Part) -> dict[str, Any]:
    """The turns of chat models: each frame after its time, the prompt last."""

    def part(content: Mapping[str, Any]) -> dict[str, Any]:
        if content["type"] == "text":
            return dict(content)
        return image(place.image(content["url"])) if content["type"] == "image" else video(place.file(content["url"]))

    return {
        "messages": [
            {"role": turn["role"], "content": [part(content) for content in turn["content"]]}
            for turn in doc_to_messages(doc)
        ]
    }


def _plain(doc: Doc, place: Place) -> dict[str, Any]:
    """The request of simple models: all media, then one text that tells the frames' times."""
    media = doc_to_visual(doc)
    shown: dict[str, Any] = (
        {"video": place.file(media[0])}
        if media and isinstance(media[0], str)
        else {"images": [place.image(item) for item in media]}
    )
    return {**shown, "text": doc_to_text(doc)}


REQUEST_FORMATS: Mapping[str, Callable[[Doc, Place], dict[str, Any]]] = {
    "openai": _openai,
    "qwen": _qwen,
    "plain": _plain,
}
"""By name, how a request is worded: as the OpenAI API takes it, as Qwen's processors do, or as media and one text."""
