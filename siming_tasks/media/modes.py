"""Media modes: the forms in which a model is shown a video. Each is one object; whoever needs to know asks it.

A further mode is an object in :data:`MEDIA_MODES` and a word of the option ``media``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import OptionsError

if TYPE_CHECKING:
    from siming_tasks.media.backend import Backend
    from siming_tasks.media.store import FrameStore
    from siming_tasks.media.timeline import Timeline

__all__ = ["FRAMES", "MEDIA_MODES", "NOTHING_SHOWN", "PROXY", "UNKNOWN_MODE", "VIDEO", "MediaMode", "recorded_mode"]

NOTHING_SHOWN: Mapping[str, Any] = MappingProxyType({"mode": "none", "n_frames": 0})
"""Record of a request that shows no media."""

UNKNOWN_MODE = "unknown"
"""Word in the record of a request whose reply came from a cache: what was shown for it is not known any more."""


@dataclass(frozen=True)
class MediaMode(ABC):
    """One form in which a model is shown a video.

    Attributes:
        name: word of the option ``media`` and of records.
        images: whether the prompt holds images, each after its time; else one video file.
        sampled: whether this package chooses the frames, by the budget and the sampler; else the model's own reader.
    """

    name: str
    images: bool
    sampled: bool

    @property
    def of_ablations(self) -> MediaMode:
        """Mode in which altered frames are shown: only frames that we choose can be put in another order."""
        return self if self.sampled else PROXY

    @abstractmethod
    def check_backend(self, backend: Backend, wanted: str) -> None:
        """Refuse a model class that cannot take media of this form, or would be shown something else.

        Args:
            backend: the class.
            wanted: what ``SIMING_MEDIA`` says, for the message.

        Raises:
            OptionsError: names the class, the reason and the way out.
        """

    @abstractmethod
    def arguments(self, backend: Backend) -> Mapping[str, Any]:
        """Arguments that a class gets with media of this form, unless the user gives them."""

    @abstractmethod
    def packages(self, backend: Backend) -> tuple[str, ...]:
        """Packages without which a class cannot take media of this form."""

    @abstractmethod
    def needs_single_batches(self, backend: Backend) -> bool:
        """Decide whether a class is only right with ``--batch_size 1``."""

    @abstractmethod
    def needs_file(self, timeline: Timeline, *, whole: bool) -> bool:
        """Decide whether a file has to be made: ``whole`` says that all of the video is shown."""

    @abstractmethod
    def prepare(
        self,
        store: FrameStore,
        timeline: Timeline,
        indices: Sequence[int],
        *,
        whole: bool,
        others: Callable[[], Sequence[int]] = lambda: (),
    ) -> tuple[Path | None, int]:
        """Put into the store what is shown, unless it is there.

        Args:
            store: of the video.
            timeline: of the video.
            indices: frames that are shown.
            whole: all of the video is shown.
            others: further frames that are worth storing if something has to be decoded anyway.

        Returns:
            The file that is shown (None: images), and how much was written: frames or bytes.

        Raises:
            MediaError: a frame cannot be decoded.
        """


class _ImagesMode(MediaMode):
    """Stored frames as images."""

    def check_backend(self, backend: Backend, wanted: str) -> None:
        if backend.images in ("one", "none"):
            raise OptionsError(
                f"SIMING_MEDIA={self.name}: {backend.name} does not take several pictures. Unset SIMING_MEDIA."
            )

    def arguments(self, backend: Backend) -> Mapping[str, Any]:
        return backend.frames

    def packages(self, backend: Backend) -> tuple[str, ...]:
        return backend.needs

    def needs_single_batches(self, backend: Backend) -> bool:
        return backend.batch == "one"

    def needs_file(self, timeline: Timeline, *, whole: bool) -> bool:
        return False

    def prepare(
        self,
        store: FrameStore,
        timeline: Timeline,
        indices: Sequence[int],
        *,
        whole: bool,
        others: Callable[[], Sequence[int]] = lambda: (),
    ) -> tuple[Path | None, int]:
        return None, store.fill([*indices, *others()]) if store.missing(indices) else 0


class _FileMode(MediaMode):
    """One video file for the model's own reader."""

    def check_backend(self, backend: Backend, wanted: str) -> None:
        if backend.file == "faulty":
            raise OptionsError(
                f"SIMING_MEDIA={wanted}: with this backend lmms-eval 0.7.3 replaces frames of a video by older ones "
                f"({see('media')}). Unset SIMING_MEDIA; the backend then gets the frames as images."
            )
        if backend.file == "short":
            raise OptionsError(
                f"SIMING_MEDIA={wanted}: {backend.name} of lmms-eval 0.7.3 ends the whole run at a file with fewer "
                "frames than it wants, as many step clips have. Unset SIMING_MEDIA; it then gets the frames as images."
            )
        if not backend.video:
            raise OptionsError(f"SIMING_MEDIA={wanted}: {backend.name} cannot read a video file. Unset SIMING_MEDIA.")

    def arguments(self, backend: Backend) -> Mapping[str, Any]:
        return backend.arguments

    def packages(self, backend: Backend) -> tuple[str, ...]:
        return (*backend.needs, *backend.video_needs)

    def needs_single_batches(self, backend: Backend) -> bool:
        return backend.batch in ("one", "file")

    def needs_file(self, timeline: Timeline, *, whole: bool) -> bool:
        # The source itself is shown only where every reader takes the same frames of it.
        return self.sampled or not whole or not timeline.standard

    def prepare(
        self,
        store: FrameStore,
        timeline: Timeline,
        indices: Sequence[int],
        *,
        whole: bool,
        others: Callable[[], Sequence[int]] = lambda: (),
    ) -> tuple[Path | None, int]:
        if not self.needs_file(timeline, whole=whole):
            return store.source, 0
        return store.video_file(timeline, indices, apart=self.sampled)


FRAMES = _ImagesMode("frames", images=True, sampled=True)
"""Our frames as images, each with its time."""

VIDEO = _FileMode("video", images=False, sampled=False)
"""A file of all frames of the part that is asked about; the model's own reader takes some of them."""

PROXY = _FileMode("proxy", images=False, sampled=True)
"""A file of just the frames that ``frames`` would show, each a keyframe."""

MEDIA_MODES: Mapping[str, MediaMode] = MappingProxyType({mode.name: mode for mode in (FRAMES, VIDEO, PROXY)})
"""Every mode by its name."""


def recorded_mode(media: Mapping[str, Any] | None) -> MediaMode:
    """Mode of a record's ``media``; where nothing was shown or nothing is known, one of neither images nor sampling."""
    name = (media or {}).get("mode")
    return (MEDIA_MODES.get(name) if isinstance(name, str) else None) or _FileMode(
        str(name or UNKNOWN_MODE), images=False, sampled=False
    )
