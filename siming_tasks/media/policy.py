"""Policy of what is shown of a video, and which rubric steps can be judged from it.

Hooks, ``siming run prepare``, ``siming run plan`` and proxies all ask this one rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.tasks import STANDARD_TASKS, TASKS, TaskSpec
from siming_tasks.benchmark.tasks.expected_requests import expected_requests
from siming_tasks.benchmark.types import Scope
from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import OptionsError
from siming_tasks.media.modes import PROXY, UNKNOWN, Backend, MediaMode
from siming_tasks.media.request_media import Request
from siming_tasks.media.sampler import SAMPLERS, UNIFORM
from siming_tasks.media.store import SIZE
from siming_tasks.options import Options


@dataclass(frozen=True)
class Policy:
    """Rule of what a run shows: which frames of which part, how large, and in what form.

    Attributes:
        frames: of a full video; ``clip_frames``: of a clip.
        frame_size: longest side of an image in pixels; None keeps the original.
        density: ``native``, or ``matched``: clips have at least one frame, else as many a second as the full video.
        mode: name of a media mode, or ``auto`` (the backend's own).
        sampler: the rule by which frames are taken: ``uniform``, or by content (:mod:`siming_tasks.media.sampler`).
    """

    frames: int
    clip_frames: int
    frame_size: int | None = SIZE
    density: str = "native"
    mode: str = "auto"
    sampler: str = UNIFORM

    @classmethod
    def of(cls, options: Options) -> Policy:
        """Make the policy that a run's options mean."""
        return cls(
            options.frames, options.clip_frames, options.frame_size, options.clip_density, options.media,
            sampler=options.sampler,
        )  # fmt: skip

    def request(self, duration: float, span: tuple[float, float] | None, scope: Scope) -> Request:
        """Choose the part, number of frames and sampler of one question.

        Args:
            duration: of the whole video in seconds, as the data set states it.
            span: the asked step's, in seconds; only a clip has one.
            scope: of the setting.

        Raises:
            ValueError: a clip without a span.
        """
        if scope == "full":
            return Request(None, self.frames, self.sampler)
        if span is None:
            raise ValueError("a step without a span has no clip")
        if self.density_of(scope) == "native":
            return Request(span, self.clip_frames, self.sampler)
        return Request(span, max(1, round(self.frames * (span[1] - span[0]) / duration)), self.sampler)

    def questions(self, setting: TaskSpec, video: Video) -> Iterator[tuple[str | None, Request]]:
        """Yield the questions of a setting about a video: step (None: all of them) and what is shown for it."""
        for _, step in expected_requests(setting, [video]):
            yield step, self.request(video.duration, video.step(step).span if step else None, setting.scope)

    def requests(self, video: Video, settings: Iterable[TaskSpec] | None = None) -> tuple[Request, ...]:
        """Collect what some settings (all by default) show of a video, each part once, in their order.

        Ablations and other forms of the reply show no frames but those of the plain settings.
        """
        chosen = [TASKS[name] for name in STANDARD_TASKS] if settings is None else settings
        return tuple(dict.fromkeys(request for setting in chosen for _, request in self.questions(setting, video)))

    def density_of(self, scope: Scope) -> str:
        """Density for the record of a request: only clips can be ``matched``."""
        return self.density if scope == "clip" else "native"

    def mode_for(
        self, backend: Backend = UNKNOWN, modality: str | None = None, *, task: TaskSpec | None = None
    ) -> MediaMode:
        """Choose how a backend gets its media: by the table of backends, unless ``SIMING_MEDIA`` says otherwise.

        ``task``: what it is to be asked, if that is known.

        Raises:
            OptionsError: the backend cannot take the requested pictures or sound, or would be shown something else.
        """
        mode = backend.mode(self.mode, modality)
        if not mode.sampled and self.sampler != UNIFORM:
            raise OptionsError(
                f"SIMING_SAMPLER={self.sampler}: {backend.name} gets the file and samples its own frames. "
                "Unset SIMING_SAMPLER, or set SIMING_MEDIA=proxy."
            )
        if task is None:
            return mode
        if task.modality.sound and not backend.hears:
            raise OptionsError(
                f"{backend.name} of lmms-eval 0.7.3 {backend.deaf or 'takes no sound'} ({see('models')}). Leave "
                f"{task.task_name} out: without sound its replies would answer another question."
            )
        if backend.listens and (task.shows_media or not task.modality.sound):
            raise OptionsError(f"{backend.name} hears but does not see: use only siming_sound_audio_*.")
        if not task.shows_media and not (backend.blind or (task.modality.sound and backend.hears)):
            raise OptionsError(
                f"{backend.name} of lmms-eval 0.7.3 needs pictures or a video. Leave the tasks "
                f"{task.task_name.removesuffix(task.base_task)}* out."
            )
        # only frames that we choose can be put in another order
        return PROXY if task.ablation and not mode.sampled else mode

    def facts(self) -> dict[str, Any]:
        """List the options that change what is shown, under their own names; part of every cache key of a run.

        The sampler is left out where it is uniform.
        """
        return {
            "media": self.mode,
            "frames": self.frames,
            "clip_frames": self.clip_frames,
            "frame_size": self.frame_size,
            "clip_density": self.density,
            **({} if self.sampler == UNIFORM else {"sampler": SAMPLERS[self.sampler]}),
        }


def unobservable_reason(step: RubricStep, fps: float) -> str | None:
    """Name the reason why a step cannot be judged from pictures alone: ``silent``, ``rate``, or None if it can.

    One that needs sound *and* picture cannot be judged, although part of it may be seen.

    Args:
        step: a rubric step; its ``evidence`` names the channel and the lowest sampling rate that carries it.
        fps: sampled rate of what is shown (frames/s).
    """
    if step.evidence.is_heard:
        return "silent"
    return "rate" if fps < step.evidence.min_fps else None
