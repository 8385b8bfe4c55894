"""Failures of reading a video or a picture that a model class hides, and after which it answers without it.

Several classes of lmms-eval catch the error of their reader, write a line to the log and ask their model without
pictures, or with black ones: a score of nothing that looks like any other. ``unread`` in ``media/backends.yaml`` marks
them. While such a class works, its readers are listened to.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

READERS = ("read_video", "load_video", "encode_video", "_encode_image_data_url")
"""Functions of lmms-eval's modules and classes that read a file or encode a picture."""


@contextmanager
def unread_media(model: Any) -> Iterator[list[str]]:
    """While the block runs, note the errors of a model's readers, which are raised as before.

    Readers are ``decord.VideoReader``, whatever module took it from there, and :data:`READERS` of the class's modules.
    """
    errors: list[str] = []
    modules = [sys.modules[base.__module__] for base in type(model).__mro__ if ".models." in base.__module__]
    places = [(owner, name) for owner in (*modules, *type(model).__mro__) for name in READERS if name in vars(owner)]
    if decord := sys.modules.get("decord"):
        places += [(decord.VideoReader, "__init__"), (decord.VideoReader, "get_batch")]
    with ExitStack() as stack:
        for owner, name in places:
            if callable(read := vars(owner)[name]):
                stack.enter_context(patch.object(owner, name, _noting(read, errors)))
        yield errors


def _noting(read: Callable[..., Any], errors: list[str]) -> Callable[..., Any]:
    @functools.wraps(read)
    def reader(*args: Any, **kwargs: Any) -> Any:
        try:
            return read(*args, **kwargs)
        except Exception as error:
            errors.append(f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}")
            raise

    return reader
