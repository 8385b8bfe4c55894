"""Facts of a run that leave it: an allow-list, the one place that decides what records, pages and archives name.

A model's arguments can contain API keys, an address a password, a folder's name a person's name. Secrets cannot be
recognised by their form, so nothing searches for them: what is not named here stays in lmms-eval's own files, and an
error of a service is its status and its code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from siming_tasks.common.sanitize import is_number

REST = "***"
"""Placeholder for what is not named."""

NAMES = frozenset({"model", "model_version", "model_name", "model_id", "pretrained", "peft"})
"""Arguments of a class of lmms-eval that name its model."""

WORDS = frozenset({"dtype", "torch_dtype", "attn_implementation", "quantization", "modality", "conv_template", "kind"})
"""Arguments that are a word."""

NUMBERS = frozenset({
    "max_frames_num", "max_num_frames", "max_frames", "num_frames", "video_max_frames", "fps", "force_sample",
    "max_num", "max_patches", "max_pixels", "min_pixels", "max_image_size", "max_model_len", "enable_thinking",
    "max_new_tokens", "max_completion_tokens", "max_tokens", "temperature", "top_p", "top_k", "min_p", "do_sample",
    "num_beams", "seed", "media", "repetition_penalty", "presence_penalty", "frequency_penalty", "use_cache",
})  # fmt: skip
"""Arguments of a class or of generation that are a number, or true or false."""

OPTIONS = frozenset({"media", "frames", "clip_frames", "frame_size", "clip_density", "sampler", "prompt", "ask",
                     "schema"})  # fmt: skip
"""Our own options that a task's facts state."""

RUN_FACTS = ("model", "judge", "batch_size", "offset", "limit", "seeds", "seconds", "date", "lmms_eval_version",
             "git_hash")  # fmt: skip
"""Facts of a run that are numbers or words."""

TASK_FACTS = ("version", "siming_dataset", "siming_digest", "siming_prompt", "siming_media", "siming_ablation", "split",
              "attempts", "shard")  # fmt: skip
"""Facts that the suite states about a task, besides the options."""

MEDIA = frozenset({"mode", "n_frames", "file_frames", "indices", "range", "start", "end", "fps", "file_fps", "size",
                   "density", "quality", "encoding", "bytes", "sampler", "pixels", "decoder", "reader", "ablation",
                   "mismatched_video", "sound", "transcript"})  # fmt: skip
"""Facts about what a model was shown."""

_NAME = re.compile(r"[\w.+@-]+(?:/[\w.+@-]+)?(?::[\w.+-]+)?")
_WORD = re.compile(r"[\w.+-]{1,64}(?:(?:[ :/]|, | \()[\w.+-]{1,64}\)?){0,4}")
_NUMBER = re.compile(r"[+-]?\d{1,12}(?:\.\d{1,12})?(?:e-?\d{1,3})?|true|false|none", re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z][A-Za-z_.-]{0,59}|\d{1,6}")
_ADDRESS = re.compile(
    r"""://|%3a%2f|:[^/]*@                           # a scheme, a password
    |@[^/]*:|@[^/]*\.[a-z]|@\d+(?:\.\d+){3}          # a user at a host; name@v1.2 is a revision
    |^[^/]*:\d{2,5}(?:/|$)                           # host:port; name:7b is a tag
    |^(?:localhost|[^/]*\.[^/]*)/v\d+/?$|^\d+(?:\.\d+){3}(?:/|$)  # a host and the folder of its interface
    """,
    re.IGNORECASE | re.VERBOSE,
)
_LOCAL = re.compile(r"[\\/~]|[A-Za-z]:[\\/]|\.{1,2}[\\/]|[\w.-]+(?:/[\w.-]+){2,}/?\Z")
"""A path on this machine, or in a service's own folders: names of the hub have one slash."""


def public_name(name: object) -> str:
    """Name of a model: of a path its last part, of a model tuned for somebody what it was tuned from; no address.

    Example:
        >>> [public_name(name) for name in ("Qwen/Qwen2.5-VL-7B-Instruct", "/home/li/ckpt/qwen-7b", "runs/li/merged/")]
        ['Qwen/Qwen2.5-VL-7B-Instruct', 'qwen-7b', 'merged']
        >>> [public_name(name) for name in ("https://me:pw@host/model", "ft:gpt-4o-2024-08-06:acme::9abc", "m?key=1")]
        ['***', 'ft:gpt-4o-2024-08-06:***', 'm']
        >>> [public_name(name) for name in ("li@node7.hospital.local:8000/v1", "node7:8000", "llama3.2:3b", "o/m@v1.2")]
        ['***', '***', 'llama3.2:3b', 'o/m@v1.2']
    """
    text = str(name)
    if _ADDRESS.search(text):
        return REST
    if tuned := re.match(r"ft:[\w.-]+", text):
        return f"{tuned[0]}:{REST}"
    if _LOCAL.match(text):
        text = re.split(r"[\\/]", text.rstrip("\\/"))[-1]
    known = _NAME.match(text)
    return known[0] if known else REST


def asked_name(name: str) -> str:
    """Name by which a service is asked for a model, with its folders: prices go by it. No address, no local path."""
    plain = re.fullmatch(r"[\w-][\w.-]*(?:[/@+][\w.-]+)*(?::[\w.-]+)?", name)
    return name if plain and not name.startswith("ft:") and not _ADDRESS.search(name) else public_name(name)


def public_word(value: object) -> str:
    """A word or a few as they are; anything else is not named."""
    return str(value) if _WORD.fullmatch(str(value)) else REST


def public_arguments(arguments: object) -> str:
    """Arguments of a model or of generation, ``name=value,...``: those of the list, and a mark for what else was given.

    Example:
        >>> public_arguments("pretrained=/home/li/ckpt/qwen-7b,base_url=http://node7:8000/v1,dtype=auto,max_num_frames=8")
        'pretrained=qwen-7b,dtype=auto,max_num_frames=8,***'
        >>> public_arguments({"temperature": 0, "until": []}), public_arguments("")
        ('temperature=0', '')
    """
    if isinstance(arguments, Mapping):
        given = {str(name): value for name, value in arguments.items() if value not in (None, "", [], {})}
    else:
        given = dict(part.partition("=")[::2] for part in str(arguments or "").split(",") if part)
    shown = {}
    for name, value in given.items():
        if name in NAMES:
            shown[name] = public_name(value)
        elif name in WORDS:
            shown[name] = public_word(value)
        elif name in NUMBERS and _NUMBER.fullmatch(str(value)):
            shown[name] = str(value)
    known = [f"{name}={value}" for name, value in shown.items() if value != REST]
    return ",".join([*known, *([REST] if len(known) < len(given) else [])])


def public_media(media: Mapping[str, Any]) -> dict[str, Any]:
    """Facts about what a model was shown, of the list alone."""
    return {name: public_value(value) for name, value in media.items() if name in MEDIA and value is not None}


def public_value(value: Any, depth: int = 3) -> Any:
    """A number as it is, a word (:func:`public_word`), and lists and objects of these."""
    if value is None or isinstance(value, bool) or is_number(value):
        return value
    if depth and isinstance(value, Mapping):
        return {public_word(name): public_value(item, depth - 1) for name, item in value.items()}
    if depth and isinstance(value, list | tuple):
        return [public_value(item, depth - 1) for item in value]
    return public_word(value)


def public_code(code: object) -> str:
    """Code of a service's error: letters, or a number; "" for any other text, which may repeat what was sent.

    Example:
        >>> public_code("rate_limit_exceeded"), public_code(429), public_code("no such key: sk-1f2e")
        ('rate_limit_exceeded', '429', '')
    """
    return str(code) if code is not None and _CODE.fullmatch(str(code)) else ""


def public_run(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of how a run was made, by name as lmms-eval's files or an archive have them; others are left out."""
    tasks: Mapping[str, Any] = given if isinstance(given := stated.get("tasks"), Mapping) else {}
    facts = {
        **{name: public_value(stated.get(name)) for name in RUN_FACTS},
        **{name: public_arguments(stated.get(name)) for name in ("model_args", "gen_kwargs", "generation")},
        "model_name": public_name(stated["model_name"]) if stated.get("model_name") else None,
        "tasks": {public_word(name): _task_facts(known) for name, known in tasks.items() if isinstance(known, Mapping)},
    }
    return {name: value for name, value in facts.items() if value not in (None, "", {}, REST)}


def _task_facts(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that the suite itself states of a task, and its options."""
    named = {name: public_word(metadata[name]) for name in TASK_FACTS if metadata.get(name)}
    try:
        stated = dict(json.loads(str(metadata.get("siming_options"))))
    except (TypeError, ValueError, RecursionError):
        return named
    options = {name: value for name, value in stated.items() if name in OPTIONS and public_value(value) == value}
    return {**named, **({"siming_options": json.dumps(options)} if options else {})}
