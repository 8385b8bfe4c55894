"""Page of one run: metrics per skill and step, severity, what the video contributed, what came back, how it was run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from siming_tasks.common.schema import ANSWERS, SCOPES
from siming_tasks.metrics.catalogue import CATALOGUE, OTHER_BENCHMARKS
from siming_tasks.metrics.estimate import FLAGS
from siming_tasks.report.charts import Mark, dumbbell_chart, interval_chart, scatter_chart, stacked_parts_chart
from siming_tasks.report.formatting import page_number, usage_line
from siming_tasks.report.pages.site import Page, ReportContents, answer_address, disagreements_address
from siming_tasks.report.tables.comparison import ABLATION_CAPTION, READS_LABELS, SOUND_CAPTION
from siming_tasks.report.video_totals import INCOMPLETE
from siming_tasks.results.discovery import RequestSlice
from siming_tasks.results.lmms_eval_commands import command_of
from siming_tasks.rubrics import Rubric
from siming_tasks.tasks import TASKS, UNALTERED_TASKS, benchmark_task

SPLIT = (
    ("prior", "which steps usually fail"),
    ("video", "an overall impression of the video"),
    ("local", "this step in this video"),
    ("total", "all of it"),
)


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``models/<slug>.html`` for every ``shares``-th run, beginning with the ``share``-th."""
    site, report, rubric = contents.site, contents.report, contents.dataset.rubric
    unread = {
        run.source.slug: {
            "sentence": run.unread_note.sentence,
            "remedies": " ".join(run.unread_note.remedies()),
            "has_page": bool(run.unread),
            "is_many": run.unread_note.is_many,
        }
        for run in contents.analyses
    }
    for run in report["runs"][share::shares]:
        site.page(
            f"models/{run['slug']}.html",
            "model.html",
            run=run,
            lead=_lead_sentence(run),
            parts=[_part(name, run, report, rubric) for name in UNALTERED_TASKS if name in run["settings"]],
            gaps=_full_against_clip(run),
            split_names=SPLIT,
            step_names={step.id: step.name for step in rubric.steps},
            facts=_facts(run, report),
            command=_command(run, report),
            spent=_usage_by_video(run),
            unread=unread[run["slug"]],
        )


def _lead_sentence(run: Mapping[str, Any]) -> str:
    """The judge in a sentence."""
    if run["role"] == "reference":
        return (
            "A reference judge without a model: it proves the road from prompt to metric and gives the numbers a scale."
        )
    if run["role"] == "supervised":
        return "Learnt from the labels of the data set's other videos (cross-fitted): a yardstick, no ranked model."
    model = run["facts"].get("model")
    return f"Run through lmms-eval as “{model}”." if model else "Read from a prediction file."


def _part(name: str, run: Mapping[str, Any], report: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """One setting: its estimates, and the diagnosis where any step with a reference was answered."""
    analysis, board = run["settings"][name], report["standings"][name]
    numbers, metric = analysis["numbers"], board["metric"]
    estimates, imputed = numbers["metrics"], numbers["imputed"]
    row, folded = (
        next((item for item in board[rows] if item["slug"] == run["slug"]), None) for rows in ("rows", "folded")
    )
    values: dict[str, Any] = {
        "setting": name,
        "title": TASKS[name].title,
        "answer": TASKS[name].answer,
        "metric": metric,
        "estimand": numbers["estimand"]["sentence"],
        "metrics": board["metrics"],
        "headline": [(m, estimates[m], imputed.get(m)) for m in board["metrics"]],
        "of_answers": ", answered" if any(imputed.get(m, e) != e for m, e in estimates.items()) else "",
        "unranked": row["unranked"] if row else None,
        "stands_for": folded["row"] if folded else None,
        "human": next((row["metrics"][metric] for row in board["rows"] if row["role"] == "human"), None),
        "lift": (analysis["contribution"] or {}).get("lift", {}).get(metric),
        "notes": _notes(estimates),
        "diagnostics": analysis["diagnostics"],
        "contribution": analysis["contribution"],
        "nothing": None,
        "statuses": [(status, n) for status, n in numbers["statuses"].items() if n],
        "missing": list(numbers["missing"].items()),
        "media": _media(numbers["media"]),
        "totals": analysis["totals"],
        "incomplete_totals": INCOMPLETE if any(rests_on for *_, rests_on in analysis["totals"]) else "",
        "scatter": None,
        "ablations": run.get("ablations", {}).get(name, ()),
        "ablations_caption": ABLATION_CAPTION,
        "sound": run.get("sound", {}).get(name, ()),
        "sound_caption": SOUND_CAPTION,
        "reads_labels": READS_LABELS if run["role"] == "reference" else None,
    }
    if analysis["diagnostics"]:
        return values | _diagnosis(name, run, report, rubric)
    withheld = "The labels are withheld: there is nothing to compare the answers with."
    unanswered = "No step with a reference was answered: there is nothing to diagnose."
    return values | {"nothing": withheld if report["dataset"]["withheld"] else unanswered}


def _diagnosis(name: str, run: Mapping[str, Any], report: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """Tables and charts of a diagnosed setting: skills, confusion, steps, parts of the agreement, totals."""
    analysis, slug = run["settings"][name], run["slug"]
    titles = {skill.id: skill.name for skill in rubric.skills}
    numbers, confusion = analysis["numbers"], analysis["numbers"]["extra"]["confusion"]
    full = numbers["imputed_per_skill"]
    shaded = []
    for i, (level, counts) in enumerate(zip(confusion["levels"], confusion["counts"], strict=True)):
        total = sum(counts) or 1
        shades = [min(4, round(5 * n / total + 0.3)) for n in counts]
        cells = [{"count": n, "heat": shades[j], "diagonal": i == j} for j, n in enumerate(counts)]
        shaded.append((level, cells))
    marks = [
        Mark.of(
            f"{row['step_id']} {rubric.by_id[row['step_id']].name}",
            row["kappa"],
            thin=row["thin"],
            beside=(row["human"] or {}).get("value"),
            href=f"../{disagreements_address(name, run=slug, step=row['step_id'])}",
        )
        for row in analysis["diagnostics"]["steps"]["rows"]
    ]
    steps_alt = "Kappa of every step with intervals; the numbers are in the table below."
    split = {key: analysis["contribution"]["parts"][key]["value"] or 0.0 for key in ("prior", "video", "local")}
    split_alt = "Prior, video and local part of the agreement: " + ", ".join(f"{k} {v:.3f}" for k, v in split.items())
    scatter = None
    if analysis["totals"]:
        scatter = scatter_chart(
            analysis["totals"],
            top=report["dataset"]["points"],
            axes=("reference total", "total by this judge"),
            alt="Totals of every video by the reference and by this judge; the numbers are in the table below.",
            href=lambda video: f"../{answer_address(name, video, slug)}",
        )
    axis = CATALOGUE[report["standings"][name]["metric"]].title
    return {
        "skills": [(titles.get(id, id), row, full.get(id, {})) for id, row in numbers["per_skill"].items()],
        "confusion": {"levels": confusion["levels"], "rows": shaded},
        "steps_chart": interval_chart(marks, axis="kappa", beside="physicians", alt=steps_alt),
        "split_chart": stacked_parts_chart([(run["name"], split)], axis=axis, alt=split_alt),
        "scatter": scatter,
        "others": [
            {"about": OTHER_BENCHMARKS[key], "estimates": estimates, "own": next(iter(estimates.values()))}
            for key, estimates in ((analysis["diagnostics"].get("others") or {}).get("values") or {}).items()
        ],
    }


def _notes(metrics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Reasons and flags of the headline metrics, each once."""
    names_by_note: dict[str, list[str]] = {}
    for name, estimate in metrics.items():
        for note in [*filter(None, [estimate["reason"]]), *(FLAGS[flag] for flag in estimate["flags"])]:
            names_by_note.setdefault(note, []).append(CATALOGUE[name].title)
    all_of = len(metrics)
    return [note if len(names) == all_of else f"{', '.join(names)}: {note}" for note, names in names_by_note.items()]


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


def _full_against_clip(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Per-step kappa of full video and clip, for scores and for errors."""
    charts = []
    for answer in ANSWERS:
        parts = [run["settings"].get(benchmark_task(scope, answer).name, {}) for scope in SCOPES]
        if not all(part.get("diagnostics") for part in parts):
            continue
        full, clip = (part["diagnostics"]["steps"]["rows"] for part in parts)
        rows = [(a["step_id"], a["kappa"], b["kappa"]) for a, b in zip(full, clip, strict=True)]
        word = "Scores" if answer == "score" else "Errors"
        chart = dumbbell_chart(
            [name for name, _, _ in rows],
            [a["value"] for _, a, _ in rows],
            [b["value"] for _, _, b in rows],
            names=("full video", "clip"),
            axis="kappa",
            alt=f"{word}: kappa of every step from the full video and from the clip; numbers in the table below.",
        )
        caption = f"{word}: kappa of each step from the full video (circle) and from its clip (square)."
        charts.append({"chart": chart, "caption": caption, "rows": rows})
    return charts


_SHOWN_FACTS = ("judge", "trained", "model", "model_args", "date", "lmms_eval_version", "git_hash", "batch_size",
          "generation", "gen_kwargs", "seeds", "limit", "offset")  # fmt: skip
_UNKNOWN_VALUES = (None, "unknown@unknown")
"""Values that lmms-eval writes where it cannot tell."""


def _facts(run: Mapping[str, Any], report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts of how the run was made and scored, as rows of a table."""
    known, dataset = run["facts"], report["dataset"]
    rows = [("source", run["source"]), ("raw replies", f"{run['replies']:,}")]
    rows += [(key.replace("_", " "), str(known[key])) for key in _SHOWN_FACTS if known.get(key) not in _UNKNOWN_VALUES]
    if known.get("seconds"):
        rows.append(("duration", f"{page_number(known['seconds'] / 60, 1)} minutes"))
    for name, metadata in known.get("tasks", {}).items():
        rows += [(f"{name} {key}", str(value)) for key, value in metadata.items()]
    rows += [(f"prompts of {name}", value) for name, value in run["prompts"].items() if value]
    for name, part in run["settings"].items():
        if used := part["numbers"]["usage"]:
            rows.append((f"{name} took", usage_line(used, len(part["usage"]))))
            rows += [(f"{name} answered by", ", ".join(used["served"]))] if used["served"] else []
            errors = (used.get("errors") or {}).items()
            rows += (
                [(f"{name} failed by", ", ".join(f"{word} ({count:,})" for word, count in errors))] if errors else []
            )
    rows.append(("dataset", f"{dataset['name']} {dataset['version']}, {dataset['digest']}"))
    return [*rows, ("scored with", ", ".join(f"{key} {value}" for key, value in report["options"].items()))]


def _usage_by_video(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Requests, tokens and cost of each video, all settings together, as far as they are known."""
    rows: dict[str, dict[str, Any]] = {}
    for video, used in (item for part in run["settings"].values() for item in part["usage"].items()):
        row = rows.setdefault(video, {"video": video, "requests": 0, "read": 0, "written": 0, "cost": {}})
        row["requests"] += used["requests"]
        for to, name in (("read", "prompt_tokens"), ("written", "completion_tokens")):
            row[to] = None if row[to] is None or used[name] is None else row[to] + used[name]["total"]
        for currency, cost in used["cost"].items():
            row["cost"][currency] = row["cost"].get(currency, 0.0) + cost["total"]
    return [{**row, "cost": ", ".join(f"{x:.4g} {unit}" for unit, x in row["cost"].items())} for row in rows.values()]


def _command(run: Mapping[str, Any], report: Mapping[str, Any]) -> str | None:
    """The command to run it again; None for what was not run here."""
    known = run["facts"]
    if not known.get("model") or not known.get("tasks"):
        return None
    limit, offset = known.get("limit"), known.get("offset")
    shard, split = (
        next((str(metadata[name]) for metadata in known["tasks"].values() if metadata.get(name)), "")
        for name in ("shard", "split")
    )
    part = RequestSlice(int(offset or 0), float(limit) if limit else None, shard=shard, split=split)
    return command_of(known, list(known["tasks"]), part, data=None if report["synthetic"] else "DATASET")


PAGE = Page(_write, shared=True)
