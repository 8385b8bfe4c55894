"""Messages to a model, and how their images leave: one builder behind all three hooks, for simple and chat models.

lmms-eval 0.7.3 sends every image as PNG unless an environment variable of the whole process says otherwise, which would
change other tasks of the same run too. During a run of our tasks, the functions that encode give
:class:`~siming_tasks.media.StoredImage` its stored bytes and treat all other images as ever; where a class then writes
"png" before whatever it sends, the message gets the media type of the bytes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import Span
from siming_tasks.benchmark.tasks.prompt import frame_caption, frames_note
from siming_tasks.benchmark.types import verdict_word
from siming_tasks.data.consent import HERE
from siming_tasks.data.gate import built
from siming_tasks.data.transcript import Utterance, said_within, transcript_facts, transcript_of, transcript_text
from siming_tasks.media import (
    NOTHING_SHOWN,
    UNKNOWN,
    Backend,
    FrameStore,
    Sound,
    StoredImage,
    View,
    ablate,
    decoder,
    sound_of,
    view,
)
from siming_tasks.plugin import host
from siming_tasks.plugin.reply import ASKED
from siming_tasks.plugin.run_context import Doc, RunContext, current_run

Table = Mapping[str, Any] | None
"""Settings that a task file has for a model (``lmms_eval_specific_kwargs``); ours have none, the class decides."""


def shown_view(run: RunContext, doc: Doc, table: Table, *, made: bool = True) -> View | None:
    """Media of a document; None where nothing is shown: without video, or sound alone.

    The first call for a video decodes all of it once, for all tasks; ``made=False`` decodes and writes nothing.
    """
    dataset, policy, setting = run.dataset, run.policy, TASKS[doc["setting"]]
    ablation, video = setting.ablation, dataset.video(doc["video_id"])
    span = video.step(doc["step_id"]).span if doc["step_id"] else None
    if not setting.shows_media:
        return None
    mode = run.media_mode(table, setting)

    def view_of(video: Video, span: Span, made: bool = made) -> View:
        request = policy.request(video.duration, span, setting.scope)
        return view(
            dataset.media_path(video),
            digest=dataset.media_digest(video, run.options.cache_dir),
            span=request.span,
            frames=request.frames,
            mode=mode,
            cache=run.options.cache_dir,
            size=policy.frame_size,
            cache_gb=run.options.cache_gb,
            also=lambda: policy.requests(video),
            sampler=request.sampler,
            made=made and not (ablation and not mode.images),
            plain=run.recipient != HERE and not dataset.simulated.videos,
        )

    if not ablation:
        return view_of(video, span)
    own: tuple[float, ...] = ()
    if ablation.shows_other_exam:
        own = view_of(video, span, made=False).times
        video, span = run.mismatched.of(video, doc["step_id"] or None)
    return ablate(view_of(video, span), ablation, f"{doc['video_id']}/{doc['step_id']}", own=own)


def _part_of(run: RunContext, doc: Doc) -> tuple[Video, tuple[float, float]]:
    """Video of a document and the seconds of it that are asked about."""
    video = run.dataset.video(doc["video_id"])
    span = video.step(doc["step_id"]).span if doc["step_id"] else None
    return video, span or (0.0, video.duration)


def heard_sound(run: RunContext, doc: Doc) -> Sound | None:
    """Sound of the part that a document asks about, as long as the part; None where none is given."""
    if not TASKS[doc["setting"]].modality.sound:
        return None
    store = _store_of(run, doc)
    store.touch()
    return sound_of(store).part(*_part_of(run, doc)[1])


def _store_of(run: RunContext, doc: Doc) -> FrameStore:
    """Folder of all that is stored about a document's video."""
    dataset, cache = run.dataset, run.options.cache_dir
    video = dataset.video(doc["video_id"])
    return FrameStore(
        cache, dataset.media_path(video), dataset.media_digest(video, cache), cache_gb=run.options.cache_gb
    )


def read_transcript(run: RunContext, doc: Doc) -> tuple[Utterance, ...] | None:
    """Utterances in the part that a document asks about; None where no transcript is given."""
    if not TASKS[doc["setting"]].modality.transcript:
        return None
    video, part = _part_of(run, doc)
    return said_within(transcript_of(video) or (), *part)


def media_facts(run: RunContext, doc: Doc, media: View | None) -> dict[str, Any]:
    """Description of a document's media for its record."""
    setting = TASKS[doc["setting"]]
    facts = {**(media.info() if media else NOTHING_SHOWN), "density": run.policy.density_of(setting.scope)}
    if (sound := heard_sound(run, doc)) is not None:
        facts |= {"sound": sound.info(), "decoder": decoder()}
    if (transcript := read_transcript(run, doc)) is not None:
        facts["transcript"] = transcript_facts(transcript)
    if setting.ablation:
        facts["ablation"] = setting.ablation.name
    if setting.ablation.shows_other_exam:
        video = run.dataset.video(doc["video_id"])
        facts["mismatched_video"] = run.mismatched.of(video, doc["step_id"] or None)[0].video_id
    return facts


def facts_by_rule(run: RunContext, doc: Doc, table: Table) -> dict[str, Any]:
    """Description of the media that a document has, where a class has built them in another process, or not at all."""
    setting = TASKS[doc["setting"]]
    mode = run.media_mode(table, setting)
    if setting.shows_media and not mode.images:
        return {"mode": mode.name}
    return media_facts(run, doc, shown_view(run, doc, table, made=False))


@dataclass(frozen=True)
class _Sent:
    """Media of a document that is being sent: its view, and images, a file and sounds in the forms of the class."""

    view: View | None
    images: list[Any]
    file: str | None
    sounds: list[Any]


def _media_to_send(run: RunContext, doc: Doc, table: Table) -> _Sent:
    """Media of a document that is being sent; the request that is asked learns what they are."""
    if TASKS[doc["setting"]].gives_recordings:
        built(run.dataset)
    media, backend = shown_view(run, doc, table), run.backend
    images: list[Any] = []
    sent = None
    if media and not media.path and backend.images == "paths":  # the model opens the files itself
        images = list(map(str, media.files()))
    elif media and not media.path:
        images, sent = media.to_send(decode=not backend.encodes)
    if asked := ASKED.get():
        asked.facts, asked.sent = media_facts(run, doc, media), sent
    sounds: list[Any] = []
    if (sound := heard_sound(run, doc)) is not None:
        store, form = _store_of(run, doc), backend.hears or "path"
        sounds = [piece.to_send(form, store) for piece in sound.pieces(backend.sound_seconds)]
    return _Sent(media, images, str(media.path) if media and media.path else None, sounds)


def _prompt(run: RunContext, doc: Doc) -> str:
    """Text of a question: the prompt, after the transcript where one is given."""
    prompt, transcript = run.prompt(doc)[0], read_transcript(run, doc)
    return prompt if transcript is None else f"{transcript_text(transcript)}\n\n{prompt}"


def _times(doc: Doc, media: View) -> list[float]:
    """Times of the frames in seconds from the start of what is shown: a clip must not show where it was cut from."""
    return [time - media.times[0] for time in media.times] if doc["step_id"] else list(media.times)


def doc_to_visual(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> list[Any]:
    """Media for simple models: frames as images, or the path of a video file, then sound; empty if none is shown."""
    sent = _media_to_send(current_run(), doc, lmms_eval_specific_kwargs)
    return [*([sent.file] if sent.file else sent.images), *sent.sounds]


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> str:
    """Prompt for simple models; in frames mode after a sentence with the frames' times."""
    run, setting = current_run(), TASKS[doc["setting"]]
    mode = run.media_mode(lmms_eval_specific_kwargs, setting)
    media = shown_view(run, doc, lmms_eval_specific_kwargs, made=False) if mode.images else None
    prompt = _prompt(run, doc)
    return f"{frames_note(_times(doc, media), setting.ablation.shows_times)}\n\n{prompt}" if media else prompt


def doc_to_messages(doc: Doc, lmms_eval_specific_kwargs: Table = None) -> list[dict[str, Any]]:
    """Message for chat models: one user turn, media first, each frame after its time; a new list at every call."""
    run = current_run()
    sent = _media_to_send(run, doc, lmms_eval_specific_kwargs)
    shows_times = TASKS[doc["setting"]].ablation.shows_times
    content: list[dict[str, Any]] = []
    if sent.file:
        content.append({"type": "video", "url": sent.file})
    elif sent.view:
        for time, image in zip(_times(doc, sent.view), sent.images, strict=True):
            content += [{"type": "text", "text": frame_caption(time)}] if shows_times else []
            content.append({"type": "image", "url": image})
    content += [{"type": "audio", "url": sound} for sound in sent.sounds]
    content.append({"type": "text", "text": _prompt(run, doc)})
    return [{"role": "user", "content": content}]


def doc_to_target(doc: Doc) -> str:
    """Consensus as JSON, for people who read the logged samples; metrics do not use it."""
    run = current_run()
    video, steps = run.dataset.video(doc["video_id"]), run.steps(doc)
    points = {step.id: video.step(step.id).consensus for step in steps}
    if TASKS[doc["setting"]].answer == "score":
        return json.dumps(points)
    best = {step.id: step.max_score for step in steps}
    words = {name: None if got is None else verdict_word(got < best[name]) for name, got in points.items()}
    return json.dumps(words)


@contextmanager
def stored_images_sent(model: Any = None, backend: Backend = UNKNOWN) -> Iterator[None]:
    """While the block runs, a model sends stored frames as they are."""
    with ExitStack() as stack:
        stack.enter_context(host.replaced(_ENCODERS))
        if backend.name in ("simple.gpt4v", "simple.openai") and (client := getattr(model, "client", None)):
            place = client.chat.completions
            stack.enter_context(host.swapped("client:chat.completions.create", place, _with_media_types(place.create)))
        yield


def _base64(encode_image: Any, self: Any, image: Any, *args: Any, **kwargs: Any) -> Any:
    if not isinstance(image, StoredImage):
        return encode_image(self, image, *args, **kwargs)
    return base64.b64encode(image.as_jpeg()).decode("ascii")


def _data_urls(encode_image: Any, self: Any, image: Any) -> Any:
    images = image if isinstance(image, list) else [image]
    if not all(isinstance(one, StoredImage) for one in images):
        return encode_image(self, image)
    urls = [one.data_url() for one in images]
    return urls if isinstance(image, list) else urls[0]


def _gemini_bytes(image_to_bytes: Any, img: Any, fmt: str = "PNG") -> Any:
    return img.as_jpeg() if isinstance(img, StoredImage) else image_to_bytes(img, fmt)


def _claude_size(get_image_size: Any, self: Any, image: Any) -> Any:
    return len(image.as_jpeg()) if isinstance(image, StoredImage) else get_image_size(self, image)


def _one_tile(load_image: Any, image: Any, input_size: int = 448, max_num: int = 1) -> Any:
    return load_image(image, input_size=input_size, max_num=1)


def _frames_by_place(read_video: Any, path: Any, num_frm: int = 8, **kwargs: Any) -> Any:
    return read_video(path, num_frm=num_frm, **kwargs)


def _labelled(convert: Any, *args: Any, **kwargs: Any) -> Any:
    return _named_as_jpeg(convert(*args, **kwargs))


def _with_media_types(send: Any) -> Any:
    def send_with_media_types(*args: Any, **kwargs: Any) -> Any:
        _named_as_jpeg(kwargs.get("messages") or ())
        return send(*args, **kwargs)

    return send_with_media_types


def _named_as_jpeg(messages: Any) -> Any:
    """Messages for OpenAI's interface whose data URLs name JPEG by its first bytes, where they say PNG."""
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            image = part.get("image_url")
            if isinstance(image, dict) and str(image.get("url", "")).startswith(_JPEG_NAMED_PNG):
                image["url"] = image["url"].replace("image/png", "image/jpeg", 1)
    return messages


def _gemini_labelled(convert: Any, *args: Any, **kwargs: Any) -> Any:
    contents = convert(*args, **kwargs)
    for part in (part for content in contents for part in content.parts if part.inline_data):
        if part.inline_data.data.startswith(b"\xff\xd8\xff"):
            part.inline_data.mime_type = "image/jpeg"
    return contents


_JPEG_NAMED_PNG = "data:image/png;base64,/9j/"
_ENCODERS: Mapping[str, host.Wrap] = {
    "lmms_eval.protocol:ChatMessages.encode_image": _base64,
    "lmms_eval.protocol:ChatMessages.to_openai_messages": _labelled,
    "lmms_eval.protocol:ChatMessages.to_qwen3_vl_openai_messages": _labelled,
    "lmms_eval.models.chat.gemini:_image_to_bytes": _gemini_bytes,
    "lmms_eval.models.chat.gemini:_chat_messages_to_gemini_contents": _gemini_labelled,
    "lmms_eval.models.simple.claude:Claude.get_image_size": _claude_size,
    "lmms_eval.models.simple.gpt4v:GPT4V.encode_image": _base64,
    "lmms_eval.models.simple.openai:OpenAICompatible.encode_image": _base64,
    "lmms_eval.models.simple.reka:Reka.encode_image": _data_urls,
    "lmms_eval.models.simple.internvl2:load_image": _one_tile,
    "lmms_eval.models.simple.video_llava:read_video": _frames_by_place,
}
"""Functions of lmms-eval that encode or cut images, with their replacements."""
