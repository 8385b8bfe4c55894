"""Pages of the videos: a list with totals, and for each a player, its step spans and every judge's answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from siming_tasks.common.sanitize import visible
from siming_tasks.common.schema import CONSENSUS, Answer, Video
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.correlation import totals
from siming_tasks.metrics.kappa import LabelMapping, ordinal_labels
from siming_tasks.parsing.lexicon import NOT_VISIBLE
from siming_tasks.report.formatting import page_points
from siming_tasks.report.pages.site import DifferenceKind, Page, ReportContents, Site
from siming_tasks.report.run_analysis import RunAnalysis
from siming_tasks.report.viewer_files import (
    PromptFiles,
    reasons_for_lost_points,
    write_frame_times,
    write_rubric_script,
)
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.tasks import TASKS, benchmark_task

__all__ = ["PAGE", "RunAnswers", "difference_kind", "list_videos"]


NO_MEDIA = "The report was made without videos (--video-files none)."
LEGEND = (
    "Shading: the reference’s label (none: fully correct; darker: more deducted). In scores, the small number is the "
    "difference from the reference; in verdicts, “missed” and “false alarm” are against “less than full points”. "
    "A dash is a missing answer. An empty cell was not asked."
)


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write every ``shares``-th video's page, beginning with the ``share``-th; the first share writes the index too."""
    site, dataset = contents.site, contents.dataset
    mapping: LabelMapping = contents.report["options"]["mapping"]
    answers = {
        name: [RunAnswers(run, run.matrices[name], name) for run in contents.analyses if name in run.matrices]
        for name in TASKS
    }
    answers = {name: runs for name, runs in answers.items() if runs}
    raters = dataset.physicians
    if share == 0:
        list_videos(site, dataset, answers, raters)
        write_rubric_script(site.out, dataset.rubric)
    labels, prompts = _labels(dataset, mapping), PromptFiles(site.out, dataset, answers)
    for index in range(share, len(dataset.videos), shares):
        video = dataset.videos[index]
        source, lost = contents.link(video), reasons_for_lost_points(dataset, video)
        prompts.write(video)
        site.page(
            f"videos/{video.video_id}.html",
            "video.html",
            video={"id": video.video_id},
            before=dataset.videos[index - 1].video_id if index else None,
            after=dataset.videos[index + 1].video_id if index + 1 < len(dataset.videos) else None,
            media=source,
            frames=write_frame_times(site.out, video.video_id, dataset.media_path(video)) if source else "unknown",
            no_media=NO_MEDIA,
            skills=dataset.rubric.skills,
            duration=video.duration,
            raters=raters,
            parts=[_sheet(name, video, dataset, runs, raters, labels, lost) for name, runs in answers.items()],
            legend=LEGEND,
        )


def _labels(dataset: Dataset, mapping: LabelMapping) -> dict[tuple[str, str], int]:
    """Label 0..3 of the consensus by video and step; withheld ones are absent."""
    matrix = build_reference_matrix(dataset, benchmark_task("full", "score").name)
    labels: Any = ordinal_labels(matrix.reference, matrix.max_score, mapping)
    return {
        (matrix.video_ids[v], matrix.step_ids[s]): int(labels[v, s])
        for v, s in np.argwhere(matrix.counted)
    }  # fmt: skip


def _sum(video: Video, rater: str) -> float | None:
    """A rater's total of a video; None unless every applicable step has points."""
    points = [label.scores.get(rater) for label in video.applicable]
    return None if not points or any(value is None for value in points) else sum(value or 0.0 for value in points)


def _sheet(
    name: str,
    video: Video,
    dataset: Dataset,
    answers: Sequence[RunAnswers],
    raters: Sequence[str],
    labels: Mapping[tuple[str, str], int],
    lost: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    rows = []
    for label in video.applicable:
        step = dataset.rubric.by_id[label.step_id]
        rows.append(
            {
                "id": step.id,
                "name": step.name,
                "skill": dataset.rubric.skill_of[step.id],
                "lost": json.dumps(list(map(visible, lost[step.id]))) if lost.get(step.id) else "",
                "max": step.max_score,
                "start": label.start,
                "end": label.end,
                "label": labels.get((video.video_id, step.id), 3),
                "reference": label.consensus,
                "raters": [label.scores.get(rater) for rater in raters],
                "cells": Markup(
                    "".join(run.cell(video.video_id, step.id, label.consensus, step.max_score) for run in answers)
                ),
            }
        )
    return {
        "setting": name,
        "scope": TASKS[name].scope,
        "title": TASKS[name].title,
        "runs": [run.heading for run in answers],
        "rows": rows,
        "max": sum(row["max"] for row in rows),
        "reference": _sum(video, CONSENSUS),
        "raters": [_sum(video, rater) for rater in raters],
        "totals": [run.total(video.video_id) for run in answers],
    }


def list_videos(
    site: Site, dataset: Dataset, answers: Mapping[str, Sequence[RunAnswers]], raters: Sequence[str]
) -> None:
    """Write the list of all videos with everybody's totals in the first setting; the browser pages and searches it."""
    name = next(iter(answers))
    unit = "points, full marks " + page_points(dataset.rubric.max_score)
    rows = [
        {
            "id": video.video_id,
            "site": video.site,
            "duration": video.duration,
            "reference": _sum(video, CONSENSUS),
            "raters": [_sum(video, rater) for rater in raters],
            "cells": [(run.total(video.video_id), run.source.slug) for run in answers[name]],
        }
        for video in dataset.videos
    ]
    site.page(
        "videos/index.html",
        "videos.html",
        title=f"{TASKS[name].title}: {unit if TASKS[name].answer == 'score' else 'steps called incorrect'}",
        setting=name,
        sites=any(video.site for video in dataset.videos),
        raters=raters,
        runs=[run.heading for run in answers[name]],
        videos=rows,
    )


class RunAnswers:
    """One run's answers to one setting, by video and step."""

    def __init__(self, run: RunAnalysis, matrix: ScoreMatrix, setting: str = "") -> None:
        self.source, self.matrix = run.source, matrix
        self.claimed = run.claimed.get(setting, {})
        self.abstained = matrix.abstained.tolist()
        self.row = {video: index for index, video in enumerate(matrix.video_ids)}
        self.column = {step: index for index, step in enumerate(matrix.step_ids)}
        self.predicted = matrix.predicted.tolist()
        self.asked = matrix.asked.tolist()
        if matrix.answer == "score":
            self.totals = totals(matrix)[1].tolist()
        else:
            called = (matrix.predicted_wrong & matrix.asked).sum(axis=1).astype(float)
            self.totals = np.where(matrix.answered.any(axis=1), called, np.nan).tolist()

    def total(self, video_id: str) -> float | None:
        """Predicted total, or the number of steps called wrong; None if there is none."""
        value = self.totals[self.row[video_id]] if video_id in self.row else float("nan")
        return None if value != value else float(value)

    def cell(self, video_id: str, step_id: str, reference: float | None, top: float) -> str:
        """One cell of a sheet.

        ``data-d`` says how it differs from the reference, ``data-claim`` what it rests on: starts and ends in seconds
        of the video, for the time line.
        """
        v, s = self.row.get(video_id), self.column[step_id]
        if v is None or not self.asked[v][s]:
            return "<td></td>"
        value = self.predicted[v][s]
        if value != value:
            word = NOT_VISIBLE if self.abstained[v][s] else "–"
            return f'<td class="num"><button type="button" class="m" data-d="none">{word}</button></td>'
        kind = difference_kind(value, reference, top, self.matrix.answer)
        mark = f' data-d="{kind}"' if kind else ""
        if claim := self.claimed.get((video_id, step_id)):
            mark += f' data-claim="{" ".join(f"{second:.2f}" for part in claim for second in part)}"'
        if self.matrix.answer == "score":
            gap = "" if reference is None or value == reference else _difference_text(value - reference)
            return f'<td class="num"><button type="button"{mark}>{page_points(value)}{gap}</button></td>'
        word = "incorrect" if value else "correct"
        if kind:
            word += " <i>missed</i>" if kind == "miss" else " <i>false alarm</i>"
        return f'<td class="num"><button type="button"{mark}>{word}</button></td>'

    @property
    def heading(self) -> dict[str, str]:
        """Slug, name and role of the run, for the heading of its column."""
        return {"slug": self.source.slug, "name": self.source.name, "role": self.source.role}


def difference_kind(value: float, reference: float | None, top: float, answer: Answer) -> DifferenceKind | None:
    """Kind of difference between an answer and the reference's points; None if it does not, or if there is none.

    Args:
        value: points, or for verdicts 1.0 (wrong) and 0.0.
        reference: points.
        top: the step's maximum.
        answer: which of the two ``value`` is.
    """
    if reference is None:
        return None
    called, wrong = (value < top if answer == "score" else bool(value)), reference < top
    if called != wrong:
        return "alarm" if called else "miss"
    if answer == "error" or value == reference:
        return None
    return "lenient" if value > reference else "strict"


def _difference_text(value: float) -> str:
    return f" <i>{'+' if value > 0 else ''}{page_points(value)}</i>"


PAGE = Page(_write, "Videos", "videos/index.html", shared=True)
