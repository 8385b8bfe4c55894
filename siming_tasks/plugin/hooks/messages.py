"""Messages to a model: one builder behind all three hooks, so that simple and chat models get the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from siming_tasks.common.schema import verdict_word
from siming_tasks.media import NOTHING_SHOWN, SAMPLER, View, ablate, view
from siming_tasks.plugin.hooks.dataset_cache import Doc
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.prompt import frame_caption, frames_note

__all__ = ["doc_to_messages", "doc_to_target", "doc_to_text", "doc_to_visual", "shown_view"]

Table = Mapping[str, Any] | None
"""Settings that a task file has for a model (``lmms_eval_specific_kwargs``); ours have none, the class decides."""


def shown_view(doc: Doc, table: Table) -> View | None:
    """Media of a document; None where an ablation shows nothing.

    The first call for a video decodes all of it once, for all tasks.
    """
    opened, options, policy = RUN.dataset_of(doc), RUN.options, RUN.policy
    cache, dataset, setting = RUN.cache_dir, opened.dataset, TASKS[doc["setting"]]
    video = dataset.video(doc["video_id"])
    span = video.step(doc["step_id"]).span if doc["step_id"] else None
    if not setting.ablation.shows_media:
        return None
    if setting.ablation.shows_other_exam:
        video, span = opened.mismatched.of(video, doc["step_id"] or None)
    request = policy.request(video.duration, span, setting.scope)
    mode = RUN.media_mode(table, setting)
    shown = view(
        dataset.media_path(video),
        digest=dataset.media_digest(video, cache),
        span=request.span,
        budget=request.budget,
        mode=mode,
        cache=cache,
        size=policy.frame_size,
        quality=policy.quality,
        cache_gb=options.cache_gb,
        also=opened.requests(policy, video.video_id) if mode.images else (),
        sampler=request.sampler,
        file=not setting.ablation or setting.ablation.shows_other_exam,
    )
    if not setting.ablation:
        return shown
    request_of = f"{doc['video_id']}/{doc['step_id']}"
    return ablate(shown, setting.ablation, request_of, cache=cache, cache_gb=options.cache_gb)


def _media_facts(doc: Doc, media: View | None) -> dict[str, Any]:
    """Description of a document's media for its record."""
    setting = TASKS[doc["setting"]]
    info = media.info() if media else NOTHING_SHOWN
    facts = {**info, "density": RUN.policy.density_of(setting.scope)}
    if media and media.sampler != SAMPLER and setting.scope == "full":
        facts["steps"] = _frames_by_step(doc, media)
    if setting.ablation:
        facts["ablation"] = setting.ablation.name
    if setting.ablation.shows_other_exam:
        opened = RUN.dataset_of(doc)
        other, _ = opened.mismatched.of(opened.dataset.video(doc["video_id"]), doc["step_id"] or None)
        facts["mismatched_video"] = other.video_id
    return facts


def _frames_by_step(doc: Doc, media: View) -> dict[str, int]:
    """Number of frames within each step, where frames were chosen by content: their mean rate does not tell it."""
    steps = RUN.dataset_of(doc).dataset.video(doc["video_id"]).applicable
    spans = {step.step_id: step.span for step in steps if step.span}
    return {name: sum(start <= time < end for time in media.times) for name, (start, end) in spans.items()}


def _media_to_send(doc: Doc, table: Table) -> tuple[View | None, list[Any]]:
    """Media of a document that is being sent, and in frames mode its images; records what they are."""
    media, policy, backend = shown_view(doc, table), RUN.policy, RUN.backend
    images: list[Any] = []
    sent = None
    if media and not media.path and backend.images == "paths":  # the model opens the files itself
        images = list(map(str, media.files()))
    elif media and not media.path:
        images, sent = media.to_send(policy.encoding, decode=not backend.encodes)
    RUN.record_media(doc, _media_facts(doc, media), sent)
    return media, images


def _prompt(doc: Doc) -> str:
    return RUN.dataset_of(doc).prompt(doc, RUN.options.prompt)[0]


def _times(doc: Doc, media: View) -> list[float]:
    """Times of the frames in seconds from the start of what is shown: a clip must not show where it was cut from."""
    return [time - media.times[0] for time in media.times] if doc["step_id"] else list(media.times)


def _shows_times(doc: Doc) -> bool:
    return TASKS[doc["setting"]].ablation.shows_times


def doc_to_visual(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> list[Any]:
    """Media for simple models: frames as images, or the path of a video file; empty if an ablation shows none."""
    media, images = _media_to_send(doc, lmms_eval_specific_kwargs)
    return [str(media.path)] if media and media.path else list(images)


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> str:
    """Prompt for simple models; in frames mode after a sentence with the frames' times."""
    setting = TASKS[doc["setting"]]
    mode = RUN.media_mode(lmms_eval_specific_kwargs, setting)
    media = shown_view(doc, lmms_eval_specific_kwargs) if mode.images else None
    if media or not setting.ablation.shows_media:
        RUN.record_media(doc, _media_facts(doc, media), overwrite=False)
    else:
        # all that is known of a request whose reply comes from a cache
        RUN.record_media(doc, {"mode": mode.name}, overwrite=False)
    return f"{frames_note(_times(doc, media), _shows_times(doc))}\n\n{_prompt(doc)}" if media else _prompt(doc)


def doc_to_messages(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> list[dict[str, Any]]:
    """Message for chat models: one user turn, media first, each frame after its time; a new list at every call."""
    media, images = _media_to_send(doc, lmms_eval_specific_kwargs)
    content: list[dict[str, Any]] = []
    if media and media.path:
        content.append({"type": "video", "url": str(media.path)})
    elif media:
        for time, image in zip(_times(doc, media), images, strict=True):
            content += [{"type": "text", "text": frame_caption(time)}] if _shows_times(doc) else []
            content.append({"type": "image", "url": image})
    content.append({"type": "text", "text": _prompt(doc)})
    return [{"role": "user", "content": content}]


def doc_to_target(doc: Doc) -> str:
    """Consensus as JSON, for people who read the logged samples; metrics do not use it."""
    opened = RUN.dataset_of(doc)
    video, steps = opened.dataset.video(doc["video_id"]), opened.steps(doc)
    points = {step.id: video.step(step.id).consensus for step in steps}
    if TASKS[doc["setting"]].answer == "score":
        return json.dumps(points)
    best = {step.id: step.max_score for step in steps}
    words = {name: None if got is None else verdict_word(got < best[name]) for name, got in points.items()}
    return json.dumps(words)
