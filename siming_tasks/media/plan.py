"""What a run will ask, show, need and cost, before it starts: counts and upper bounds, no decoding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from siming_tasks.media.observe import unobservable_reason
from siming_tasks.media.picture import fitted
from siming_tasks.media.sampler import Budget, frame_range, matched_budget, sample_indices
from siming_tasks.media.store import SIZE
from siming_tasks.media.tokens import TOKEN_FORMULAS
from siming_tasks.rubrics import Rubric
from siming_tasks.settings import BENCHMARK, SETTINGS

__all__ = ["BYTES_PER_PIXEL", "CAPTION_TOKENS", "DECODE_PIXELS", "ExamFacts", "RunPlan", "SettingPlan", "alike", "plan"]

BYTES_PER_PIXEL = 0.12
"""Stored JPEG (quality 90) of a noisy 720p recording; smooth pictures take a third."""

DECODE_PIXELS = 650e6
"""Pixels a second that a linear decode of H.264 passes on two cores; one-pass preparation takes about as long."""

CAPTION_TOKENS = 16
"""Upper bound for the time before each frame and the markers around it."""


@dataclass(frozen=True)
class ExamFacts:
    """What planning needs to know of a video: seconds, frames/s, pixels, and each asked step's span (None: no clip)."""

    duration: float
    fps: float
    width: int
    height: int
    steps: Mapping[str, tuple[float, float] | None]
    has_audio: bool = False


@dataclass(frozen=True)
class SettingPlan:
    """One setting of a run.

    Attributes:
        setting: its name.
        requests: questions to the model.
        frames: images sent, all requests together.
        frames_max: most images in one request.
        fps: median sampled rate (frames/s).
        image_tokens: formula name -> (most in one request, all requests together).
        context_max: formula name -> upper bound of a request's length in tokens: images, captions, prompt, reply.
        blind: step id -> (share of its appearances in which it cannot be judged, why).
    """

    setting: str
    requests: int
    frames: int
    frames_max: int
    fps: float
    image_tokens: Mapping[str, tuple[int, int]]
    context_max: Mapping[str, int]
    blind: Mapping[str, tuple[float, str]]


@dataclass(frozen=True)
class RunPlan:
    """A whole run.

    Attributes:
        settings: the four settings.
        stored: different frames on disk.
        disk: their bytes.
        decode_seconds: time of the one pass over all videos on two cores.
        cost: formula name -> upper bound in the currency of the prices; empty without prices.
    """

    settings: tuple[SettingPlan, ...]
    stored: int
    disk: float
    decode_seconds: float
    cost: Mapping[str, float]


def alike(
    rubric: Rubric, videos: int, duration: float, *, fps: float = 25.0, size: tuple[int, int] = (1280, 720)
) -> list[ExamFacts]:
    """Exams when no dataset is at hand: every video alike, its steps sharing the time equally, without sound."""
    borders = np.linspace(0, duration, len(rubric.steps) + 1)
    spans = {step.id: (float(a), float(b)) for step, a, b in zip(rubric.steps, borders, borders[1:], strict=False)}
    return [ExamFacts(duration, fps, *size, spans)] * videos


def plan(
    exams: Sequence[ExamFacts],
    rubric: Rubric,
    *,
    frames: int,
    clip_frames: int,
    frame_size: int | None = SIZE,
    matched: bool = False,
    formulas: Sequence[str] = ("qwen2_5_vl", "openai_tiles"),
    prompt_bytes: Mapping[str, int] | None = None,
    reply_tokens: int = 4096,
    prices: tuple[float, float] | None = None,
) -> RunPlan:
    """Work out a run.

    Args:
        exams: the videos.
        rubric: says which evidence each step needs.
        frames: images per full video.
        clip_frames: images per clip.
        frame_size: longest side of an image in pixels.
        matched: sample clips at the full-video rate instead.
        formulas: names in :data:`~siming_tasks.media.tokens.TOKEN_FORMULAS`.
        prompt_bytes: longest prompt of each setting in bytes; no tokenizer makes more tokens than bytes.
        reply_tokens: longest reply.
        prices: per million tokens of input and of output.
    """
    shown = [_Shown.of(exam, frames, clip_frames, frame_size, matched) for exam in exams]
    settings, cost = [], dict.fromkeys(formulas, 0.0) if prices else {}
    for name in BENCHMARK:
        setting = SETTINGS[name]
        requests = [request for one in shown for request in (one.full if setting.scope == "full" else one.clips)]
        text = (prompt_bytes or {}).get(name, 0) + reply_tokens
        tokens, context = {}, {}
        for formula in formulas:
            each = [len(request.indices) * TOKEN_FORMULAS[formula](*request.size) for request in requests]
            captions = CAPTION_TOKENS * max((len(request.indices) for request in requests), default=0)
            tokens[formula] = (max(each, default=0), sum(each))
            context[formula] = tokens[formula][0] + captions + text
            if prices:
                words = len(requests) * (text - reply_tokens) + CAPTION_TOKENS * sum(len(r.indices) for r in requests)
                cost[formula] += (sum(each) + words) / 1e6 * prices[0] + len(requests) * reply_tokens / 1e6 * prices[1]
        counts = [len(request.indices) for request in requests]
        rate = median(request.fps for request in requests) if requests else 0.0
        blind = _blind(rubric, requests)
        settings.append(
            SettingPlan(name, len(requests), sum(counts), max(counts, default=0), rate, tokens, context, blind)
        )
    stored = [(one, len({index for request in (*one.full, *one.clips) for index in request.indices})) for one in shown]
    disk = sum(count * one.size[0] * one.size[1] * BYTES_PER_PIXEL for one, count in stored)
    seconds = sum(exam.duration * exam.fps * exam.width * exam.height / DECODE_PIXELS for exam in exams)
    return RunPlan(tuple(settings), sum(count for _, count in stored), disk, seconds, cost)


@dataclass(frozen=True)
class _Request:
    steps: tuple[str, ...]
    indices: tuple[int, ...]
    fps: float
    size: tuple[int, int]
    has_audio: bool


@dataclass(frozen=True)
class _Shown:
    full: tuple[_Request, ...]
    clips: tuple[_Request, ...]
    size: tuple[int, int]

    @classmethod
    def of(cls, exam: ExamFacts, frames: int, clip_frames: int, frame_size: int | None, matched: bool) -> _Shown:
        size = fitted(exam.width, exam.height, frame_size)
        times = np.arange(max(1, round(exam.duration * exam.fps))) / exam.fps

        def request(steps: tuple[str, ...], span: tuple[float, float] | None, budget: Budget) -> _Request:
            bounds = frame_range(times, *span) if span else (0, len(times) - 1)
            indices = sample_indices(len(times), budget=budget, span=bounds)
            seconds = (bounds[1] - bounds[0] + 1) / exam.fps
            return _Request(steps, tuple(indices.tolist()), len(indices) / seconds, size, exam.has_audio)

        full = request(tuple(exam.steps), None, Budget(frames))
        spans = {step: span for step, span in exam.steps.items() if span}
        clips = [
            request((step,), span, matched_budget(exam.duration, frames, span) if matched else Budget(clip_frames))
            for step, span in spans.items()
        ]
        return cls((full,), tuple(clips), size)


def _blind(rubric: Rubric, requests: Sequence[_Request]) -> dict[str, tuple[float, str]]:
    asked: dict[str, list[str | None]] = {step.id: [] for step in rubric.steps}
    for request in requests:
        for step in request.steps:
            why = unobservable_reason(rubric.by_id[step], request.fps, has_audio=request.has_audio)
            asked[step].append(why)
    found = {}
    for step, reasons in asked.items():
        if named := [why for why in reasons if why]:
            found[step] = (len(named) / len(reasons), max(set(named), key=named.count))
    return found
