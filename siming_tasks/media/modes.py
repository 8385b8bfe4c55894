"""Media modes, the forms in which a model is shown a video, and the model classes of lmms-eval that take them.

Each mode is one object with all that is known about it. The table ``backends.yaml`` lists what each class takes and
so is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import pydantic

from siming_tasks.benchmark.types import UNKNOWN_MODE
from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.files import read_yaml

NOTHING_SHOWN: Mapping[str, Any] = MappingProxyType({"mode": "none", "n_frames": 0})
"""Record of a request that shows no media."""


@dataclass(frozen=True)
class MediaMode:
    """One form in which a model is shown a video.

    Attributes:
        name: word of the option ``media`` and of records.
        images: True if the prompt contains images, False if it contains one video file.
        sampled: True if this package chooses the frames, by the budget and the sampler; False: the model's own reader.
    """

    name: str
    images: bool
    sampled: bool


FRAMES = MediaMode("frames", images=True, sampled=True)
"""Our frames as images, each with its time."""

VIDEO = MediaMode("video", images=False, sampled=False)
"""A file of all frames of the part that is asked about; the model's own reader takes some of them."""

PROXY = MediaMode("proxy", images=False, sampled=True)
"""A file of just the frames that ``frames`` would show, each a keyframe."""

MEDIA_MODES: Mapping[str, MediaMode] = MappingProxyType({mode.name: mode for mode in (FRAMES, VIDEO, PROXY)})
"""Every mode by its name."""


def recorded_mode(media: Mapping[str, Any] | None) -> MediaMode:
    """Mode of a record's ``media``; where nothing was shown or nothing is known, one of neither images nor sampling."""
    name = (media or {}).get("mode")
    known = MEDIA_MODES.get(name) if isinstance(name, str) else None
    return known or MediaMode(str(name or UNKNOWN_MODE), images=False, sampled=False)


_WHY_REFUSED = {
    "one": "it uses one picture per question and drops the others",
    "none": "it takes neither several pictures nor a video",
}


@pydantic.dataclasses.dataclass(frozen=True, config={"extra": "forbid"})
class Backend:
    """One model class, named like ``chat.qwen3_vl`` (registry, module); ``backends.yaml`` explains the fields.

    A class that no row names takes several pictures, as far as anybody knows: its name is that of its module.
    """

    name: str
    images: Literal["several", "paths", "one", "none"] = "several"
    video: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    frames: Mapping[str, Any] = field(default_factory=dict)
    prefer: Literal["video"] | None = None
    modality: Literal["image", "video"] | None = None
    file: Literal["faulty", "short"] | None = None
    batch: Literal["one", "file"] | None = None
    alone: bool = False
    unread: bool = False
    concurrent: bool = False
    sent: Literal["jpeg", "png"] | None = None
    encodes: bool = False
    blind: bool = False
    experts: str = ""
    tokens: str = ""
    most_tokens: int = 0
    own_arguments: Mapping[str, str] = field(default_factory=dict)
    failed: str = ""
    needs: tuple[str, ...] = ()
    video_needs: tuple[str, ...] = ()
    refused: str = ""
    hears: Literal["url", "path", "array"] | None = None
    sound_seconds: int = 0
    deaf: str = ""
    schema: Literal["openai", "gemini", "vllm"] | None = None
    note: str = ""

    @property
    def media(self) -> MediaMode | None:
        """Mode of what it is shown unless the user says otherwise: our frames if it takes several; None if refused."""
        if self.refused:
            return None
        if self.modality == "video":
            return VIDEO
        if self.images in ("several", "paths") and not (self.prefer and self.video):
            return FRAMES
        return VIDEO if self.video else None

    @property
    def listens(self) -> bool:
        """Hears and sees nothing: it can be asked about sound alone."""
        return self.media is None and not self.refused and self.hears is not None

    @property
    def why_refused(self) -> str:
        """Reason why it cannot judge here, as the end of a sentence; empty if it can."""
        return "" if self.media or self.listens else self.refused or _WHY_REFUSED[self.images]

    def is_verified(self, cache: Path) -> bool:
        """True if the tests include a class of this name, or the canary has passed with it on this machine."""
        return self.name in backends() or self.name in _OUR_NAMES or self.canary_note(cache).exists()

    def canary_note(self, cache: Path) -> Path:
        """File in the cache folder which says that the canary has passed with this class."""
        return cache / "verified" / self.name

    def mode(self, wanted: str, modality: str | None = None) -> MediaMode:
        """Choose how it gets its media.

        Args:
            wanted: name of a mode, or ``auto``: its own default.
            modality: what the instance's argument of this name says, where the class has one.

        Raises:
            OptionsError: it cannot take the requested input, or cannot be a judge at all.
        """
        if self.listens:
            return FRAMES  # of which it is shown none
        if self.media is None:
            raise OptionsError(f"{self.name} cannot judge here: {self.why_refused}.")
        default = self.media
        if self.modality:
            modality = modality or self.modality
            default = VIDEO if modality == "video" else FRAMES
        mode = default if wanted == "auto" else MEDIA_MODES[wanted]
        if self.modality and mode.images != default.images:
            raise OptionsError(
                f"SIMING_MEDIA={wanted}: with modality={modality} {self.name} takes "
                f"{'pictures' if default.images else 'a file'} only. Change one of them."
            )
        if fault := self._fault_of(mode):
            raise OptionsError(f"SIMING_MEDIA={wanted}: {fault}")
        return mode

    def _fault_of(self, mode: MediaMode) -> str:
        """Reason why it cannot take media of this form, or is shown something else, and the way out; empty if none."""
        if mode.images:
            takes = self.images in ("several", "paths")
            return "" if takes else f"{self.name} does not take several pictures. Unset SIMING_MEDIA."
        if self.file == "faulty":
            return (
                "with this backend lmms-eval 0.7.3 replaces frames of a video by older ones "
                f"({see('media')}). Unset SIMING_MEDIA; the backend then gets the frames as images."
            )
        if self.file == "short":
            return (
                f"{self.name} of lmms-eval 0.7.3 ends the whole run at a file with fewer frames than it needs, "
                "which many step clips are. Unset SIMING_MEDIA; it then gets the frames as images."
            )
        return "" if self.video else f"{self.name} cannot read a video file. Unset SIMING_MEDIA."

    def arguments_in(self, mode: MediaMode) -> Mapping[str, Any]:
        """Arguments that it gets with media of this form, unless the user gives them."""
        return self.frames if mode.images else self.arguments

    def packages_in(self, mode: MediaMode) -> tuple[str, ...]:
        """Packages without which it cannot take media of this form."""
        return self.needs if mode.images else (*self.needs, *self.video_needs)

    def needs_single_batches(self, mode: MediaMode) -> bool:
        """Decide whether it is only right with ``--batch_size 1``."""
        return self.batch == "one" or (self.batch == "file" and not mode.images)


OURS = {
    "siming_tasks.models.nano.chat_model": Backend("chat.siming_nano", video=True, blind=True),
    "siming_tasks.plugin.reference_model": Backend("chat.siming_reference", video=True, blind=True, hears="path"),
}
"""Model classes of this package, by module."""

_OUR_NAMES = {row.name for row in OURS.values()}

UNKNOWN = Backend("unknown", video=True, blind=True, hears="path")
"""A class that no row names: our frames, and sound as a file, which lmms-eval hands on as they are."""


@cache
def backends() -> Mapping[str, Backend]:
    """Read the table, by name."""
    rows = read_yaml(Path(str(resources.files("siming_tasks.media").joinpath("backends.yaml"))))
    return MappingProxyType({name: Backend(name, **row) for name, row in rows.items()})


def backend_of(modules: Iterable[str]) -> Backend:
    """Find the row of a class by the modules of itself and its bases in the order of inheritance."""
    modules, prefix = list(modules), "lmms_eval.models."
    for module in modules:
        if row := OURS.get(module) or (
            backends().get(module.removeprefix(prefix)) if module.startswith(prefix) else None
        ):
            return row
    return replace(UNKNOWN, name=modules[0].removeprefix(prefix) or UNKNOWN.name)
