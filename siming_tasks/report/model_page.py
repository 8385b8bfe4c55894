"""One run: how good per skill and step, how strict, what the video contributed, what came back, how it was run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from siming_tasks.metrics.estimate import FLAGS
from siming_tasks.report.charts import Mark, dumbbell, intervals, parts, scatter
from siming_tasks.report.pages import TITLES, Site, number
from siming_tasks.report.standings import METRIC_NAMES
from siming_tasks.rubrics import Rubric
from siming_tasks.schema import SETTINGS

__all__ = ["model_page"]

_SHOWN = ("model", "model_args", "date", "lmms_eval_version", "git_hash", "batch_size", "generation", "gen_kwargs",
          "seeds", "limit", "offset")  # fmt: skip

SPLIT = (
    ("prior", "which steps usually fail"),
    ("video", "an overall impression of the video"),
    ("local", "this step in this video"),
    ("total", "all of it"),
)


def model_page(site: Site, report: Mapping[str, Any], run: Mapping[str, Any], rubric: Rubric) -> None:
    """Write ``models/<slug>.html``."""
    names = {step.id: step.name for step in rubric.steps}
    found = [_part(name, run, report, rubric) for name in SETTINGS if name in run["settings"]]
    site.page(
        f"models/{run['slug']}.html",
        "model.html",
        run=run,
        lead=_lead(run),
        parts=found,
        gaps=_gaps(run),
        split_names=SPLIT,
        metric_names=METRIC_NAMES,
        step_names=names,
        facts=_facts(run, report),
        command=_command(run, report),
    )


def _lead(run: Mapping[str, Any]) -> str:
    if run["role"] == "reference":
        return (
            "A reference judge without a model: it proves the road from prompt to metric and gives the numbers a scale."
        )
    model = run["facts"].get("model")
    return f"Run through lmms-eval as “{model}”." if model else "Read from a prediction file."


def _part(name: str, run: Mapping[str, Any], report: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    study = run["settings"][name]
    numbers, diagnostics, contribution = study["numbers"], study["diagnostics"], study["contribution"]
    board = report["standings"][name]
    metric, answer = board["metric"], SETTINGS[name].answer
    human = next((row["metrics"][metric] for row in board["rows"] if row["role"] == "human"), None)
    found: dict[str, Any] = {
        "setting": name,
        "title": TITLES[name][0],
        "answer": answer,
        "metric": metric,
        "metrics": board["metrics"],
        "headline": [(m, numbers["metrics"][m]) for m in board["metrics"]],
        "human": human,
        "lift": (contribution or {}).get("lift", {}).get(metric),
        "notes": _notes(numbers["metrics"]),
        "diagnostics": diagnostics,
        "contribution": contribution,
        "withheld": diagnostics is None,
        "statuses": [(status, n) for status, n in numbers["statuses"].items() if n],
        "missing": list(numbers["missing"].items()),
        "media": _media(numbers["media"]),
        "totals": study["totals"],
        "scatter": None,
    }
    if diagnostics is None:
        return found
    titles = {skill.id: skill.name for skill in rubric.skills}
    found["skills"] = [(titles.get(skill, skill), row) for skill, row in numbers["per_skill"].items()]
    found["confusion"] = _confusion(numbers["extra"]["confusion"])
    found["steps_chart"] = _steps_chart(name, diagnostics["steps"]["rows"], rubric)
    split = {key: contribution["parts"][key]["value"] or 0.0 for key in ("prior", "video", "local")}
    found["split_chart"] = parts(
        f"split-{name}",
        [(run["name"], split)],
        axis=METRIC_NAMES[metric],
        alt="Prior, video and local part of the agreement: " + ", ".join(f"{k} {v:.3f}" for k, v in split.items()),
    )
    if study["totals"]:
        found["scatter"] = scatter(
            f"totals-{name}",
            study["totals"],
            top=report["dataset"]["points"],
            axes=("reference total", "total by this judge"),
            alt="Totals of every video by the reference and by this judge; the numbers are in the table below.",
        )
    return found


def _steps_chart(name: str, rows: Sequence[Mapping[str, Any]], rubric: Rubric) -> Any:
    marks = [
        Mark.of(
            f"{row['step_id']} {rubric.by_id[row['step_id']].name}",
            row["kappa"],
            thin=row["thin"],
            beside=(row["human"] or {}).get("value"),
        )
        for row in rows
    ]
    return intervals(f"steps-{name}", marks, axis="kappa", beside="physicians",
                     alt="Kappa of every step with intervals; the numbers are in the table below.")  # fmt: skip


def _confusion(confusion: Mapping[str, Any]) -> dict[str, Any]:
    """Counts with a shade for their share of the row."""
    rows = []
    for i, counts in enumerate(confusion["counts"]):
        total = sum(counts) or 1
        rows.append(
            (
                confusion["levels"][i],
                [
                    {"count": n, "heat": min(4, round(5 * n / total + 0.3)), "diagonal": i == j}
                    for j, n in enumerate(counts)
                ],
            )
        )
    return {"levels": confusion["levels"], "rows": rows}


def _notes(metrics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Reasons and flags of the headline metrics, each once."""
    said: dict[str, list[str]] = {}
    for name, estimate in metrics.items():
        for note in [*filter(None, [estimate["reason"]]), *(FLAGS[flag] for flag in estimate["flags"])]:
            said.setdefault(note, []).append(METRIC_NAMES[name])
    return [note if len(names) == len(metrics) else f"{', '.join(names)}: {note}" for note, names in said.items()]


def _media(media: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [(f"shown as {mode}", f"{n:,} requests") for mode, n in media.get("modes", {}).items()]
    for key, unit in (("n_frames", "frames"), ("fps", "frames/s")):
        if key in media:
            low, high = media[key]["min"], media[key]["max"]
            rows.append((unit, f"{low:g}" if low == high else f"{low:g} to {high:g}"))
    return rows


def _gaps(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Per-step kappa of full video and clip, for scores and for errors."""
    found = []
    for answer in ("score", "error"):
        both = [run["settings"].get(f"{scope}_{answer}", {}).get("diagnostics") for scope in ("full", "clip")]
        if all(both):
            rows = [
                (a["step_id"], a["kappa"], b["kappa"])
                for a, b in zip(*(part["steps"]["rows"] for part in both), strict=True)
            ]
            word = "Scores" if answer == "score" else "Errors"
            chart = dumbbell(
                f"gap-{answer}",
                [name for name, _, _ in rows],
                [a["value"] for _, a, _ in rows],
                [b["value"] for _, _, b in rows],
                names=("full video", "clip"),
                axis="kappa",
                alt=f"{word}: kappa of every step from the full video and from the clip; numbers in the table below.",
            )
            caption = f"{word}: kappa of each step from the full video (circle) and from its clip (square)."
            found.append({"chart": chart, "caption": caption, "rows": rows})
    return found


def _facts(run: Mapping[str, Any], report: Mapping[str, Any]) -> list[tuple[str, str]]:
    facts = dict(run["facts"])
    rows = [("source", run["source"]), ("raw replies", f"{run['replies']:,}")]
    rows += [(key.replace("_", " "), str(facts[key])) for key in _SHOWN if facts.get(key) is not None]
    if facts.get("seconds"):
        rows.append(("duration", f"{number(facts['seconds'] / 60, 1)} minutes"))
    for name, metadata in facts.get("tasks", {}).items():
        rows += [(f"{name} {key}", str(value)) for key, value in metadata.items()]
    rows += [(f"prompts of {name}", value) for name, value in run["prompts"].items() if value]
    dataset = report["dataset"]
    rows.append(("dataset", f"{dataset['name']} {dataset['version']}, {dataset['digest']}"))
    options = ", ".join(f"{key} {value}" for key, value in report["options"].items())
    return [*rows, ("scored with", options)]


def _command(run: Mapping[str, Any], report: Mapping[str, Any]) -> str | None:
    facts = run["facts"]
    if not facts.get("model") or not facts.get("tasks"):
        return None
    words = ["lmms-eval", "--model", str(facts["model"])]
    if facts.get("model_args"):
        words += ["--model_args", str(facts["model_args"])]
    words += ["--tasks", ",".join(name for name in facts["tasks"])]
    words += ["--batch_size", str(facts["batch_size"])] if facts.get("batch_size") else []
    words += ["--gen_kwargs", str(facts["gen_kwargs"])] if facts.get("gen_kwargs") else []
    words += ["--limit", str(facts["limit"])] if facts.get("limit") else []
    words += ["--log_samples", "--output_path", "OUT"]
    data = "" if report["synthetic"] else "SIMING_DATA=DATASET "
    return data + shlex.join(words)
