"""What of a model decides its replies: its class, its arguments, its weights and the libraries that run it.

Secrets are no part of it. How requests travel (timeouts, retries, how many at once) is none either: a run that was cut
short because a server was overloaded goes on with fewer requests at once.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import sys
from abc import ABC
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Generic

from siming_tasks.common.redact import MASK, redact
from siming_tasks.options import lmms_eval_variables

__all__ = ["Made", "Unknown", "conditions", "remember"]

TRANSPORT = frozenset(
    (
        "timeout",
        "max_retries",
        "retry_backoff_s",
        "num_concurrent",
        "num_cpus",
        "num_processes",
        "adaptive_concurrency",
        "adaptive_min_concurrency",
        "adaptive_max_concurrency",
        "adaptive_target_latency_s",
        "adaptive_increase_step",
        "adaptive_decrease_factor",
        "adaptive_failure_threshold",
        "prefix_aware_queue",
        "prefix_hash_chars",
        "httpx_trust_env",
        "work_dir",
        "disable_log_stats",
    )
)
"""Arguments of lmms-eval's models that say how requests travel and change no reply."""

_LIBRARIES = ("lmms_eval", "torch", "transformers", "vllm", "sglang")
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_HUB = re.compile(r"[\w.-]+/[\w.-]+")
MOST_FILES = 10_000


class Unknown(Exception):
    """What a model's replies depend on cannot be told; the words say why."""


@dataclass(frozen=True)
class Made:
    """How a model object was made: the arguments of its class."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def remember(base: Any) -> None:
    """Make every model object remember the arguments of its class. Does nothing twice.

    Args:
        base: ``lmms_eval.api.model.lmms``, of which all models are made.

    Raises:
        RuntimeError: the host's base class is not that of lmms-eval 0.7.3; nothing is changed then.
    """
    if getattr(base, "_siming_remembers", False):
        return
    if "__new__" in vars(base):
        raise RuntimeError("lmms_eval.api.model.lmms has another shape")

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        model = super(base, cls).__new__(cls)
        model.__dict__["_siming_made"] = Made(args, kwargs)
        return model

    base.__new__, base._siming_remembers = __new__, True


def conditions(model: object) -> dict[str, Any]:
    """Everything about a model that decides what it replies, as plain JSON without secrets.

    Args:
        model: an instance of one of the host's classes, made since :func:`remember`.

    Raises:
        Unknown: an argument is an object, or the class has no source: another model could look the same.
    """
    made: Made | None = vars(model).get("_siming_made")
    if made is None:
        raise Unknown("its class does not say how it was made")
    named = {**{str(number): value for number, value in enumerate(made.args)}, **made.kwargs}
    plain = {name: _plain(name, value) for name, value in sorted(named.items()) if name not in TRANSPORT}
    shown: dict[str, Any] = redact(plain)
    arguments = {name: value for name, value in shown.items() if value != MASK and plain[name] is not None}
    return {
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "source": _source(type(model)),
        "arguments": arguments,
        "files": {name: stamp for name, value in plain.items() if (stamp := _stamp(value))},
        "address": _address(model),
        "versions": {name: metadata.version(name) for name in _LIBRARIES if name in sys.modules and _installed(name)},
        "environment": lmms_eval_variables(),
    }


def _plain(name: str, value: Any) -> Any:
    """An argument as JSON holds it."""
    if name == "device" and isinstance(value, str):
        return value.partition(":")[0]  # which of several equal cards it is does not matter
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(name, one) for one in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(key, one) for key, one in value.items()}
    raise Unknown(f"its argument {name!r} is an object ({type(value).__name__})")


def _source(cls: type) -> str:
    """Hash of the files that define a class and those that it builds on: code that was edited answers otherwise."""
    digest = hashlib.sha256()
    for base in cls.__mro__:
        if base in (object, ABC, Generic):
            continue
        try:
            digest.update(Path(inspect.getfile(base)).read_bytes())
        except (OSError, TypeError):
            raise Unknown(f"the source of its class {base.__qualname__} cannot be read") from None
    return digest.hexdigest()[:16]


def _stamp(value: Any) -> str | None:
    """Of an argument that names weights or a file: what they are now; other weights may lie under the name later."""
    if not isinstance(value, str) or not 0 < len(value) < 4096:
        return None
    try:
        path = Path(value).expanduser()
        if os.sep in value and path.is_file():
            return _hash([path], path.parent)
        if path.is_dir():
            files = sorted(_files(path))
            weights = any(file.suffix in _WEIGHTS or file.name == "config.json" for file in files)
            return _hash(files, path) if weights else None
    except (OSError, ValueError):
        return None
    return _commit(value) if _HUB.fullmatch(value) else None


def _files(folder: Path) -> Iterator[Path]:
    for number, path in enumerate(path for path in folder.rglob("*") if path.is_file()):
        if number >= MOST_FILES:
            raise Unknown(f"{folder} holds more than {MOST_FILES:,} files")
        yield path


def _hash(files: list[Path], root: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        stat = file.stat()
        digest.update(f"{file.relative_to(root)}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _commit(name: str) -> str | None:
    """The commit of a model of the Hugging Face hub that lies in the local cache."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(name, "config.json")
    return Path(found).parent.name if isinstance(found, str) else None


def _address(model: object) -> str | None:
    """Where requests go, without user, password and query: another server may know another model by the same name."""
    for holder in (getattr(model, "client", None), model):
        for name in ("base_url", "api_url", "url"):
            value = getattr(holder, name, None)
            if value is not None and re.match(r"https?://", str(value)):
                return re.sub(r"(?<=://)[^/@]*@|\?.*", "", str(value)).rstrip("/")
    return None


def _installed(name: str) -> bool:
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False
