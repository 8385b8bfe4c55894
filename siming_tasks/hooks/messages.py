"""What a model is sent: one builder behind all three hooks, so that simple and chat models get the same."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from siming_tasks.errors import OptionsError
from siming_tasks.files import sha256_json
from siming_tasks.hooks.docs import dataset_at, run_settings
from siming_tasks.media import Budget, Mode, Request, View, matched_budget, view
from siming_tasks.options import Options
from siming_tasks.rubrics import RubricStep
from siming_tasks.schema import Video
from siming_tasks.settings import SETTINGS
from siming_tasks.settings.prompt import build_prompt, frame_caption, frames_note
from siming_tasks.settings.requests import asked_steps

__all__ = ["doc_steps", "doc_to_messages", "doc_to_target", "doc_to_text", "doc_to_visual", "prompt_hash", "shown"]

Doc = Mapping[str, Any]
Backend = Mapping[str, Any] | None


@lru_cache(maxsize=4096)
def _asked(root: str, setting: str, video_id: str, step_id: str) -> tuple[RubricStep, ...]:
    dataset = dataset_at(root)
    names = {step_id} if step_id else set(asked_steps(SETTINGS[setting], dataset.video(video_id)))
    return tuple(step for step in dataset.rubric.steps if step.id in names)


@lru_cache(maxsize=1024)
def _written(setting: str, root: str, names: tuple[str, ...]) -> tuple[str, str]:
    """Prompt and its hash; the same for every video that is asked about the same steps."""
    steps = dataset_at(root).rubric.by_id
    text = build_prompt(SETTINGS[setting], [steps[name] for name in names])
    return text, sha256_json(text)[:12]


def doc_steps(doc: Doc) -> tuple[RubricStep, ...]:
    """The rubric steps that a document asks about, in rubric order."""
    return _asked(doc["root"], doc["setting"], doc["video_id"], doc["step_id"])


def _prompt(doc: Doc) -> str:
    return _written(doc["setting"], doc["root"], tuple(step.id for step in doc_steps(doc)))[0]


def prompt_hash(doc: Doc) -> str:
    """Twelve hex digits of the document's prompt."""
    return _written(doc["setting"], doc["root"], tuple(step.id for step in doc_steps(doc)))[1]


def _mode(options: Backend, settings: Options) -> Mode:
    """How the backend gets its media: by the task file's table, unless ``SIMING_MEDIA`` says otherwise.

    Raises:
        OptionsError: a video file is asked for where lmms-eval would send wrong frames of it.
    """
    options = options or {}
    wanted: Mode = settings.media if settings.media != "auto" else options.get("media", "video")
    if wanted != "frames" and options.get("video") == "refused":
        raise OptionsError(
            f"SIMING_MEDIA={wanted}: with this backend lmms-eval 0.7.3 replaces frames of a video by older ones "
            "(docs/media.md). Unset SIMING_MEDIA; the backend then gets the frames as images."
        )
    return wanted


@dataclass(frozen=True)
class _Shown:
    """What was last built for each document: the only memory between asking and scoring (lmms-eval offers none)."""

    entries: OrderedDict[str, dict[str, Any]]
    lock: Lock

    def put(self, name: str, info: dict[str, Any]) -> None:
        with self.lock:
            self.entries[name] = info
            while len(self.entries) > 100_000:
                self.entries.popitem(last=False)


_shown = _Shown(OrderedDict(), Lock())


def shown(doc: Doc) -> dict[str, Any]:
    """What the model was shown for a document; ``mode: unknown`` where the reply came from a cache."""
    return _shown.entries.get(doc["id"], {"mode": "unknown"})


def _request(video: Video, step_id: str, settings: Options) -> Request:
    """Which part of a video a document shows, and how many frames of it."""
    span = video.step(step_id).span if step_id else None
    if span is None:
        return Request(None, Budget(frames=settings.frames))
    if settings.clip_density == "matched":
        return Request(span, matched_budget(video.duration, settings.frames, span))
    return Request(span, Budget(frames=settings.clip_frames))


def _view(doc: Doc, options: Backend) -> View:
    settings = run_settings()
    dataset = dataset_at(doc["root"])
    video = dataset.video(doc["video_id"])
    request = _request(video, doc["step_id"], settings)
    mode = _mode(options, settings)
    frames = mode == "frames"
    # Whoever asks first has the whole video decoded once, for all four settings.
    clips = [step.step_id for step in video.applicable if step.span] if frames else []
    found = view(
        dataset.media_path(video),
        digest=dataset.media_digest(video),
        span=request.span,
        budget=request.budget,
        mode=mode,
        cache=settings.cache_dir,
        size=settings.frame_size,
        cache_gb=settings.cache_gb,
        also=[_request(video, name, settings) for name in ("", *clips)] if frames else (),
    )
    density = settings.clip_density if doc["step_id"] else "native"
    _shown.put(doc["id"], {**found.info(), "density": density})
    return found


def _times(doc: Doc, media: View) -> list[float]:
    """Seconds of each frame since the start of what is shown: a clip does not tell where it was cut from."""
    return [time - media.times[0] for time in media.times] if doc["step_id"] else list(media.times)


def doc_to_visual(doc: Doc, lmms_eval_specific_kwargs: Backend = None) -> list[Any]:
    """Simple models: the frames as images, or the path of the (clip's) video file."""
    media = _view(doc, lmms_eval_specific_kwargs)
    return [str(media.path)] if media.path else list(media.images())


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Backend = None) -> str:
    """Simple models: the prompt; in frames mode after a sentence with the frames' times."""
    mode = _mode(lmms_eval_specific_kwargs, run_settings())
    if mode == "frames":
        return f"{frames_note(_times(doc, _view(doc, lmms_eval_specific_kwargs)))}\n\n{_prompt(doc)}"
    if doc["id"] not in _shown.entries:  # all that is known of a request whose reply comes from a cache
        _shown.put(doc["id"], {"mode": mode})
    return _prompt(doc)


def doc_to_messages(doc: Doc, lmms_eval_specific_kwargs: Backend = None) -> list[dict[str, Any]]:
    """Chat models: one user turn with the media first, each frame after its time; a fresh list at every call."""
    media = _view(doc, lmms_eval_specific_kwargs)
    content: list[dict[str, Any]] = []
    if media.path:
        content.append({"type": "video", "url": str(media.path)})
    else:
        for time, image in zip(_times(doc, media), media.images(), strict=True):
            content += [{"type": "text", "text": frame_caption(time)}, {"type": "image", "url": image}]
    content.append({"type": "text", "text": _prompt(doc)})
    return [{"role": "user", "content": content}]


def doc_to_target(doc: Doc) -> str:
    """The consensus as JSON, for people who read the logged samples; metrics do not use it."""
    video = dataset_at(doc["root"]).video(doc["video_id"])
    points = {step.id: video.step(step.id).consensus for step in doc_steps(doc)}
    if SETTINGS[doc["setting"]].answer == "score":
        return json.dumps(points)
    best = {step.id: step.max_score for step in doc_steps(doc)}
    words = {
        name: None if got is None else ("correct" if got >= best[name] else "incorrect") for name, got in points.items()
    }
    return json.dumps(words)
