"""Which rubric steps can be judged at all from what a model is shown."""

from __future__ import annotations

from siming_tasks.rubrics import Rubric, RubricStep

__all__ = ["observable_steps", "unobservable_reason"]

NEEDS_SOUND = ("audio", "audio_visual")


def unobservable_reason(step: RubricStep, fps: float, *, has_audio: bool = False) -> str | None:
    """Why a step cannot be judged: ``silent``, ``rate``, or None if it can.

    Args:
        step: a rubric step; its ``evidence`` names the channel and the lowest sampling rate that carries it.
        fps: sampled rate of what is shown (frames/s).
        has_audio: whether the model hears the sound track.
    """
    if step.evidence.channel in NEEDS_SOUND and not has_audio:
        return "silent"
    return "rate" if fps < step.evidence.min_fps else None


def observable_steps(rubric: Rubric, fps: float, has_audio: bool = False) -> set[str]:
    """Ids of the steps that can be judged at ``fps`` frames a second, with or without sound.

    For metrics restricted to what the model was shown: a chance result on the other steps is no fault of the model.
    A step that needs sound *and* picture counts as not observable in a silent video, although part of it may be seen.

    Example:
        >>> from siming_tasks.rubrics import default_rubric
        >>> len(observable_steps(default_rubric(), fps=64 / 168.9)), len(observable_steps(default_rubric(), fps=8))
        (6, 20)
    """
    return {step.id for step in rubric.steps if unobservable_reason(step, fps, has_audio=has_audio) is None}
