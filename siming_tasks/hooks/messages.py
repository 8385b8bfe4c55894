"""What a model is sent: one builder behind all three hooks, so that simple and chat models get the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from siming_tasks.hooks.opened import Doc
from siming_tasks.hooks.session import SESSION
from siming_tasks.hooks.wire import help_the_host
from siming_tasks.media import View, view
from siming_tasks.settings import SETTINGS
from siming_tasks.settings.prompt import frame_caption, frames_note

__all__ = ["doc_to_messages", "doc_to_target", "doc_to_text", "doc_to_visual", "shown_view"]

Table = Mapping[str, Any] | None
"""What a task file says for a model (``lmms_eval_specific_kwargs``); ours say nothing, the model's class decides."""


def shown_view(doc: Doc, table: Table) -> View:
    """The media of a document; whoever asks first has the whole video decoded once, for all settings."""
    opened, options, policy = SESSION.of(doc), SESSION.options, SESSION.policy
    cache = options.cache_dir
    dataset, scope = opened.dataset, SETTINGS[doc["setting"]].scope
    video = dataset.video(doc["video_id"])
    request = policy.request(video.duration, video.step(doc["step_id"]).span if doc["step_id"] else None, scope)
    mode = SESSION.mode(table)
    found = view(
        dataset.media_path(video),
        digest=dataset.media_digest(video, cache),
        span=request.span,
        budget=request.budget,
        mode=mode,
        cache=cache,
        size=policy.frame_size,
        quality=policy.quality,
        cache_gb=options.cache_gb,
        also=opened.requests(policy, video.video_id) if mode == "frames" else (),
    )
    return found


def _shown(doc: Doc, table: Table) -> tuple[View, list[Any]]:
    """The media of a document that is being sent, and in frames mode its images; what they are is remembered."""
    help_the_host()
    found, policy, backend = shown_view(doc, table), SESSION.policy, SESSION.backend
    facts = {**found.info(), "density": policy.density_of(SETTINGS[doc["setting"]].scope)}
    images: list[Any] = []
    sent = None
    if not found.path and backend.images == "paths":  # a model that opens them itself
        images = list(map(str, found.files()))
    elif not found.path:
        images, sent = found.to_send(policy.encoding, decode=not backend.encodes)
    SESSION.show(doc, facts, sent)
    return found, images


def _prompt(doc: Doc) -> str:
    return SESSION.of(doc).prompt(doc)[0]


def _times(doc: Doc, media: View) -> list[float]:
    """Seconds of each frame since the start of what is shown: a clip does not tell where it was cut from."""
    return [time - media.times[0] for time in media.times] if doc["step_id"] else list(media.times)


def doc_to_visual(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> list[Any]:
    """Simple models: the frames as images, or the path of the (clip's) video file."""
    media, images = _shown(doc, lmms_eval_specific_kwargs)
    return [str(media.path)] if media.path else list(images)


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> str:
    """Simple models: the prompt; in frames mode after a sentence with the frames' times."""
    mode = SESSION.mode(lmms_eval_specific_kwargs)
    if mode == "frames":
        media = shown_view(doc, lmms_eval_specific_kwargs)
        SESSION.show(
            doc, {**media.info(), "density": SESSION.policy.density_of(SETTINGS[doc["setting"]].scope)}, again=False
        )
        return f"{frames_note(_times(doc, media))}\n\n{_prompt(doc)}"
    SESSION.show(doc, {"mode": mode}, again=False)  # all that is known of a request whose reply comes from a cache
    return _prompt(doc)


def doc_to_messages(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> list[dict[str, Any]]:
    """Chat models: one user turn with the media first, each frame after its time; a fresh list at every call."""
    media, images = _shown(doc, lmms_eval_specific_kwargs)
    content: list[dict[str, Any]] = []
    if media.path:
        content.append({"type": "video", "url": str(media.path)})
    else:
        for time, image in zip(_times(doc, media), images, strict=True):
            content += [{"type": "text", "text": frame_caption(time)}, {"type": "image", "url": image}]
    content.append({"type": "text", "text": _prompt(doc)})
    return [{"role": "user", "content": content}]


def doc_to_target(doc: Doc) -> str:
    """The consensus as JSON, for people who read the logged samples; metrics do not use it."""
    opened = SESSION.of(doc)
    video, steps = opened.dataset.video(doc["video_id"]), opened.steps(doc)
    points = {step.id: video.step(step.id).consensus for step in steps}
    if SETTINGS[doc["setting"]].answer == "score":
        return json.dumps(points)
    best = {step.id: step.max_score for step in steps}
    words = {
        name: None if got is None else ("correct" if got >= best[name] else "incorrect") for name, got in points.items()
    }
    return json.dumps(words)
