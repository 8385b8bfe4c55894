"""Our images on their way out: what lmms-eval's backends make of them, where they would waste or spoil them.

lmms-eval 0.7.3 sends every image as PNG unless an environment variable of the whole process says otherwise, which would
change other people's tasks of the same run too. So the three places that encode are told about
:class:`~siming_tasks.media.StoredImage`, and do with all other images what they always did:

* ``ChatMessages`` (``openai``, ``async_openai``, ``litellm``, vLLM's chat backend): the run's encoding, under its own
  media type.
* ``gemini``: the same; it knows PNG only.
* ``claude``: encodes to JPEG, for which our images give their stored bytes; but it also makes a PNG of each to see
  whether that is below the service's limit. The limit concerns what is sent.

Where lmms-eval has changed, nothing is done: its own way is correct, only heavier, and the record says what was sent.
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
from collections.abc import Callable
from threading import Lock
from typing import Any

from siming_tasks.media import StoredImage

__all__ = ["help_the_host"]

logger = logging.getLogger(__name__)

_LOCK = Lock()
_HELPED: set[str] = set()


def help_the_host() -> None:
    """Teach those of the modules above that this process has loaded; called with every request, does nothing twice."""
    if all(name in _HELPED or name not in sys.modules for name in _HELP):
        return
    with _LOCK:
        for name, help_it in _HELP.items():
            if name in sys.modules and name not in _HELPED:
                _HELPED.add(name)
                try:
                    help_it(sys.modules[name])
                except Exception as error:  # noqa: BLE001 - a host that changed still sends images in its own way
                    logger.warning("Images are sent as %s encodes them (%s).", name, error)


def _expect(function: Callable[..., Any], *names: str) -> None:
    found = list(inspect.signature(function).parameters)
    if found != list(names):
        raise RuntimeError(f"{getattr(function, '__qualname__', function)} takes {found}, expected {list(names)}")


def _chat_messages(module: Any) -> None:
    messages = module.ChatMessages
    encode, plain, qwen = messages.encode_image, messages.to_openai_messages, messages.to_qwen3_vl_openai_messages
    _expect(encode, "self", "image", "cache", "image_format", "quality")
    _expect(plain, "self", "video_kwargs", "pass_video_url")
    _expect(qwen, "self", "video_kwargs")

    @functools.wraps(encode)
    def encode_image(self: Any, image: Any, *arguments: Any, **named: Any) -> Any:
        return "" if isinstance(image, StoredImage) else encode(self, image, *arguments, **named)  # put in below

    def finished(convert: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(convert)
        def converted(self: Any, *arguments: Any, **named: Any) -> Any:
            found = convert(self, *arguments, **named)
            for message, source in zip(found, self.messages, strict=True):
                images = [part.url for part in source.content if part.type == "image"]
                if any(isinstance(image, StoredImage) for image in images):
                    parts = [part["image_url"] for part in message["content"] if part["type"] == "image_url"]
                    for part, image in zip(parts, images, strict=True):
                        if isinstance(image, StoredImage):
                            part["url"] = image.data_url()
            return found

        return converted

    messages.encode_image = encode_image
    messages.to_openai_messages, messages.to_qwen3_vl_openai_messages = finished(plain), finished(qwen)


def _gemini(module: Any) -> None:
    contents, to_bytes = module._chat_messages_to_gemini_contents, module._image_to_bytes
    _expect(contents, "chat_messages", "upload_fn", "system_parts")
    _expect(to_bytes, "img", "fmt")

    def image_to_bytes(img: Any, fmt: str = "PNG") -> Any:
        return b"" if isinstance(img, StoredImage) else to_bytes(img, fmt)

    @functools.wraps(contents)
    def converted(chat_messages: Any, upload_fn: Any, system_parts: Any) -> Any:
        found = contents(chat_messages, upload_fn, system_parts)
        sources = [message for message in chat_messages.messages if message.role != "system" and message.content]
        for content, source in zip(found, sources, strict=True):
            for part, item in zip(content.parts, source.content, strict=True):
                if item.type == "image" and isinstance(item.url, StoredImage):
                    encoding, data = item.url.encoded()
                    part.inline_data.mime_type, part.inline_data.data = encoding.mime, data
        return found

    module._image_to_bytes, module._chat_messages_to_gemini_contents = image_to_bytes, converted


def _claude(module: Any) -> None:
    size = module.Claude.get_image_size
    _expect(size, "self", "image")

    @functools.wraps(size)
    def get_image_size(self: Any, image: Any) -> Any:
        return len(image.as_jpeg()) if isinstance(image, StoredImage) else size(self, image)

    module.Claude.get_image_size = get_image_size


_HELP: dict[str, Callable[[Any], None]] = {
    "lmms_eval.protocol": _chat_messages,
    "lmms_eval.models.chat.gemini": _gemini,
    "lmms_eval.models.simple.claude": _claude,
}
