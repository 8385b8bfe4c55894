"""Model classes of lmms-eval: what each takes, and hence what it is shown, from the table ``backends.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.files import read_yaml
from siming_tasks.media.modes import FRAMES, MEDIA_MODES, VIDEO, MediaMode

__all__ = ["OURS", "UNKNOWN", "Backend", "backend_of", "backends"]

PACKAGE = "lmms_eval.models."
_WHY = {
    "one": "it looks at one picture a question and drops the others",
    "none": "it takes neither several pictures nor a video",
}


@dataclass(frozen=True, config={"extra": "forbid"})
class Backend:
    """One model class; the fields are explained in ``backends.yaml``.

    Attributes:
        name: ``chat.qwen3_vl``: registry and module.
    """

    name: str
    images: Literal["several", "paths", "one", "none"] = "none"
    video: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    frames: Mapping[str, Any] = field(default_factory=dict)
    prefer: Literal["video"] | None = None
    modality: Literal["image", "video"] | None = None
    file: Literal["faulty", "short"] | None = None
    batch: Literal["one", "file"] | None = None
    alone: bool = False
    concurrent: bool = False
    encodes: bool = False
    blind: bool = False
    experts: str = ""
    tokens: str = ""
    most_tokens: int = 0
    needs: tuple[str, ...] = ()
    video_needs: tuple[str, ...] = ()
    refused: str = ""
    tested: bool = False
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
    def verdict(self) -> str:
        """``tested``, ``guarded``, ``tested, guarded``, ``read``, or ``refused: reason``."""
        if self.media is None:
            return f"refused: {self.refused or _WHY[self.images]}"
        guarded = self.file or self.alone or self.experts or self.batch or self.needs or self.video_needs
        words = [word for word, holds in (("tested", self.tested), ("guarded", guarded)) if holds]
        return ", ".join(words) or "read"

    def mode(self, wanted: str, modality: str | None = None) -> MediaMode:
        """Choose how it gets its media.

        Args:
            wanted: name of a mode, or ``auto``: its own default.
            modality: what the instance's argument of this name says, where the class has one.

        Raises:
            OptionsError: it cannot see what is wanted, or cannot be a judge at all.
        """
        if self.media is None:
            raise OptionsError(f"{self.name} cannot judge here: {self.verdict.removeprefix('refused: ')}.")
        default = self.media
        if self.modality:
            modality = modality or self.modality
            default = VIDEO if modality == "video" else FRAMES
        mode = default if wanted == "auto" else MEDIA_MODES[wanted]
        if self.modality and mode.images != default.images:
            raise OptionsError(
                f"SIMING_MEDIA={wanted}: with modality={modality} {self.name} takes "
                f"{'pictures' if default.images else 'a file'} only. Change one of the two."
            )
        mode.check_backend(self, wanted)
        return mode


OURS = {
    "siming_tasks.models.nano.chat_model": Backend(
        "chat.siming_nano", images="several", video="64 evenly, 16 of a clip", blind=True, tested=True,
        note="trained on drawings, useless on real exams",
    )
}  # fmt: skip
"""Model classes of this package, by module. They are not in the table, which is part of every cache key."""

UNKNOWN = Backend("unknown", images="several", video="unknown", blind=True)
"""A class of a user's: our frames, which lmms-eval hands on as they are."""


@cache
def backends() -> Mapping[str, Backend]:
    """Read the table, by name."""
    rows = read_yaml(Path(str(resources.files("siming_tasks.media").joinpath("backends.yaml"))))
    return MappingProxyType({name: Backend(name, **row) for name, row in rows.items()})


def backend_of(modules: Iterable[str]) -> Backend:
    """Find the row of a class by the modules of itself and its bases in the order of inheritance."""
    for module in modules:
        if module in OURS:
            return OURS[module]
        row = backends().get(module.removeprefix(PACKAGE)) if module.startswith(PACKAGE) else None
        if row:
            return row
    return UNKNOWN
