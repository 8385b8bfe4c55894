"""The lmms-eval command that makes a run, or a part of one, again, as far as its results files tell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.options import OPTIONS
from siming_tasks.results.expected import Slice

__all__ = ["command_of"]


def command_of(
    facts: Mapping[str, Any], tasks: Sequence[str], part: Slice, *, data: str | None, output: str | Path = "OUT"
) -> str:
    """A line for a shell. Secrets are ``***`` in it, as they are in the facts.

    Args:
        facts: of :class:`~siming_tasks.results.discovery.RunSource`; ``MODEL`` and ``MODEL_ARGS`` stand for what they
        lack.
        tasks: what lmms-eval calls the tasks.
        part: which requests of each.
        data: of the variable ``SIMING_DATA``; None leaves it out.
        output: folder for ``--output_path``.
    """
    words = ["lmms-eval", "--model", str(facts.get("model") or "MODEL")]
    if facts.get("model_args") or not facts.get("model"):
        words += ["--model_args", str(facts.get("model_args") or "MODEL_ARGS")]
    words += ["--tasks", ",".join(tasks)]
    words += ["--batch_size", str(facts["batch_size"])] if facts.get("batch_size") else []
    words += ["--gen_kwargs", _pairs(facts["gen_kwargs"])] if facts.get("gen_kwargs") else []
    words += ["--offset", str(part.offset)] if part.offset else []
    words += ["--limit", f"{part.limit:g}"] if part.limit is not None else []
    words += ["--log_samples", "--output_path", str(output)]
    known = {"SIMING_DATA": data} if data is not None else {}
    variables = {**known, **_shown(facts, tasks)}
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in variables.items()), shlex.join(words)])


def _pairs(arguments: Any) -> str:
    if isinstance(arguments, Mapping):
        return ",".join(f"{key}={value}" for key, value in arguments.items())
    return str(arguments)


def _shown(facts: Mapping[str, Any], tasks: Sequence[str]) -> dict[str, str]:
    """The variables of what the model was shown, where they were not at their defaults."""
    metadata: Mapping[str, Any] = next((facts["tasks"][task] for task in tasks if task in facts.get("tasks", {})), {})
    try:
        said = dict(json.loads(metadata.get("siming_options") or "{}"))
    except (ValueError, TypeError):  # another version's
        return {}
    return {
        option.variable: str(said[name])
        for name, option in OPTIONS.items()
        if option.changes == "shown" and name in said and said[name] != option.default
    }
