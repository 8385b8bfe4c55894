"""Pages of the minimal pairs: two exams that differ in one act side by side, and which judges noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.report.charts import Mark, interval_chart
from siming_tasks.report.pages.site import VERDICTS, Page, ReportContents, neighbours
from siming_tasks.report.run_analysis import RunAnalysis
from siming_tasks.tasks import TASKS

SIDES = ("video_a", "video_b")


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``pairs/index.html`` and one page for each minimal pair."""
    site, pairs = contents.site, contents.pairs
    titles = {name: TASKS[name].title for name in TASKS if any(name in run.matrices for run in contents.analyses)}
    values = []
    for pair in pairs:
        answers = _answers(pair, contents.analyses)
        facts = {"pair": _facts(pair, contents.dataset, answers), "shown": _shown_videos(pair, contents)}
        values.append({**facts, "titles": titles, "answers": answers})
    first = next((index for index, pair in enumerate(pairs) if pair["kind"] == "history"), 0)
    site.page(
        "pairs/index.html",
        "pairs.html",
        tables=[table for name in titles if (table := _table(name, contents.report))],
        pairs=[value["pair"] for value in values],
        kinds=Counter(pair["kind"] for pair in pairs),
        **values[first],
    )
    ids = [pair["pair_id"] for pair in pairs]
    for index, value in enumerate(values):
        site.page(f"pairs/{Path(str(ids[index])).name}.html", "pair.html", **value, **neighbours(ids, index))


def _table(name: str, report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Chart and table of one setting: how often each judge was right; None if no judge answered both exams."""
    runs = [run for run in report["runs"] if run["settings"].get(name, {}).get("pairs")]
    rows = [(run, run["settings"][name]["pairs"]) for run in runs]
    if not rows:
        return None
    title = TASKS[name].title
    marks = [Mark.of(run["name"], score["right"], role=run["role"], bound=score["bound"]) for run, score in rows]
    alt = (
        f"{title}: share of pairs on which each judge is right, with intervals, and what a judge that sees only "
        "the clip can reach; the numbers are in the table below."
    )
    chart = interval_chart(marks, axis="share of pairs judged right", alt=alt, reach=(0.0, 1.0))
    return {"setting": name, "title": title, "rows": rows, "chart": chart}


def _facts(pair: Mapping[str, Any], dataset: Dataset, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The pair with its step, both true scores, the changed acts in the rubric's words, and how many noticed."""
    steps, step = dataset.rubric.steps, dataset.rubric.by_id[pair["step_id"]]
    acts = {error.id: f"{own.id} {own.name} ({error.observable})" for own in reversed(steps) for error in own.errors}
    verdicts = [cell["verdict"] for row in answers for cell in row["cells"].values()]
    return {
        **pair,
        "step_name": step.name,
        "step_max": step.max_score,
        "scores": [dataset.video(pair[side]).step(step.id).consensus for side in SIDES],
        "changed": [acts.get(str(act), str(act)) for act in pair.get("changed_act", ())],
        "noticed": verdicts.count("noticed"),
        "asked": len(verdicts),
    }


def _shown_videos(pair: Mapping[str, Any], contents: ReportContents) -> dict[str, Any]:
    """Both videos with the steps that differ and one that looks the same, where both show them.

    The acts that were changed say where the difference is; those of a history pair lie before the step, whose own
    seconds look the same. Of a local pair, the longest step that is worth the same and does not lie in the difference.
    """
    rubric, videos = contents.dataset.rubric, [contents.dataset.video(pair[side]) for side in SIDES]
    acts = {str(act).partition(".")[0] for act in pair.get("changed_act", ())}
    differs = [step.id for step in rubric.steps if step.id in acts]
    if not differs and pair["kind"] == "local":
        differs = [pair["step_id"]]
    differs = [step for step in differs if all(_span(video, [step]) for video in videos)]
    if pair["kind"] == "history":
        same = pair["step_id"]
    else:
        lengths: dict[str, float] = {}
        for step in pair["unchanged_steps"]:
            spans = [(_span(video, [step]), _span(video, differs)) for video in videos]
            if all(own and not (other and own[0] < other[1] and other[0] < own[1]) for own, other in spans):
                lengths[step] = min(own[1] - own[0] for own, _ in spans if own)
        same = max(lengths, key=lengths.__getitem__) if lengths else None
    shown = [
        {
            "id": video.video_id,
            "source": contents.link(video),
            "duration": video.duration,
            "differs": _span(video, differs),
            "same": _span(video, [same]),
        }
        for video in videos
    ]
    both = same and all(video["same"] for video in shown)
    steps = [rubric.by_id[step] for step in differs]
    return {"videos": shown, "differs": steps, "same": rubric.by_id[same] if both else None}


def _span(video: Video, steps: Sequence[str | None]) -> tuple[float, float] | None:
    """The seconds from the first to the last of these steps; None if the video shows none of them."""
    spans = [label.span for label in video.applicable if label.step_id in steps and label.span]
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None


def _answers(pair: Mapping[str, Any], analyses: Sequence[RunAnalysis]) -> list[dict[str, Any]]:
    """Answers of each judge about the step in both exams, by setting; judges that were asked about both."""
    rows = []
    for run in analyses:
        source, cells = run.source, {}
        for name, matrix in run.matrices.items():
            if not all(pair[side] in matrix.video_ids for side in SIDES):
                continue
            column, score = matrix.step_ids.index(pair["step_id"]), matrix.answer == "score"
            a, b = (float(matrix.predicted[matrix.video_ids.index(pair[side]), column]) for side in SIDES)
            moved = (b - a) * pair["direction"] * (1 if score else -1)
            verdict = "noticed" if moved > 0 else "wrong way" if moved < 0 else "did not move"
            answers = ["–" if x != x else f"{x:g}" if score else VERDICTS[bool(x)] for x in (a, b)]
            cells[name] = {"said": answers, "verdict": "no answer" if moved != moved else verdict}
        if cells:
            rows.append({"name": source.name, "slug": source.slug, "role": source.role, "cells": cells})
    return rows


PAGE = Page(_write, "Pairs", "pairs/index.html", present=bool)
