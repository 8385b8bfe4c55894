"""What is shown of a video: the one rule that hooks, ``siming run prepare``, ``siming run plan`` and proxies ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.schema import Scope, Video
from siming_tasks.media.backend import UNKNOWN, Backend
from siming_tasks.media.encoding import AS_STORED, Encoding
from siming_tasks.media.request_media import Mode, Request
from siming_tasks.media.sampler import UNIFORM, Budget, matched_budget
from siming_tasks.media.signal import SAMPLERS
from siming_tasks.media.store import QUALITY, SIZE
from siming_tasks.options import Options
from siming_tasks.tasks import STANDARD_TASKS, TASKS, InputAblation, TaskSpec
from siming_tasks.tasks.expected_requests import expected_requests

__all__ = ["Policy"]


@dataclass(frozen=True)
class Policy:
    """Which frames of which part, how large, how encoded, and in what form.

    Attributes:
        frames: frames of a full video.
        clip_frames: frames of a clip.
        frame_size: longest side of an image in pixels; None keeps the original.
        density: ``native``, or ``matched``: clips are sampled as densely as the full video (a control).
        mode: ``frames``, ``video``, ``proxy`` or ``auto`` (the backend's own).
        quality: JPEG quality of the stored images.
        encoding: how a backend that encodes images is to send them.
        sampler: the rule by which frames are taken: ``uniform``, or by content (:mod:`siming_tasks.media.signal`).
    """

    frames: int
    clip_frames: int
    frame_size: int | None = SIZE
    density: str = "native"
    mode: str = "auto"
    quality: int = QUALITY
    encoding: Encoding = AS_STORED
    sampler: str = UNIFORM

    def __hash__(self) -> int:
        """Worked out once: every request looks up what its policy shows."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(astuple(self))

    @classmethod
    def of(cls, options: Options) -> Policy:
        """The policy that a run's options mean."""
        return cls(
            options.frames,
            options.clip_frames,
            options.frame_size,
            options.clip_density,
            options.media,
            encoding=Encoding.of(options.image_format),
            sampler=options.sampler,
        )

    def request(self, duration: float, span: tuple[float, float] | None, scope: Scope) -> Request:
        """What one question shows.

        Args:
            duration: of the whole video in seconds, as the data set states it.
            span: the asked step's, in seconds; only a clip has one.
            scope: of the setting.

        Raises:
            ValueError: a clip without a span.
        """
        if scope == "full":
            return Request(None, Budget(self.frames), self.sampler)
        if span is None:
            raise ValueError("a step without a span has no clip")
        matched = self.density_of(scope) == "matched"
        budget = matched_budget(duration, self.frames, span) if matched else Budget(self.clip_frames)
        return Request(span, budget, self.sampler)

    def asked(self, setting: TaskSpec, video: Video) -> Iterator[tuple[str | None, Request]]:
        """The questions of a setting about a video: step (None: all of them) and what is shown for it."""
        for _, step in expected_requests(setting, [video]):
            yield step, self.request(video.duration, video.step(step).span if step else None, setting.scope)

    def requests(self, video: Video, settings: Iterable[TaskSpec] | None = None) -> tuple[Request, ...]:
        """Everything that some settings (all by default) show of a video, each part once, in their order.

        Ablations and other forms of the reply show no frames but those of the plain settings.
        """
        chosen = [TASKS[name] for name in STANDARD_TASKS] if settings is None else settings
        return tuple(dict.fromkeys(request for setting in chosen for _, request in self.asked(setting, video)))

    def density_of(self, scope: Scope) -> str:
        """What a record says of the density: only clips can be ``matched``."""
        return self.density if scope == "clip" else "native"

    def mode_for(
        self, backend: Backend = UNKNOWN, modality: str | None = None, *, ablation: InputAblation | None = None
    ) -> Mode:
        """How a backend gets its media: as the table of backends says, unless ``SIMING_MEDIA`` says otherwise.

        A file whose frames an ablation alters is a proxy, whatever the mode.

        Raises:
            OptionsError: the backend cannot see what is wanted, or would be shown something else.
        """
        mode = backend.mode(self.mode, modality)
        if mode == "video" and self.sampler != UNIFORM:
            raise OptionsError(
                f"SIMING_SAMPLER={self.sampler}: {backend.name} is given the file and takes frames of it by itself. "
                "Unset SIMING_SAMPLER, or set SIMING_MEDIA=proxy."
            )
        if ablation and not ablation.shows_media and not backend.blind:
            raise OptionsError(
                f"{backend.name} of lmms-eval 0.7.3 cannot be asked without pictures or a video. Leave the tasks "
                f"siming_ablation_{ablation.name}_* out."
            )
        return "proxy" if ablation and mode == "video" else mode

    def facts(self) -> dict[str, Any]:
        """The options that change what is shown, under their own names; part of every cache key of a run.

        The sampler is left out where it is uniform, and the encoding where the stored files are sent: replies that were
        cached before they could be chosen were given to these very pixels.
        """
        return {
            "media": self.mode,
            "frames": self.frames,
            "clip_frames": self.clip_frames,
            "frame_size": self.frame_size,
            "clip_density": self.density,
            **({} if self.sampler == UNIFORM else {"sampler": SAMPLERS[self.sampler]}),
            **({} if self.encoding == AS_STORED else {"image_format": str(self.encoding)}),
        }
