"""Parts of one run: what several commands wrote of it, shards or requests that were asked again, and that they fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.redact import redact
from siming_tasks.results.record import Record

TRANSPORT = frozenset({
    "timeout", "max_retries", "retry_backoff_s", "num_concurrent", "num_cpus", "num_processes",
    "adaptive_concurrency", "adaptive_min_concurrency", "adaptive_max_concurrency", "adaptive_target_latency_s",
    "adaptive_increase_step", "adaptive_decrease_factor", "adaptive_failure_threshold", "prefix_aware_queue",
    "prefix_hash_chars", "httpx_trust_env", "work_dir", "disable_log_stats"
})  # fmt: skip
"""Arguments of lmms-eval's models that say how requests travel and change no reply."""

_PLACE = TRANSPORT | {"base_url", "azure_endpoint", "api_key", "device", "device_map", "batch_size",
                      "tensor_parallel_size", "data_parallel_size", "gpu_memory_utilization"}  # fmt: skip
"""Arguments that may differ between parts: beside how requests travel, where the model is and how many it takes."""

Result = tuple[Path, Mapping[str, Any]]
"""A results file of lmms-eval, and its content."""


def check_alike(results: Sequence[Result]) -> None:
    """Refuse results of other models, or of other prompts or options in the same task (DataError: names the fact)."""
    known: dict[str, tuple[Path, Mapping[str, Any]]] = {}
    for file, result in results:
        for about, facts in _asked_how(result):
            first, before = known.setdefault(about, (file, facts))
            differ = [name for name in {**before, **facts} if before.get(name) != facts.get(name)]
            for name in differ[:1]:
                raise DataError(
                    f"{file}: {name} of {about} is {facts.get(name)!r}, but {before.get(name)!r} in {first}. They are "
                    "no parts of one run: give what was asked otherwise apart."
                )


def _asked_how(result: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything that decides the replies of a part, without secrets: facts of the model, and of each task."""
    config = result.get("config") or {}
    arguments = redact(config.get("model_args")) or ""
    if not isinstance(arguments, Mapping):
        arguments = dict(part.partition("=")[::2] for part in str(arguments).split(","))
    facts: dict[str, Any] = {str(name): str(value) for name, value in arguments.items() if name not in _PLACE}
    yield "the model", {"class": config.get("model"), "name": result.get("model_name"), **facts}
    for task, known in (result.get("configs") or {}).items():
        if str(task).startswith("siming_") and isinstance(known, Mapping):
            metadata = known.get("metadata") or {}
            try:
                options = dict(json.loads(metadata.get("siming_options") or "{}"))
            except (TypeError, ValueError):
                options = {"options": metadata["siming_options"]}
            facts = {"generation": known.get("generation_kwargs"), "prompt": metadata.get("siming_prompt"), **options}
            yield str(task), facts


def whole_task(shards: Iterable[str]) -> bool:
    """True if these shards (``2/5``) are together all of a task."""
    numbers = {tuple(map(int, shard.split("/"))) for shard in shards if shard}
    return any(all((number, of) in numbers for number in range(1, of + 1)) for _, of in numbers)


def condition_problems(records: Mapping[str, Iterable[Record]], path: str) -> Iterator[Problem]:
    """Problems of parts whose requests of one task were shown otherwise, or asked with another JSON schema."""
    for setting, present in records.items():
        seen: dict[str, set[str]] = {}
        for record in present:
            media, conditions = record.media, record.conditions
            stated = {"media mode": media.get("mode"), "frame size": media.get("size"), "density": media.get("density")}
            stated |= {"JSON schema": conditions.reply_schema or ("none" if conditions.prompt else None)}
            for name, value in stated.items():
                seen.setdefault(name, set()).update([] if value is None else [str(value)])
        for name, values in seen.items():
            if len(values) > 1:
                what = f"parts of the run differ in {name} ({', '.join(sorted(values))})."
                yield Problem("parts-differ", what, "Give runs that were asked otherwise apart.", path, None, setting)
