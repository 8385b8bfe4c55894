"""One run: how good per skill and step, how strict, what the video contributed, what came back, how it was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from siming_tasks.common.schema import ANSWERS, SCOPES
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import FLAGS
from siming_tasks.report.charts.kinds import Mark, dumbbell, intervals, parts, scatter
from siming_tasks.report.pages.links import cell, differences
from siming_tasks.report.pages.run_facts import command, facts, lead, spent
from siming_tasks.report.pages.site import Site
from siming_tasks.report.tables.controls import ABLATION_CAPTION as CAPTION
from siming_tasks.report.tables.controls import READS_LABELS
from siming_tasks.rubrics import Rubric
from siming_tasks.tasks import TASKS, UNALTERED_TASKS, benchmark_task

__all__ = ["model_page"]

SPLIT = (
    ("prior", "which steps usually fail"),
    ("video", "an overall impression of the video"),
    ("local", "this step in this video"),
    ("total", "all of it"),
)


def model_page(site: Site, report: Mapping[str, Any], run: Mapping[str, Any], rubric: Rubric) -> None:
    """Write ``models/<slug>.html``."""
    names = {step.id: step.name for step in rubric.steps}
    found = [_part(name, run, report, rubric) for name in UNALTERED_TASKS if name in run["settings"]]
    site.page(
        f"models/{run['slug']}.html",
        "model.html",
        run=run,
        lead=lead(run),
        parts=found,
        gaps=_gaps(run),
        split_names=SPLIT,
        step_names=names,
        facts=facts(run, report),
        command=command(run, report),
        spent=spent(run),
    )


def _part(name: str, run: Mapping[str, Any], report: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    study = run["settings"][name]
    numbers, diagnostics, contribution = study["numbers"], study["diagnostics"], study["contribution"]
    board = report["standings"][name]
    metric, answer = board["metric"], TASKS[name].answer
    row, folded = (next((item for item in rows if item["slug"] == run["slug"]), None) for rows in
                   (board["rows"], board["folded"]))  # fmt: skip
    human = next((row["metrics"][metric] for row in board["rows"] if row["role"] == "human"), None)
    found: dict[str, Any] = {
        "setting": name,
        "title": TASKS[name].title,
        "answer": answer,
        "metric": metric,
        "metrics": board["metrics"],
        "headline": [(m, numbers["metrics"][m], numbers["imputed"].get(m)) for m in board["metrics"]],
        "incomplete": any(numbers["imputed"].get(m, e) != e for m, e in numbers["metrics"].items()),
        "unranked": row["unranked"] if row and row["role"] == "model" else None,
        "stands_for": folded["row"] if folded else None,
        "human": human,
        "lift": (contribution or {}).get("lift", {}).get(metric),
        "notes": _notes(numbers["metrics"]),
        "diagnostics": diagnostics,
        "contribution": contribution,
        "nothing": None if diagnostics else _nothing(report),
        "statuses": [(status, n) for status, n in numbers["statuses"].items() if n],
        "missing": list(numbers["missing"].items()),
        "media": _media(numbers["media"]),
        "totals": study["totals"],
        "scatter": None,
        "ablations": run.get("ablations", {}).get(name, ()),
        "ablations_caption": CAPTION,
        "reads_labels": READS_LABELS if run["role"] == "reference" else None,
    }
    if diagnostics is None:
        return found
    titles = {skill.id: skill.name for skill in rubric.skills}
    full = numbers["imputed_per_skill"]
    found["skills"] = [
        (titles.get(skill, skill), row, full.get(skill, {})) for skill, row in numbers["per_skill"].items()
    ]
    found["confusion"] = _confusion(numbers["extra"]["confusion"])
    found["steps_chart"] = _steps_chart(name, run["slug"], diagnostics["steps"]["rows"], rubric)
    split = {key: contribution["parts"][key]["value"] or 0.0 for key in ("prior", "video", "local")}
    found["split_chart"] = parts(
        [(run["name"], split)],
        axis=CATALOGUE[metric].title,
        alt="Prior, video and local part of the agreement: " + ", ".join(f"{k} {v:.3f}" for k, v in split.items()),
    )
    if study["totals"]:
        found["scatter"] = scatter(
            study["totals"],
            top=report["dataset"]["points"],
            axes=("reference total", "total by this judge"),
            alt="Totals of every video by the reference and by this judge; the numbers are in the table below.",
            href=lambda video: f"../{cell(name, video, run['slug'])}",
        )
    return found


def _steps_chart(name: str, slug: str, rows: Sequence[Mapping[str, Any]], rubric: Rubric) -> Any:
    marks = [
        Mark.of(
            f"{row['step_id']} {rubric.by_id[row['step_id']].name}",
            row["kappa"],
            thin=row["thin"],
            beside=(row["human"] or {}).get("value"),
            href=f"../{differences(name, run=slug, step=row['step_id'])}",
        )
        for row in rows
    ]
    return intervals(marks, axis="kappa", beside="physicians",
                     alt="Kappa of every step with intervals; the numbers are in the table below.")  # fmt: skip


def _nothing(report: Mapping[str, Any]) -> str:
    """Why there is no diagnosis."""
    if report["dataset"]["withheld"]:
        return "The labels are withheld: there is nothing to compare the answers with."
    return "No step with a reference was answered: there is nothing to diagnose."


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
            said.setdefault(note, []).append(CATALOGUE[name].title)
    return [note if len(names) == len(metrics) else f"{', '.join(names)}: {note}" for note, names in said.items()]


def _media(media: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [(f"shown as {mode}", f"{n:,} requests") for mode, n in media.get("modes", {}).items()]
    rows += [(f"sent as {name}", f"{n:,} requests") for name, n in media.get("encodings", {}).items()]
    for key, unit in (("n_frames", "frames"), ("fps", "frames/s")):
        if key in media:
            low, high = media[key]["min"], media[key]["max"]
            rows.append((unit, f"{low:g}" if low == high else f"{low:g} to {high:g}"))
    if "bytes" in media:
        rows.append(("largest request", f"{media['bytes']['max'] / 1e6:.1f} MB of images"))
    return rows


def _gaps(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Per-step kappa of full video and clip, for scores and for errors."""
    found = []
    for answer in ANSWERS:
        pair = [benchmark_task(scope, answer).name for scope in SCOPES]
        both = [run["settings"].get(name, {}).get("diagnostics") for name in pair]
        if all(both):
            rows = [
                (a["step_id"], a["kappa"], b["kappa"])
                for a, b in zip(*(part["steps"]["rows"] for part in both), strict=True)
            ]
            word = "Scores" if answer == "score" else "Errors"
            chart = dumbbell(
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
