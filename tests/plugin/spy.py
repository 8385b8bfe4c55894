"""lmms-eval's command, with what a model really receives written down: all that a processor of pictures is given.

One line of JSON for each call of an image or video processor and of ``generate``, into the file ``SPY_LOG``. Nothing is
changed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

THUMB = (48, 27)


def thumb(picture: Any) -> list[int]:
    """A picture as 27 rows of 48 grey values, whatever its size."""
    if not isinstance(picture, Image.Image):
        array = np.asarray(picture.float() if hasattr(picture, "float") else picture, dtype=float)
        array = np.moveaxis(array, 0, -1) if array.shape[0] == 3 else array
        picture = Image.fromarray(array.clip(0, 255).astype(np.uint8))
    return np.asarray(picture.convert("L").resize(THUMB, Image.Resampling.BOX)).ravel().tolist()


def flat(media: Any) -> Iterator[Any]:
    """Single pictures in nested lists, films and arrays of them."""
    if isinstance(media, list | tuple) or (not isinstance(media, Image.Image) and getattr(media, "ndim", 3) > 3):
        for item in media:
            yield from flat(item)
    elif media is not None:
        yield media


def note(**facts: Any) -> None:
    with Path(os.environ["SPY_LOG"]).open("a") as stream:
        stream.write(json.dumps(facts) + "\n")


def watch(kind: str, owner: Any) -> None:
    call = owner.__call__

    def spied(self: Any, media: Any = None, *args: Any, **kwargs: Any) -> Any:
        inputs = kwargs.get(kind) if media is None else media
        note(kind=kind, thumbs=[thumb(item) for item in flat(inputs)])
        return call(self, *(() if media is None else (media,)), *args, **kwargs)

    owner.__call__ = spied


def watch_generate(owner: Any) -> None:
    generate = owner.generate

    def spied(self: Any, *args: Any, **kwargs: Any) -> Any:
        note(kind="generate", tensors=[name for name, value in kwargs.items() if hasattr(value, "shape")])
        return generate(self, *args, **kwargs)

    owner.generate = spied


if __name__ == "__main__":
    from lmms_eval.cli.dispatch import main
    from transformers.generation.utils import GenerationMixin
    from transformers.image_processing_utils import BaseImageProcessor
    from transformers.video_processing_utils import BaseVideoProcessor

    watch("images", BaseImageProcessor)
    watch("videos", BaseVideoProcessor)
    watch_generate(GenerationMixin)
    sys.argv[0] = "lmms-eval"
    main()
