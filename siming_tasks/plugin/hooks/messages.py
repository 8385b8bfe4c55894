"""What a model is sent: one builder behind all three hooks, so that simple and chat models get the same."""

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
"""What a task file says for a model (``lmms_eval_specific_kwargs``); ours say nothing, the model's class decides."""


def shown_view(doc: Doc, table: Table) -> View | None:
    """The media of a document; whoever asks first has the whole video decoded once, for all settings.

    None where an ablation shows nothing.
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
        also=opened.requests(policy, video.video_id) if mode.images else (),
        sampler=request.sampler,
        file=not setting.ablation or setting.ablation.shows_other_exam,
    )
    if not setting.ablation:
        return found
    request_of = f"{doc['video_id']}/{doc['step_id']}"
    return ablate(found, setting.ablation, request_of, cache=cache, cache_gb=options.cache_gb)


def _facts(doc: Doc, found: View | None) -> dict[str, Any]:
    """What stands in the record of a document of what it shows."""
    setting = TASKS[doc["setting"]]
    shown = found.info() if found else NOTHING_SHOWN
    facts = {**shown, "density": RUN.policy.density_of(setting.scope)}
    if found and found.sampler != SAMPLER and setting.scope == "full":
        facts["steps"] = _frames_by_step(doc, found)
    if setting.ablation:
        facts["ablation"] = setting.ablation.name
    if setting.ablation.shows_other_exam:
        opened = RUN.dataset_of(doc)
        facts["mismatched_video"] = opened.mismatched.of(opened.dataset.video(doc["video_id"]), doc["step_id"] or None)[
            0
        ].video_id
    return facts


def _frames_by_step(doc: Doc, found: View) -> dict[str, int]:
    """How many of the frames that were chosen by content lie within each step: the mean rate does not tell."""
    steps = RUN.dataset_of(doc).dataset.video(doc["video_id"]).applicable
    spans = {step.step_id: step.span for step in steps if step.span}
    return {name: sum(start <= time < end for time in found.times) for name, (start, end) in spans.items()}


def _shown(doc: Doc, table: Table) -> tuple[View | None, list[Any]]:
    """The media of a document that is being sent, and in frames mode its images; what they are is remembered."""
    found, policy, backend = shown_view(doc, table), RUN.policy, RUN.backend
    images: list[Any] = []
    sent = None
    if found and not found.path and backend.images == "paths":  # a model that opens them itself
        images = list(map(str, found.files()))
    elif found and not found.path:
        images, sent = found.to_send(policy.encoding, decode=not backend.encodes)
    RUN.record_media(doc, _facts(doc, found), sent)
    return found, images


def _prompt(doc: Doc) -> str:
    return RUN.dataset_of(doc).prompt(doc, RUN.options.prompt)[0]


def _times(doc: Doc, media: View) -> list[float]:
    """Seconds of each frame since the start of what is shown: a clip does not tell where it was cut from."""
    return [time - media.times[0] for time in media.times] if doc["step_id"] else list(media.times)


def _shows_times(doc: Doc) -> bool:
    return TASKS[doc["setting"]].ablation.shows_times


def doc_to_visual(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> list[Any]:
    """Simple models: the frames as images, or the path of the (clip's) video file; empty if an ablation shows none."""
    media, images = _shown(doc, lmms_eval_specific_kwargs)
    return [str(media.path)] if media and media.path else list(images)


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> str:
    """Simple models: the prompt; in frames mode after a sentence with the frames' times."""
    setting = TASKS[doc["setting"]]
    mode = RUN.media_mode(lmms_eval_specific_kwargs, setting)
    media = shown_view(doc, lmms_eval_specific_kwargs) if mode.images else None
    if media or not setting.ablation.shows_media:
        RUN.record_media(doc, _facts(doc, media), overwrite=False)
    else:
        RUN.record_media(
            doc, {"mode": mode.name}, overwrite=False
        )  # all that is known of a request whose reply comes from a cache
    return f"{frames_note(_times(doc, media), _shows_times(doc))}\n\n{_prompt(doc)}" if media else _prompt(doc)


def doc_to_messages(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> list[dict[str, Any]]:
    """Chat models: one user turn with the media first, each frame after its time; a fresh list at every call."""
    media, images = _shown(doc, lmms_eval_specific_kwargs)
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
    """The consensus as JSON, for people who read the logged samples; metrics do not use it."""
    opened = RUN.dataset_of(doc)
    video, steps = opened.dataset.video(doc["video_id"]), opened.steps(doc)
    points = {step.id: video.step(step.id).consensus for step in steps}
    if TASKS[doc["setting"]].answer == "score":
        return json.dumps(points)
    best = {step.id: step.max_score for step in steps}
    words = {name: None if got is None else verdict_word(got < best[name]) for name, got in points.items()}
    return json.dumps(words)
