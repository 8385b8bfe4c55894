"""Pages of the minimal pairs: two exams that differ in one act side by side, and which judges noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.report.charts.page_charts import Mark, interval_chart
from siming_tasks.report.pages.site import Page, ReportContents
from siming_tasks.report.run_analysis import RunAnalysis
from siming_tasks.tasks import TASKS

__all__ = ["PAGE"]


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``pairs/index.html`` and one page for each minimal pair."""
    site, dataset, pairs = contents.site, contents.dataset, contents.pairs
    answers = [_answers(pair, contents.analyses) for pair in pairs]
    facts = [_facts(pair, dataset, rows) for pair, rows in zip(pairs, answers, strict=True)]
    titles = {name: TASKS[name].title for name in TASKS if any(name in run.matrices for run in contents.analyses)}
    kinds = Counter(pair["kind"] for pair in pairs)
    tables = [table for name in titles if (table := _table(name, contents.report))]
    shown = [_videos(pair, dataset, contents.link) for pair in pairs]
    first = next((index for index, pair in enumerate(pairs) if pair["kind"] == "history"), 0)
    showpiece = {"pair": facts[first], "shown": shown[first], "titles": titles, "answers": answers[first]}
    site.page("pairs/index.html", "pairs.html", tables=tables, pairs=facts, kinds=kinds, **showpiece)
    for index, pair in enumerate(pairs):
        site.page(
            f"pairs/{Path(str(pair['pair_id'])).name}.html",
            "pair.html",
            pair=facts[index],
            shown=shown[index],
            titles=titles,
            answers=answers[index],
            before=pairs[index - 1]["pair_id"] if index else None,
            after=pairs[index + 1]["pair_id"] if index + 1 < len(pairs) else None,
        )


def _table(name: str, report: Mapping[str, Any]) -> dict[str, Any] | None:
    """Chart and table of one setting: how often each judge was right; None if no judge answered both exams."""
    rows = [(run, run["settings"][name]["pairs"]) for run in report["runs"] if name in run["settings"]]
    rows = [(run, score) for run, score in rows if score]
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
    step = dataset.rubric.by_id[pair["step_id"]]
    scores = [dataset.video(pair[side]).step(step.id).consensus for side in ("video_a", "video_b")]
    verdicts = [cell["verdict"] for row in answers for cell in row["cells"].values()]
    return {
        **pair,
        "step_name": step.name,
        "step_max": step.max_score,
        "scores": scores,
        "changed": [_edited_act_text(str(act), dataset) for act in pair.get("changed_act", ())],
        "noticed": verdicts.count("noticed"),
        "asked": len(verdicts),
    }


def _edited_act_text(name: str, dataset: Dataset) -> str:
    """A changed act in the rubric's words, if it is one of the rubric's errors; else as the data name it."""
    for step in dataset.rubric.steps:
        for error in step.errors:
            if error.id == name:
                return f"{step.id} {step.name} ({error.observable})"
    return name


def _videos(pair: Mapping[str, Any], dataset: Dataset, media: Callable[[Video], str | None]) -> dict[str, Any]:
    """Both videos with the steps that differ and one that looks the same, where both show them.

    The acts that were changed say where the difference is; those of a history pair lie before the step, whose own
    seconds look the same. Of a local pair, the longest step that is worth the same and does not lie in the difference.
    """
    videos = [dataset.video(pair[side]) for side in ("video_a", "video_b")]
    acts = {str(act).partition(".")[0] for act in pair.get("changed_act", ())}
    differs = [step.id for step in dataset.rubric.steps if step.id in acts]
    if not differs and pair["kind"] == "local":
        differs = [pair["step_id"]]
    differs = [step for step in differs if all(_span(video, step) for video in videos)]
    same = pair["step_id"] if pair["kind"] == "history" else _unchanged_step(pair, videos, differs)
    return {
        "videos": [
            {
                "id": video.video_id,
                "source": media(video),
                "duration": video.duration,
                "differs": _joint_span(video, differs),
                "same": _span(video, same) if same else None,
            }
            for video in videos
        ],
        "differs": [dataset.rubric.by_id[step] for step in differs],
        "same": dataset.rubric.by_id[same] if same and all(_span(video, same) for video in videos) else None,
    }


def _span(video: Video, step: str) -> tuple[float, float] | None:
    label = next((label for label in video.applicable if label.step_id == step), None)
    return label.span if label else None


def _joint_span(video: Video, steps: Sequence[str]) -> tuple[float, float] | None:
    spans = [span for step in steps if (span := _span(video, step))]
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None


def _unchanged_step(pair: Mapping[str, Any], videos: Sequence[Video], differs: Sequence[str]) -> str | None:
    """The longest unchanged step outside of what differs, in both videos."""
    lengths: dict[str, float] = {}
    for step in pair["unchanged_steps"]:
        spans = [(_span(video, step), _joint_span(video, differs)) for video in videos]
        if all(own and not (other and own[0] < other[1] and other[0] < own[1]) for own, other in spans):
            lengths[step] = min(own[1] - own[0] for own, _ in spans if own)
    return max(lengths, key=lambda step: lengths[step]) if lengths else None


def _answers(pair: Mapping[str, Any], analyses: Sequence[RunAnalysis]) -> list[dict[str, Any]]:
    """Answers of each judge about the step in both exams, by setting; judges that were asked about both."""
    rows = []
    for run in analyses:
        cells = {name: _cell(pair, matrix) for name, matrix in run.matrices.items()}
        if cells := {name: cell for name, cell in cells.items() if cell}:
            source = run.source
            rows.append({"name": source.name, "slug": source.slug, "role": source.role, "cells": cells})
    return rows


def _cell(pair: Mapping[str, Any], matrix: ScoreMatrix) -> dict[str, Any] | None:
    ids = [pair["video_a"], pair["video_b"]]
    if not all(video in matrix.video_ids for video in ids):
        return None
    column = matrix.step_ids.index(pair["step_id"])
    answers = [float(matrix.predicted[matrix.video_ids.index(video), column]) for video in ids]
    moved = (answers[1] - answers[0]) * pair["direction"] * (1 if matrix.answer == "score" else -1)
    verdict = (
        "no answer" if moved != moved else "noticed" if moved > 0 else "wrong way" if moved < 0 else "did not move"
    )
    return {"said": [_answer_text(value, matrix.answer) for value in answers], "verdict": verdict}


def _answer_text(value: float, answer: str) -> str:
    if value != value:
        return "–"
    return f"{value:g}" if answer == "score" else ("incorrect" if value else "correct")


PAGE = Page(_write, "Pairs", "pairs/index.html", present=bool)
