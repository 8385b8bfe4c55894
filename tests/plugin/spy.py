"""lmms-eval's command, with what a model really receives written down: all that a processor of pictures is given.

One line of JSON for each call of an image, video or sound processor and of ``generate``, into the file ``SPY_LOG``.
Nothing is changed; with ``SPY_CPU`` what a class asks of a graphics card is done by the processor (some classes insist
on one). With ``SPY_OMNI`` (a folder of a tiny model) packages that read sound have stand-ins where they are not
installed, a processor that a class takes from the hub is that folder's, and a thinker thinks of four tokens.
"""

from __future__ import annotations

import hashlib
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


def watch_sound(owner: Any) -> None:
    """Samples that a sound processor is given, as they are in 16 bits."""
    call = owner.__call__

    def spied(self: Any, raw_speech: Any, *args: Any, **kwargs: Any) -> Any:
        pieces = raw_speech if isinstance(raw_speech, list) else [raw_speech]
        samples = np.rint(np.concatenate(pieces) * 32768.0).astype("<i2")
        note(kind="sound", pieces=len(pieces), sha256=hashlib.sha256(samples.tobytes()).hexdigest())
        return call(self, raw_speech, *args, **kwargs)

    owner.__call__ = spied


def omni(folder: str) -> None:
    """Stand-ins for packages, a processor without the hub, and short thoughts."""
    import transformers

    sys.path.insert(0, str(Path(__file__).parents[2] / "utils"))
    from stand_ins import packages
    from stand_ins.notes import Notes

    from siming_tasks.plugin import preflight

    packages.ABSENT = ("librosa", "moviepy", "qwen_omni_utils", "soundfile")
    packages.CURRENT.update(packages.names(Notes(), "twin", echoes=True))
    packages.installed()
    preflight._check_package = lambda *_: None
    load = transformers.Qwen2_5OmniProcessor.from_pretrained.__func__
    transformers.Qwen2_5OmniProcessor.from_pretrained = classmethod(lambda cls, *_, **how: load(cls, folder, **how))
    for owner in (transformers.Qwen2_5OmniForConditionalGeneration, transformers.Qwen3OmniMoeForConditionalGeneration):
        generate = owner.generate

        def short(self: Any, *args: Any, generate: Any = generate, **kwargs: Any) -> Any:
            return generate(self, *args, thinker_max_new_tokens=4, **kwargs)

        owner.generate = short


def watch_generate(owner: Any) -> None:
    generate = owner.generate

    def spied(self: Any, *args: Any, **kwargs: Any) -> Any:
        note(
            kind="generate",
            tensors={name: list(value.shape) for name, value in kwargs.items() if hasattr(value, "shape")},
        )
        return generate(self, *args, **kwargs)

    owner.generate = spied


def on_the_processor() -> None:
    """Send what is meant for a graphics card nowhere."""
    import torch
    from transformers import BatchFeature, PreTrainedModel

    def here(value: Any) -> Any:
        return "cpu" if str(value).startswith("cuda") else value

    for owner in (torch.Tensor, torch.nn.Module, BatchFeature):
        old = owner.to

        def to(self: Any, *args: Any, old: Any = old, **kwargs: Any) -> Any:
            return old(self, *map(here, args), **{name: here(value) for name, value in kwargs.items()})

        owner.to = to
    load = PreTrainedModel.from_pretrained.__func__

    def from_pretrained(cls: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs.update(device_map="cpu", attn_implementation="sdpa")
        return load(cls, *args, **kwargs)

    PreTrainedModel.from_pretrained = classmethod(from_pretrained)


if __name__ == "__main__":
    from lmms_eval.cli.dispatch import main
    from transformers import WhisperFeatureExtractor
    from transformers.generation.utils import GenerationMixin
    from transformers.image_processing_utils import BaseImageProcessor
    from transformers.video_processing_utils import BaseVideoProcessor

    watch("images", BaseImageProcessor)
    watch("videos", BaseVideoProcessor)
    watch_sound(WhisperFeatureExtractor)
    watch_generate(GenerationMixin)
    if os.environ.get("SPY_CPU"):
        on_the_processor()
    if folder := os.environ.get("SPY_OMNI"):
        omni(folder)
    sys.argv[0] = "lmms-eval"
    main()
