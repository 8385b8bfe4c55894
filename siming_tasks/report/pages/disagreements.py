"""Page of disagreements: every answer that differs from the reference, filtered in the browser.

A setting is a small script of its own with everybody's answers as rows of digits, loaded when it is looked at: 200
videos by 12 models are some 300 kB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import visible
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.kappa import LEVELS, LabelMapping, ordinal_labels
from siming_tasks.report.error_quotes import cluster_quotes
from siming_tasks.report.pages.site import DIFFERENCE_KINDS, Page, ReportContents, answer_address
from siming_tasks.report.run_analysis import RunAnalysis
from siming_tasks.report.viewer_files import script_json
from siming_tasks.tasks import TASKS

__all__ = ["PAGE", "setting_data"]

VERDICTS = ("correct", "incorrect")
NOT_ASKED, NO_ANSWER = " ", "-"


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``disagreements/index.html``, one script for each setting, and the clusters of error quotes."""
    site, dataset, analyses, media = contents.site, contents.dataset, contents.analyses, contents.link
    mapping, rater = contents.report["options"]["mapping"], contents.report["options"]["rater"]
    settings = [name for name in TASKS if any(name in run.matrices for run in analyses)]
    for name in settings:
        with atomic_write(site.out / "disagreements" / f"{name}.js") as stream:
            data = setting_data(name, dataset, analyses, media, mapping, rater)
            stream.write(f"SIMING.answers({script_json(data)});\n")
    _write_quote_clusters(contents, settings)
    runs = {run.source.slug: run.source.name for run in analyses}
    site.page(
        "disagreements/index.html",
        "disagreements.html",
        settings={name: TASKS[name].title for name in settings},
        runs=runs,
        steps=dataset.rubric.steps,
        skills=dataset.rubric.skills,
        kinds=DIFFERENCE_KINDS,
        disputed=len(dataset.physicians) > 1,
        withheld=dataset.withheld,
        media=any(media(video) for video in dataset.videos[:1]),
    )


def _write_quote_clusters(contents: ReportContents, settings: Sequence[str]) -> None:
    """Write ``disagreements/prototypes.html``: of models, or of reference judges where there is no model."""
    dataset = contents.dataset
    models = [run for run in contents.analyses if run.source.role == "model"] or contents.analyses
    parts = []
    for name in settings:
        quotes = [
            (run.source.slug, run.source.name, quote) for run in models for quote in run.error_quotes.get(name, ())
        ]
        groups = cluster_quotes(quotes)
        for group in groups:
            for example in group["examples"]:
                video = dataset.video(example["video"])
                span = video.step(example["step"]).span
                example |= {"media": contents.link(video), "time": sum(span) / 2 if span else None}
        parts.append({"setting": name, "title": TASKS[name].title, "groups": groups, "quotes": len(quotes)})
    names = {step.id: step.name for step in dataset.rubric.steps}
    values = {"parts": parts, "names": names, "answer_address": answer_address}
    contents.site.page("disagreements/prototypes.html", "prototypes.html", **values)


def setting_data(
    name: str,
    dataset: Dataset,
    analyses: Sequence[RunAnalysis],
    media: Callable[[Video], str | None],
    mapping: LabelMapping,
    rater: str,
) -> dict[str, Any]:
    """One setting as the page's script reads it: cells are video after video, in each video step after step.

    Returns:
        ``levels`` (names of the labels), ``fine`` (which is fully correct), ``truth`` and for each run ``said``: one
        digit a cell (a blank: not asked, or no reference; ``-``: no answer); for scores ``points`` and each run's
        ``gave``; ``raters``: each physician's points.
    """
    matrices = [(run.source, run.matrices[name]) for run in analyses if name in run.matrices]
    score = TASKS[name].answer == "score"
    steps, videos = dataset.rubric.steps, dataset.videos
    top = np.array([step.max_score for step in steps])
    reference = _points(dataset, rater)
    data: dict[str, Any] = {
        "setting": name,
        "title": TASKS[name].title,
        "levels": LEVELS if score else VERDICTS,
        "fine": len(LEVELS) - 1 if score else 0,
        "steps": [[step.id, visible(step.name), dataset.rubric.skill_of[step.id], step.max_score] for step in steps],
        "videos": [[video.video_id, media(video), _spans(video, dataset)] for video in videos],
        "truth": _levels_as_digits(_levels(reference, top, score, mapping), np.isnan(reference)),
        "points": _numbers(reference),
        "raters": {visible(physician): _numbers(_points(dataset, physician)) for physician in dataset.physicians},
        "runs": [],
    }
    for source, matrix in matrices:
        judged, asked = _answers_over_all_videos(matrix, dataset)
        levels = ordinal_labels(judged, top, mapping) if score else np.where(np.isnan(judged), -1, judged).astype(int)
        run = {
            "slug": source.slug,
            "name": visible(source.name),
            "role": source.role,
            "said": _levels_as_digits(levels, ~asked),
        }
        data["runs"].append({**run, "gave": _numbers(judged)} if score else run)
    return data


def _levels(points: np.ndarray[Any, Any], top: np.ndarray[Any, Any], score: bool, mapping: LabelMapping) -> Any:
    return ordinal_labels(points, top, mapping) if score else np.less(points, top).astype(int)


def _points(dataset: Dataset, rater: str) -> np.ndarray[Any, Any]:
    """A rater's points of all videos and steps; NaN where there are none, or where the step does not apply."""
    column = {step.id: index for index, step in enumerate(dataset.rubric.steps)}
    points = np.full((len(dataset.videos), len(column)), np.nan)
    for row, video in enumerate(dataset.videos):
        for label in video.applicable:
            points_by_step = label.scores.get(rater)
            points[row, column[label.step_id]] = np.nan if points_by_step is None else points_by_step
    return points


def _answers_over_all_videos(
    matrix: ScoreMatrix, dataset: Dataset
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Answers of a run, and what it was asked, over all videos of the data set (NaN: none)."""
    row = {video.video_id: index for index, video in enumerate(dataset.videos)}
    rows = [row[video] for video in matrix.video_ids]
    shape = (len(row), len(dataset.rubric.steps))
    judged, asked = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    judged[rows], asked[rows] = matrix.predicted, matrix.asked
    return judged, asked


def _levels_as_digits(levels: np.ndarray[Any, Any], absent: np.ndarray[Any, Any]) -> str:
    signs = np.array([*"0123", NO_ANSWER, NOT_ASKED])
    return "".join(signs[np.where(absent, 5, np.where(levels < 0, 4, levels))].ravel().tolist())


def _numbers(points: np.ndarray[Any, Any]) -> list[float | int | None]:
    flat = points.ravel().tolist()
    return [None if value != value else int(value) if value == int(value) else value for value in flat]


def _spans(video: Video, dataset: Dataset) -> list[list[float] | None]:
    spans = {label.step_id: list(label.span) for label in video.applicable if label.span}
    return [spans.get(step.id) for step in dataset.rubric.steps]


PAGE = Page(_write, "Disagreements", "disagreements/index.html")
