"""What is known of how a run was made, in words and as the command to make it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from siming_tasks.report.formatting import usage_line
from siming_tasks.report.pages.site import number
from siming_tasks.results.lmms_eval_commands import command_of
from siming_tasks.results.request_slices import RequestSlice

__all__ = ["command", "facts", "lead", "spent"]

_SHOWN = ("judge", "trained", "model", "model_args", "date", "lmms_eval_version", "git_hash", "batch_size",
          "generation", "gen_kwargs", "seeds", "limit", "offset")  # fmt: skip

_UNKNOWN = (None, "unknown@unknown")
"""What lmms-eval writes where it cannot tell."""


def lead(run: Mapping[str, Any]) -> str:
    """Who this is, in a sentence."""
    if run["role"] == "reference":
        return (
            "A reference judge without a model: it proves the road from prompt to metric and gives the numbers a scale."
        )
    if run["role"] == "supervised":
        return "Learnt from the labels of the data set's other videos (cross-fitted): a yardstick, no ranked model."
    model = run["facts"].get("model")
    return f"Run through lmms-eval as “{model}”." if model else "Read from a prediction file."


def facts(run: Mapping[str, Any], report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is known of how it was run and scored, as rows of a table."""
    known = dict(run["facts"])
    rows = [("source", run["source"]), ("raw replies", f"{run['replies']:,}")]
    rows += [(key.replace("_", " "), str(known[key])) for key in _SHOWN if known.get(key) not in _UNKNOWN]
    if known.get("seconds"):
        rows.append(("duration", f"{number(known['seconds'] / 60, 1)} minutes"))
    for name, metadata in known.get("tasks", {}).items():
        rows += [(f"{name} {key}", str(value)) for key, value in metadata.items()]
    rows += [(f"prompts of {name}", value) for name, value in run["prompts"].items() if value]
    for name, part in run["settings"].items():
        if used := part["numbers"]["usage"]:
            rows.append((f"{name} took", usage_line(used, len(part["usage"]))))
            rows += [(f"{name} answered by", ", ".join(used["served"]))] if used["served"] else []
    dataset = report["dataset"]
    rows.append(("dataset", f"{dataset['name']} {dataset['version']}, {dataset['digest']}"))
    options = ", ".join(f"{key} {value}" for key, value in report["options"].items())
    return [*rows, ("scored with", options)]


def spent(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each video took, all settings together, as far as that is known."""
    rows: dict[str, dict[str, Any]] = {}
    for part in run["settings"].values():
        for video, used in part["usage"].items():
            row = rows.setdefault(video, {"video": video, "requests": 0, "read": 0, "written": 0, "cost": {}})
            row["requests"] += used["requests"]
            for to, name in (("read", "prompt_tokens"), ("written", "completion_tokens")):
                row[to] = None if row[to] is None or used[name] is None else row[to] + used[name]["total"]
            for currency, cost in used["cost"].items():
                row["cost"][currency] = row["cost"].get(currency, 0.0) + cost["total"]
    return [{**row, "cost": ", ".join(f"{x:.4g} {unit}" for unit, x in row["cost"].items())} for row in rows.values()]


def command(run: Mapping[str, Any], report: Mapping[str, Any]) -> str | None:
    """The command to run it again; None for what was not run here."""
    known = run["facts"]
    if not known.get("model") or not known.get("tasks"):
        return None
    limit, offset = known.get("limit"), known.get("offset")
    part = RequestSlice(int(offset or 0), float(limit) if limit else None)
    return command_of(known, list(known["tasks"]), part, data=None if report["synthetic"] else "DATASET")
