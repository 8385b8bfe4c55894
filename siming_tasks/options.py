"""The only reader of environment variables: what a run can be told from outside.

lmms-eval has no place for a task's own options, so they are environment variables; the command line of ``siming`` sets
the same fields. Everything that changes a result is written into the results.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from siming_tasks.errors import OptionsError

__all__ = ["Options"]

_CHOICES = {
    "media": ("auto", "frames", "video", "proxy"),
    "clip_density": ("native", "matched"),
    "mapping": ("absolute", "proportional"),
    "positive": ("error", "correct"),
}


@dataclass(frozen=True)
class Options:
    """One run's options; ``SIMING_<FIELD NAME>`` in the environment sets a field.

    Attributes:
        data: dataset folder or ``org/name[@revision]`` on the Hugging Face Hub; empty: the synthetic demo.
        cache: folder for the demo, decoded frames and clips (default: the user's cache folder).
        media: ``frames`` (our images), ``video`` (a file path), ``proxy`` (the path of a file of just the frames that
            ``frames`` mode would show) or ``auto`` (by backend: frames or video).
        frames: frames per full video, but in video mode.
        clip_frames: frames per step clip, but in video mode.
        frame_size: longest side in pixels of the images of frames mode; smaller videos are not enlarged.
        clip_density: ``native`` or ``matched`` (a clip sampled at the full-video rate; a control, not the benchmark).
        mapping: points to four labels for kappa, ``absolute`` or ``proportional``.
        positive: the positive class of precision, recall and F1, ``error`` or ``correct``.
        rater: the reference rater.
        resamples: cluster bootstrap resamples.
        seed: seed of the bootstrap.
        demo_videos: videos in the demo.
        cache_gb: upper limit of decoded frames on disk, in gigabytes.

    Example:
        >>> from siming_tasks import Options
        >>> Options(rater="rater_a", resamples=2000).frames
        64
    """

    data: str = ""
    cache: str = ""
    media: str = "auto"
    frames: int = 64
    clip_frames: int = 16
    frame_size: int = 896
    clip_density: str = "native"
    mapping: Literal["absolute", "proportional"] = "absolute"
    positive: Literal["error", "correct"] = "error"
    rater: str = "consensus"
    resamples: int = 10_000
    seed: int = 0
    demo_videos: int = 16
    cache_gb: float = 20.0

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Options:
        """The settings of this process.

        Raises:
            OptionsError: a variable has an unusable value; names the variable, the value and what is accepted.
        """
        env = os.environ if env is None else env
        return _from(tuple(env.get(name, "").strip() for name in _NAMES))

    @property
    def cache_dir(self) -> Path:
        """The cache folder (not created here)."""
        if self.cache:
            return Path(self.cache).expanduser()
        from platformdirs import user_cache_path

        return user_cache_path("siming-tasks", appauthor=False)


_NAMES = tuple(f"SIMING_{item.name.upper()}" for item in fields(Options))


@lru_cache(maxsize=8)
def _from(texts: tuple[str, ...]) -> Options:
    """Options from the variables' texts; hooks ask for them once per document."""
    values = {
        item.name: _parse(name, text, item.default, _CHOICES.get(item.name))
        for item, name, text in zip(fields(Options), _NAMES, texts, strict=True)
        if text
    }
    return Options(**values)


def _parse(name: str, text: str, default: Any, choices: tuple[str, ...] | None) -> Any:
    if choices is not None:
        if text.lower() not in choices:
            raise OptionsError(f"{name}={text!r} is not one of {', '.join(choices)}.")
        return text.lower()
    if isinstance(default, str):
        return text
    kind = type(default)
    try:
        value = kind(text)
    except ValueError:
        raise OptionsError(f"{name}={text!r} is not {'a whole' if kind is int else 'a'} number.") from None
    if not (0 if name == "SIMING_SEED" else 1e-9) <= value < 1e9:
        raise OptionsError(f"{name}={text!r} must be {'at least 0' if name == 'SIMING_SEED' else 'above 0'}.")
    return value
