"""Counterfactual twins side by side: two exams that differ in one act, and who noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.data import Dataset
from siming_tasks.metrics import Panel
from siming_tasks.report.charts.kinds import Mark, intervals
from siming_tasks.report.pages.site import Site
from siming_tasks.report.study.study import Study
from siming_tasks.schema import Video
from siming_tasks.settings import SETTINGS

__all__ = ["pair_pages"]


def pair_pages(
    site: Site,
    dataset: Dataset,
    pairs: Sequence[Mapping[str, Any]],
    report: Mapping[str, Any],
    studies: Sequence[Study],
    media: Callable[[Video], str | None],
) -> None:
    """Write ``pairs/index.html`` and one page for each pair of twins."""
    answers = [_answers(pair, studies) for pair in pairs]
    about = [_about(pair, dataset, mine) for pair, mine in zip(pairs, answers, strict=True)]
    titles = {name: SETTINGS[name].title for name in SETTINGS if any(name in study.panels for study in studies)}
    kinds = Counter(pair["kind"] for pair in pairs)
    tables = [table for name in titles if (table := _table(name, report))]
    site.page("pairs/index.html", "pairs.html", tables=tables, pairs=about, kinds=kinds)
    for index, pair in enumerate(pairs):
        videos = [dataset.video(pair[side]) for side in ("video_a", "video_b")]
        site.page(
            f"pairs/{Path(str(pair['pair_id'])).name}.html",
            "pair.html",
            pair=about[index],
            videos=[_twin(video, pair["step_id"], media(video)) for video in videos],
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
    title = SETTINGS[name].title
    marks = [Mark.of(run["name"], found["right"], role=run["role"]) for run, found in rows]
    alt = f"{title}: share of pairs on which each judge is right, with intervals; the numbers are in the table below."
    chart = intervals(marks, axis="share of pairs judged right", alt=alt, reach=(0.0, 1.0))
    return {"setting": name, "title": title, "rows": rows, "chart": chart}


def _about(pair: Mapping[str, Any], dataset: Dataset, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    step = dataset.rubric.by_id[pair["step_id"]]
    scores = [dataset.video(pair[side]).step(step.id).consensus for side in ("video_a", "video_b")]
    verdicts = [cell["verdict"] for row in answers for cell in row["cells"].values()]
    return {
        **pair,
        "step_name": step.name,
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


def _twin(video: Video, step_id: str, source: str | None) -> dict[str, Any]:
    span = video.step(step_id).span
    return {"id": video.video_id, "source": source, "start": span[0] if span else 0.0, "end": span[1] if span else 0.0}


def _answers(pair: Mapping[str, Any], studies: Sequence[Study]) -> list[dict[str, Any]]:
    """What each judge said about the step in both twins, by setting; judges that were asked about both."""
    rows = []
    for study in studies:
        cells = {name: _cell(pair, panel) for name, panel in study.panels.items()}
        if cells := {name: cell for name, cell in cells.items() if cell}:
            source = study.source
            rows.append({"name": source.name, "slug": source.slug, "role": source.role, "cells": cells})
    return rows


def _cell(pair: Mapping[str, Any], panel: Panel) -> dict[str, Any] | None:
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
