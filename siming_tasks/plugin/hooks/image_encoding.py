"""Stored frames on their way out: sent as they are, where lmms-eval's backends would encode them again.

lmms-eval 0.7.3 sends every image as PNG unless an environment variable of the whole process says otherwise, which would
change other tasks of the same run too. During a run of our tasks, the functions that encode treat
:class:`~siming_tasks.media.StoredImage` differently and all other images as ever:

* ``ChatMessages`` (``openai``, ``async_openai``, ``litellm``, vLLM's chat backend): the run's encoding, under its own
  media type.
* ``gemini``: the same; it knows PNG only.
* ``claude``: encodes to JPEG, for which our images give their stored bytes; but it also makes a PNG of each to compare
  its size with the service's limit. The limit concerns what is sent.

Where lmms-eval has changed, nothing is done: its own way is correct, only heavier, and the record says what was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from siming_tasks.media import StoredImage
from siming_tasks.plugin import compat

__all__ = ["stored_images_sent"]


@contextmanager
def stored_images_sent() -> Iterator[None]:
    """While the block runs, stored frames are sent as they are by those of the modules above that are imported."""
    with ExitStack() as stack:
        for wraps in (_CHAT_MESSAGES, _GEMINI, _CLAUDE):
            if all(compat.is_imported(compat.TOUCH_POINTS[name].module) for name in wraps):
                stack.enter_context(compat.replaced(wraps))
        yield


def _encode_later(encode_image: Callable[..., Any]) -> Callable[..., Any]:
    def encode_unless_stored(self: Any, image: Any, *args: Any, **kwargs: Any) -> Any:
        # the finished message gets the image, because the media type is decided there
        return "" if isinstance(image, StoredImage) else encode_image(self, image, *args, **kwargs)

    return encode_unless_stored


def _put_into_message(convert: Callable[..., Any]) -> Callable[..., Any]:
    def convert_with_stored_images(self: Any, *args: Any, **kwargs: Any) -> Any:
        messages = convert(self, *args, **kwargs)
        for message, source in zip(messages, self.messages, strict=True):
            images = [part.url for part in source.content if part.type == "image"]
            if any(isinstance(image, StoredImage) for image in images):
                parts = [part["image_url"] for part in message["content"] if part["type"] == "image_url"]
                for part, image in zip(parts, images, strict=True):
                    if isinstance(image, StoredImage):
                        part["url"] = image.data_url()
        return messages

    return convert_with_stored_images


def _gemini_bytes(image_to_bytes: Callable[..., Any]) -> Callable[..., Any]:
    def bytes_unless_stored(img: Any, fmt: str = "PNG") -> Any:
        return b"" if isinstance(img, StoredImage) else image_to_bytes(img, fmt)

    return bytes_unless_stored


def _gemini_contents(convert: Callable[..., Any]) -> Callable[..., Any]:
    def convert_with_stored_images(chat_messages: Any, upload_fn: Any, system_parts: Any) -> Any:
        contents = convert(chat_messages, upload_fn, system_parts)
        sources = [message for message in chat_messages.messages if message.role != "system" and message.content]
        for content, source in zip(contents, sources, strict=True):
            for part, item in zip(content.parts, source.content, strict=True):
                if item.type == "image" and isinstance(item.url, StoredImage):
                    encoding, data = item.url.encoded()
                    part.inline_data.mime_type, part.inline_data.data = encoding.mime, data
        return contents

    return convert_with_stored_images


def _claude_size(get_image_size: Callable[..., Any]) -> Callable[..., Any]:
    def size_as_sent(self: Any, image: Any) -> Any:
        return len(image.as_jpeg()) if isinstance(image, StoredImage) else get_image_size(self, image)

    return size_as_sent


_CHAT_MESSAGES = {
    "lmms_eval.protocol:ChatMessages.encode_image": _encode_later,
    "lmms_eval.protocol:ChatMessages.to_openai_messages": _put_into_message,
    "lmms_eval.protocol:ChatMessages.to_qwen3_vl_openai_messages": _put_into_message,
}
_GEMINI = {
    "lmms_eval.models.chat.gemini:_image_to_bytes": _gemini_bytes,
    "lmms_eval.models.chat.gemini:_chat_messages_to_gemini_contents": _gemini_contents,
}
_CLAUDE = {"lmms_eval.models.simple.claude:Claude.get_image_size": _claude_size}
