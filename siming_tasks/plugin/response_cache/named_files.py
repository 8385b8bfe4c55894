"""Stamps of the files that an argument of a model names: prompts, chat templates, adapters, tokenizers, weights.

An argument may name a file by any path, also a bare name in the working folder, and may do so within a list, a mapping
or a text of JSON. What such a file holds decides the replies, hence its stamp is part of their keys.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

CONTENT_BYTES = 64 * 2**20
"""A file or folder up to this size is known by what it holds; a larger one by names, sizes and dates."""

MAX_FILES = 10_000

BY_CONTENT = "sha256:"
"""Beginning of the stamp of what is known by its contents."""

_MODEL_FILE = re.compile(r".*\.(safetensors|bin|pt|pth|gguf|model|jinja)|(.*_)?config\.json|(tokenizer|vocab|merges).*")
"""Name of a file that a model is loaded from."""

_WRITTEN = re.compile(r"(^|_)(cache|download|generated|intermediate|logs?|offload|output|persistent|save|te?mp|work)")
"""Part of the name of an argument that says where a run writes, which decides no reply."""

_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_HUB_FILES = ("config.json", "adapter_config.json", "tokenizer_config.json")


class UnidentifiedModel(Exception):
    """Reason why a model's replies may depend on something that cannot be read: another model could look the same."""


def file_stamps(arguments: Mapping[str, Any], *, hub: bool = True) -> dict[str, str]:
    """Stamp of every file and folder that an argument names, by the argument's name (``a.b`` within a mapping).

    Args:
        arguments: of a model, of its generation, or of the environment; objects in them are passed over.
        hub: also the commit of a model of the Hugging Face hub, as far as it is in the local cache.

    Returns:
        ``sha256:`` and 16 hexadecimal digits by contents; only 16 digits by names, sizes and dates; or a commit.

    Raises:
        UnidentifiedModel: a folder holds more than :data:`MAX_FILES` files.
    """
    stamps = {}
    for name, text in _texts("", arguments):
        # a file that cannot be read, and a text that cannot be a path, is no file that a model could read
        with suppress(OSError, ValueError):
            if stamp := _stamp(name, text) or (_commit_in_hub_cache(text) if hub else None):
                stamps[name] = stamp
    return stamps


def known_by_date(stamps: Mapping[str, str]) -> list[str]:
    """Names of the arguments whose files are too large to be read: a copy of them is taken for another one."""
    return [name for name, stamp in stamps.items() if len(stamp) == 16 and not stamp.startswith(BY_CONTENT)]


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, str):
        if value[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                yield from _texts(name, json.loads(value))
                return
        if 0 < len(value) < 4096:
            yield name, value
    elif isinstance(value, Mapping | list | tuple):
        entries = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, entry in entries:
            yield from _texts(f"{name}.{key}" if name else str(key), entry)


def _stamp(name: str, text: str) -> str | None:
    if _WRITTEN.search(name):
        return None
    path = Path(os.path.expanduser(text))  # Path.expanduser raises where there is no such user
    if path.is_file():
        return _digest([path], path.parent)
    if not path.is_dir():
        return None
    files = list(islice((file for file in path.rglob("*") if file.is_file()), MAX_FILES + 1))
    # a bare word (the name of a model at a service, a device) may also be that of the folder that a run writes to
    if os.sep not in text and not any(_MODEL_FILE.fullmatch(file.name) for file in files):
        return None
    if len(files) > MAX_FILES:
        raise UnidentifiedModel(f"{path} holds more than {MAX_FILES:,} files")
    return _digest(sorted(files), path)


def _digest(files: list[Path], root: Path) -> str:
    digest, stats = hashlib.sha256(), [file.stat() for file in files]
    small = sum(stat.st_size for stat in stats) <= CONTENT_BYTES
    for file, stat in zip(files, stats, strict=True):
        known_by = hashlib.sha256(file.read_bytes()).hexdigest() if small else stat.st_mtime_ns
        digest.update(f"{file.relative_to(root)}\0{stat.st_size}\0{known_by}\n".encode())
    return f"{BY_CONTENT if small else ''}{digest.hexdigest()[:16]}"


def _commit_in_hub_cache(name: str) -> str | None:
    if not _HUB.fullmatch(name):
        return None
    from huggingface_hub import try_to_load_from_cache

    for file in _HUB_FILES:
        if isinstance(path := try_to_load_from_cache(name, file), str):
            return Path(path).parent.name
    return None
