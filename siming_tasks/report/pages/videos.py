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
from siming_tasks.report.pages.site import VERDICTS, DifferenceKind, Page, ReportContents, Site, neighbours
from siming_tasks.report.run_analysis import RunAnalysis
from siming_tasks.report.viewer_files import (
    PromptFiles,
    reasons_for_lost_points,
    write_frame_times,
    write_rubric_script,
)
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.tasks import TASKS, benchmark_task

NO_MEDIA = "The report was made without videos (--video-files none)."
LEGEND = (
    "Shading: the reference’s label (none: fully correct; darker: more deducted). In scores, the small number is the "
    "difference from the reference; in verdicts, “missed” and “false alarm” are against “less than full points”. "
    "A dash is a missing answer. An empty cell was not asked."
)


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write every ``shares``-th video's page, beginning with the ``share``-th; the first share writes the index too."""
    site, dataset, analyses = contents.site, contents.dataset, contents.analyses
    ids, raters = [video.video_id for video in dataset.videos], dataset.physicians
    answers = {
        name: [RunAnswers(run, run.matrices[name], name) for run in analyses if name in run.matrices]
        for name in TASKS
        if any(name in run.matrices for run in analyses)
    }
    if share == 0:
        list_videos(site, dataset, answers, raters)
        write_rubric_script(site.out, dataset.rubric)
    mapping: LabelMapping = contents.report["options"]["mapping"]
    consensus = build_reference_matrix(dataset, benchmark_task("full", "score").name)
    levels: Any = ordinal_labels(consensus.reference, consensus.max_score, mapping)
    labels = {
        (consensus.video_ids[v], consensus.step_ids[s]): int(levels[v, s]) for v, s in np.argwhere(consensus.counted)
    }
    prompts = PromptFiles(site.out, dataset, answers)
    for index in range(share, len(ids), shares):
        video = dataset.videos[index]
        source, lost = contents.link(video), reasons_for_lost_points(dataset, video)
        prompts.write(video)
        site.page(
            f"videos/{ids[index]}.html",
            "video.html",
            video={"id": ids[index]},
            **neighbours(ids, index),
            media=source,
            frames=write_frame_times(site.out, ids[index], dataset.media_path(video)) if source else "unknown",
            no_media=NO_MEDIA,
            skills=dataset.rubric.skills,
            duration=video.duration,
            raters=raters,
            parts=[_sheet(name, video, dataset, runs, labels, lost) for name, runs in answers.items()],
            legend=LEGEND,
        )


def _rater_totals(video: Video, raters: Sequence[str]) -> dict[str, Any]:
    """Totals of the consensus and of the raters; None unless every applicable step has points."""

    def total(rater: str) -> float | None:
        points = [label.scores.get(rater) for label in video.applicable]
        return None if not points or any(value is None for value in points) else sum(value or 0.0 for value in points)

    return {"reference": total(CONSENSUS), "raters": [total(rater) for rater in raters]}


def _sheet(
    name: str,
    video: Video,
    dataset: Dataset,
    answers: Sequence[RunAnswers],
    labels: Mapping[tuple[str, str], int],
    lost: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """One setting on a video's page: a row for each step with everybody's answers, and the totals."""
    rows = []
    for label in video.applicable:
        step = dataset.rubric.by_id[label.step_id]
        cells = (run.cell(video.video_id, step.id, label.consensus, step.max_score) for run in answers)
        rows.append({
            "id": step.id,
            "name": step.name,
            "skill": dataset.rubric.skill_of[step.id],
            "lost": json.dumps(list(map(visible, lost[step.id]))) if lost.get(step.id) else "",
            "max": step.max_score,
            "start": label.start,
            "end": label.end,
            "label": labels.get((video.video_id, step.id), 3),
            "reference": label.consensus,
            "raters": [label.scores.get(rater) for rater in dataset.physicians],
            "cells": Markup("".join(cells)),
        })  # fmt: skip
    return {
        "setting": name,
        "scope": TASKS[name].scope,
        "title": TASKS[name].title,
        "runs": [run.source for run in answers],
        "rows": rows,
        "max": sum(row["max"] for row in rows),
        **_rater_totals(video, dataset.physicians),
        "totals": [run.total(video.video_id) for run in answers],
    }


def list_videos(
    site: Site, dataset: Dataset, answers: Mapping[str, Sequence[RunAnswers]], raters: Sequence[str]
) -> None:
    """Write the list of all videos with everybody's totals in the first setting; the browser pages and searches it."""
    name = next(iter(answers))
    unit = "points, full marks " + page_points(dataset.rubric.max_score)
    rows = []
    for video in dataset.videos:
        cells = [(run.total(video.video_id), run.source.slug) for run in answers[name]]
        facts = {"id": video.video_id, "site": video.site, "duration": video.duration, "cells": cells}
        rows.append(facts | _rater_totals(video, raters))
    site.page(
        "videos/index.html",
        "videos.html",
        title=f"{TASKS[name].title}: {unit if TASKS[name].answer == 'score' else 'steps called incorrect'}",
        setting=name,
        sites=any(video.site for video in dataset.videos),
        raters=raters,
        runs=[run.source for run in answers[name]],
        videos=rows,
    )


class RunAnswers:
    """One run's answers to one setting, by video and step."""

    def __init__(self, run: RunAnalysis, matrix: ScoreMatrix, setting: str) -> None:
        self.source, self.answer = run.source, matrix.answer
        self.claimed = run.claimed.get(setting, {})
        self.row = {video: index for index, video in enumerate(matrix.video_ids)}
        self.column = {step: index for index, step in enumerate(matrix.step_ids)}
        # lists: millions of single cells are read, which NumPy is slow at
        self.predicted, self.asked = matrix.predicted.tolist(), matrix.asked.tolist()
        self.abstained = matrix.abstained.tolist()
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
            kind, text = "none", NOT_VISIBLE if self.abstained[v][s] else "–"
            attributes = ' class="m"'
        else:
            kind, attributes = difference_kind(value, reference, top, self.answer) or "", ""
            if self.answer == "error":
                text = VERDICTS[bool(value)] + {"miss": " <i>missed</i>", "alarm": " <i>false alarm</i>"}.get(kind, "")
            else:
                gap = 0.0 if reference is None else value - reference
                text = page_points(value) + (f" <i>{'+' if gap > 0 else ''}{page_points(gap)}</i>" if gap else "")
        attributes += f' data-d="{kind}"' if kind else ""
        if value == value and (claim := self.claimed.get((video_id, step_id))):
            attributes += f' data-claim="{" ".join(f"{second:.2f}" for part in claim for second in part)}"'
        return f'<td class="num"><button type="button"{attributes}>{text}</button></td>'


def difference_kind(value: float, reference: float | None, top: float, answer: Answer) -> DifferenceKind | None:
    """Kind of difference between an answer and the reference's points; None if it does not, or if there is none.

    ``value`` is points, or for verdicts 1.0 (wrong) and 0.0; ``top`` is the step's maximum.
    """
    if reference is None:
        return None
    called, wrong = (value < top if answer == "score" else bool(value)), reference < top
    if called != wrong:
        return "alarm" if called else "miss"
    if answer == "error" or value == reference:
        return None
    return "lenient" if value > reference else "strict"


PAGE = Page(_write, "Videos", "videos/index.html", shared=True)
