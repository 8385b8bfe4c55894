"""Parts of one run: the output of several commands (shards, repeated requests), and the check that they fit."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from siming_tasks.benchmark.record import Record
from siming_tasks.benchmark.types import UNKNOWN_MODE
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.public_facts import OPTIONS, public_arguments, public_value
from siming_tasks.data.dataset import Dataset
from siming_tasks.media import recorded_mode

TRANSPORT = frozenset({
    "timeout", "max_retries", "retry_backoff_s", "num_concurrent", "num_cpus", "num_processes",
    "adaptive_concurrency", "adaptive_min_concurrency", "adaptive_max_concurrency", "adaptive_target_latency_s",
    "adaptive_increase_step", "adaptive_decrease_factor", "adaptive_failure_threshold", "prefix_aware_queue",
    "prefix_hash_chars", "httpx_trust_env", "work_dir", "disable_log_stats"
})  # fmt: skip
"""Arguments of lmms-eval's models that say how requests travel and change no reply."""

PLACE = TRANSPORT | {"base_url", "azure_endpoint", "api_key", "api_keys", "token", "hf_token", "auth_token",
                     "access_token", "headers", "default_headers", "organization", "project", "device", "device_map",
                     "batch_size", "tensor_parallel_size", "data_parallel_size", "gpu_memory_utilization"}  # fmt: skip
"""Arguments that may differ between parts: transport, user, the model's address and its number of requests."""

_COMMAND = ("system_instruction", "apply_chat_template", "force_simple")
"""Flags of lmms-eval that change what a model is sent."""

_STATED = {"class", "prompt", *_COMMAND, *OPTIONS}
"""Names of facts that are words or numbers."""

Result = tuple[Path, Mapping[str, Any]]
"""A results file of lmms-eval, and its content."""


PARTS_DIFFER = "They are not parts of one run: give different runs separately."
"""Last sentence of the error on parts that differ."""


def check_alike(results: Sequence[Result], why: str = PARTS_DIFFER, but: Collection[str] = ()) -> None:
    """Refuse results of other models, or of other prompts or options in the same task (DataError: names the fact).

    Args:
        results: those that must be alike.
        why: the error's last sentence.
        but: arguments of the model or of its generation that may differ.
    """
    known: dict[str, tuple[Path, Mapping[str, Any]]] = {}
    for file, result in results:
        for about, facts in _asked_how(result, {*PLACE, *but}):
            first, before = known.setdefault(about, (file, facts))
            if differ := next((name for name in {**before, **facts} if before.get(name) != facts.get(name)), None):
                now, then = (_public_text(differ, stated.get(differ)) for stated in (facts, before))
                what = f"is {now}, but {then} in" if now != then else "differs from"
                raise DataError(f"{file}: {differ} of {about} {what} {first}. {why}")


def _public_text(name: str, value: Any) -> str:
    """A fact in an error's words, as far as it may be named."""
    if value is None or name in _STATED:
        return repr(public_value(value))
    given = public_arguments(value if isinstance(value, Mapping) else {name: value})
    return repr(given.partition("=")[2] or given)


def _asked_how(result: Mapping[str, Any], but: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Facts that decide the replies of a part: of the model, and of each task; without some of its arguments."""
    config = result.get("config") or {}
    arguments = config.get("model_args") or ""
    if not isinstance(arguments, Mapping):
        arguments = dict(part.partition("=")[::2] for part in str(arguments).split(","))
    facts: dict[str, Any] = {str(name): str(value) for name, value in arguments.items() if name not in but}
    flags = config.get("resolved_cli_args") or {}
    facts |= {name: flags[name] for name in _COMMAND if flags.get(name)}
    yield "the model", {"class": config.get("model"), **facts, "name": result.get("model_name")}
    for task, known in (result.get("configs") or {}).items():
        if str(task).startswith("siming_") and isinstance(known, Mapping):
            metadata = known.get("metadata") or {}
            try:
                options = dict(json.loads(metadata.get("siming_options") or "{}"))
            except (TypeError, ValueError):
                options = {"options": metadata["siming_options"]}
            generation = known.get("generation_kwargs")
            if isinstance(generation, Mapping):
                generation = {name: value for name, value in generation.items() if name not in but}
            facts = {"generation": generation, "prompt": metadata.get("siming_prompt"), **options}
            yield str(task), facts


def condition_problems(
    records: Mapping[str, Sequence[Record]], dataset: Dataset, path: str, allow: Collection[str]
) -> Iterator[Problem]:
    """Problems of records that were not made on these data, or of one setting that were asked or shown otherwise.

    What a record does not state differs from nothing. ``allow``: ``dataset`` makes a warning of the first.
    """
    digests = {record.conditions.dataset for present in records.values() for record in present}
    if others := digests - {dataset.digest, None}:
        names = ", ".join(name[:12] for name in sorted(map(str, others)))
        what = f"made on dataset {names}, scored on {dataset.digest[:12]}."
        severity: Literal["error", "warning"] = "error"
        fix = (
            "Give the data set that it was made on, or, if only labels changed, add --allow dataset "
            "(`siming score`, `compare` and `report` take it)."
        )
        if "dataset" in allow:
            severity, fix = "warning", "This was accepted; it is right only if nothing but labels changed."
        yield Problem("dataset-differs", what, fix, path, severity=severity)
    for setting, present in records.items():
        seen: dict[str, set[str]] = {}
        for record in present:
            for name, value in _stated_facts(record).items():
                seen.setdefault(name, set()).update([] if value is None else [str(value)])
        for name, values in seen.items():
            if len(values) > 1:
                what = f"parts of the run differ in {name} ({', '.join(sorted(values))})."
                yield Problem("parts-differ", what, "Give runs with other settings separately.", path, None, setting)


def _stated_facts(record: Record) -> dict[str, Any]:
    """Facts of a record that are the same in all records of its setting; None where it does not state one."""
    media, conditions = record.media, record.conditions
    is_known = bool(conditions.prompt)  # one that states its prompt states all else, too
    return {
        "model": (conditions.usage or {}).get("model"),
        "way of asking": (conditions.asking or "plain") if is_known else None,
        "media mode": None if media.get("mode") == UNKNOWN_MODE else media.get("mode"),
        "frame size": media.get("size"),
        "density": media.get("density"),
        "pixels": media.get("pixels"),
        "number of frames": _frames(record),
        # each scale of points has a schema of its own
        "use of JSON schemas": ("given" if conditions.reply_schema else "none") if is_known else None,
    }


def _frames(record: Record) -> int | None:
    """Number of frames that was wanted; None where the video or clip has fewer, all shown, or its length decides."""
    media = record.media
    frames = sorted(media.get("indices") or ())  # a range: all frames from the first to the last
    is_whole = not frames or frames == list(range(frames[0], frames[-1] + 1))
    is_free = media.get("density") == "matched" or media.get("mismatched_video")
    is_sampled = recorded_mode(media).images and media.get("sampler")
    return media.get("n_frames") if is_sampled and not is_whole and not is_free else None


def whole_task(shards: Iterable[str]) -> bool:
    """True if these shards (``2/5``) are together all of a task."""
    numbers = {tuple(map(int, shard.split("/"))) for shard in shards if shard}
    return any(all((number, of) in numbers for number in range(1, of + 1)) for _, of in numbers)
