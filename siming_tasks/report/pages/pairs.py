"""Counterfactual minimal_pairs side by side: two exams that differ in one act, and who noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.report.charts.kinds import Mark, intervals
from siming_tasks.report.pages.site import Site
from siming_tasks.report.study.study import Study
from siming_tasks.tasks import TASKS

__all__ = ["pair_pages"]


def pair_pages(
    site: Site,
    dataset: Dataset,
    pairs: Sequence[Mapping[str, Any]],
    report: Mapping[str, Any],
    studies: Sequence[Study],
    media: Callable[[Video], str | None],
) -> None:
    """Write ``pairs/index.html`` and one page for each pair of minimal_pairs."""
    answers = [_answers(pair, studies) for pair in pairs]
    about = [_about(pair, dataset, mine) for pair, mine in zip(pairs, answers, strict=True)]
    titles = {name: TASKS[name].title for name in TASKS if any(name in study.panels for study in studies)}
    kinds = Counter(pair["kind"] for pair in pairs)
    tables = [table for name in titles if (table := _table(name, report))]
    shown = [_shown(pair, dataset, media) for pair in pairs]
    first = next((index for index, pair in enumerate(pairs) if pair["kind"] == "history"), 0)
    showpiece = {"pair": about[first], "shown": shown[first], "titles": titles, "answers": answers[first]}
    site.page("pairs/index.html", "pairs.html", tables=tables, pairs=about, kinds=kinds, **showpiece)
    for index, pair in enumerate(pairs):
        site.page(
            f"pairs/{Path(str(pair['pair_id'])).name}.html",
            "pair.html",
            pair=about[index],
            shown=shown[index],
            titles=titles,
            answers=answers[index],
            before=pairs[index - 1]["pair_id"] if index else None,
            after=pairs[index + 1]["pair_id"] if index + 1 < len(pairs) else None,
        )


def _table(name: str, report: Mapping[str, Any]) -> dict[str, Any] | None:
    """One setting: how often each judge was right, as a chart and a table."""
    rows = [(run, run["settings"][name]["pairs"]) for run in report["runs"] if name in run["settings"]]
    rows = [(run, found) for run, found in rows if found]
    if not rows:
        return None
    title = TASKS[name].title
    marks = [Mark.of(run["name"], found["right"], role=run["role"], bound=found["bound"]) for run, found in rows]
    alt = (
        f"{title}: share of pairs on which each judge is right, with intervals, and what a judge that sees only "
        "the clip can reach; the numbers are in the table below."
    )
    chart = intervals(marks, axis="share of pairs judged right", alt=alt, reach=(0.0, 1.0))
    return {"setting": name, "title": title, "rows": rows, "chart": chart}


def _about(pair: Mapping[str, Any], dataset: Dataset, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    step = dataset.rubric.by_id[pair["step_id"]]
    scores = [dataset.video(pair[side]).step(step.id).consensus for side in ("video_a", "video_b")]
    verdicts = [cell["verdict"] for row in answers for cell in row["cells"].values()]
    return {
        **pair,
        "step_name": step.name,
        "step_max": step.max_score,
        "scores": scores,
        "changed": [_act(str(act), dataset) for act in pair.get("changed_act", ())],
        "noticed": verdicts.count("noticed"),
        "asked": len(verdicts),
    }


def _act(name: str, dataset: Dataset) -> str:
    """A changed act in the rubric's words, if it is one of the rubric's errors; else as the data name it."""
    for step in dataset.rubric.steps:
        for error in step.errors:
            if error.id == name:
                return f"{step.id} {step.name} ({error.observable})"
    return name


def _shown(pair: Mapping[str, Any], dataset: Dataset, media: Callable[[Video], str | None]) -> dict[str, Any]:
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
    same = pair["step_id"] if pair["kind"] == "history" else _quiet(pair, videos, differs)
    return {
        "videos": [
            {
                "id": video.video_id,
                "source": media(video),
                "duration": video.duration,
                "differs": _joined(video, differs),
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


def _joined(video: Video, steps: Sequence[str]) -> tuple[float, float] | None:
    spans = [span for step in steps if (span := _span(video, step))]
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None


def _quiet(pair: Mapping[str, Any], videos: Sequence[Video], differs: Sequence[str]) -> str | None:
    """The longest unchanged step outside of what differs, in both videos."""
    found: dict[str, float] = {}
    for step in pair["unchanged_steps"]:
        spans = [(_span(video, step), _joined(video, differs)) for video in videos]
        if all(own and not (other and own[0] < other[1] and other[0] < own[1]) for own, other in spans):
            found[step] = min(own[1] - own[0] for own, _ in spans if own)
    return max(found, key=lambda step: found[step]) if found else None


def _answers(pair: Mapping[str, Any], studies: Sequence[Study]) -> list[dict[str, Any]]:
    """What each judge said about the step in both minimal_pairs, by setting; judges that were asked about both."""
    rows = []
    for study in studies:
        cells = {name: _cell(pair, panel) for name, panel in study.panels.items()}
        if cells := {name: cell for name, cell in cells.items() if cell}:
            source = study.source
            rows.append({"name": source.name, "slug": source.slug, "role": source.role, "cells": cells})
    return rows


def _cell(pair: Mapping[str, Any], panel: ScoreMatrix) -> dict[str, Any] | None:
    ids = [pair["video_a"], pair["video_b"]]
    if not all(video in panel.video_ids for video in ids):
        return None
    column = panel.step_ids.index(pair["step_id"])
    said = [float(panel.predicted[panel.video_ids.index(video), column]) for video in ids]
    moved = (said[1] - said[0]) * pair["direction"] * (1 if panel.answer == "score" else -1)
    verdict = (
        "no answer" if moved != moved else "noticed" if moved > 0 else "wrong way" if moved < 0 else "did not move"
    )
    return {"said": [_said(value, panel.answer) for value in said], "verdict": verdict}


def _said(value: float, answer: str) -> str:
    if value != value:
        return "–"
    return f"{value:g}" if answer == "score" else ("incorrect" if value else "correct")
