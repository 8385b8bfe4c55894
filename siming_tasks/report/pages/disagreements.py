"""Page of disagreements: every answer that differs from the reference, filtered in the browser, and groups of errors.

A setting is a small script of its own with everybody's answers as rows of digits, loaded when it is looked at: 200
videos by 12 models are some 300 kB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from siming_tasks.common.files import atomic_write
from siming_tasks.common.sanitize import visible
from siming_tasks.data import Dataset
from siming_tasks.metrics.kappa import LEVELS, LabelMapping, ordinal_labels
from siming_tasks.report.error_quotes import group_quotes
from siming_tasks.report.pages.site import DIFFERENCE_KINDS, VERDICTS, Page, ReportContents, answer_address
from siming_tasks.report.run_analysis import RunAnalysis
from siming_tasks.report.viewer_files import script_call
from siming_tasks.tasks import TASKS

SIGNS = np.array([*"0123", "-", " "])
"""One for each label; the last two say that there is no answer, and that it was not asked."""
Points = np.ndarray[Any, Any]
"""Points of all videos (rows) and steps (columns) of the data set, NaN where there are none."""


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write ``disagreements/index.html`` and one script for each setting."""
    site, dataset, analyses = contents.site, contents.dataset, contents.analyses
    settings = {name: TASKS[name].title for name in TASKS if any(name in run.matrices for run in analyses)}
    for name in settings:
        with atomic_write(site.out / "disagreements" / f"{name}.js") as stream:
            stream.write(script_call("answers", _setting_data(name, contents)))
    site.page(
        "disagreements/index.html",
        "disagreements.html",
        settings=settings,
        runs={run.source.slug: run.source.name for run in analyses},
        steps=dataset.rubric.steps,
        skills=dataset.rubric.skills,
        kinds=DIFFERENCE_KINDS,
        disputed=len(dataset.physicians) > 1,
        withheld=dataset.withheld,
        groups={name: rows for name in settings if (rows := _error_groups(name, analyses))},
        media=any(contents.link(video) for video in dataset.videos[:1]),
    )


def _error_groups(name: str, analyses: Sequence[RunAnalysis]) -> list[dict[str, Any]]:
    """Rows of the table of groups of error quotes: of models, or of reference judges where there is no model."""
    models = [run for run in analyses if run.source.role == "model"] or analyses
    sources = [(run.source, run.error_quotes.get(name, ())) for run in models]
    groups = group_quotes([(source.slug, source.name, quote) for source, quoted in sources for quote in quoted])
    return [
        {
            "terms": ", ".join(group["terms"]) or "one and the same",
            "count": len(group["members"]),
            "misses": sum(quote.is_miss for _, _, quote in group["members"]),
            "runs": ", ".join(sorted({run for _, run, _ in group["members"]})),
            "text": quote.text,
            "request": f"{quote.step}, {quote.video}",
            "href": answer_address(name, quote.video, slug, quote.step),
        }
        for group in groups
        for slug, _, quote in [group["nearest"]]
    ]


def _setting_data(name: str, contents: ReportContents) -> dict[str, Any]:
    """One setting as the page's script reads it: cells are video after video, in each video step after step.

    Returns:
        ``levels`` (names of the labels), ``fine`` (which is fully correct), ``truth`` and for each run ``said``: one
        digit a cell (a blank: not asked, or no reference; ``-``: no answer); for scores ``points`` and each run's
        ``gave``; ``raters``: each physician's points.
    """
    dataset, options, score = contents.dataset, contents.report["options"], TASKS[name].answer == "score"
    mapping: LabelMapping = options["mapping"]
    rubric, videos = dataset.rubric, dataset.videos
    steps, top = rubric.steps, np.array([step.max_score for step in rubric.steps])
    row = {video.video_id: index for index, video in enumerate(videos)}
    runs = []
    for run in contents.analyses:
        if (matrix := run.matrices.get(name)) is None:
            continue
        judged, asked = np.full((len(row), len(steps)), np.nan), np.zeros((len(row), len(steps)), dtype=np.bool_)
        rows = [row[video] for video in matrix.video_ids]
        judged[rows], asked[rows] = matrix.predicted, matrix.asked
        levels = ordinal_labels(judged, top, mapping) if score else np.where(np.isnan(judged), -1, judged)
        source, digits = run.source, _levels_as_digits(levels, ~asked)
        facts = {"slug": source.slug, "name": visible(source.name), "role": source.role, "said": digits}
        runs.append(facts | ({"gave": _numbers(judged)} if score else {}))
    spans = [{label.step_id: list(label.span) for label in video.applicable if label.span} for video in videos]
    reference = _points(dataset, options["rater"])
    truth = ordinal_labels(reference, top, mapping) if score else np.less(reference, top)
    return {
        "setting": name,
        "title": TASKS[name].title,
        "levels": LEVELS if score else VERDICTS,
        "fine": len(LEVELS) - 1 if score else 0,
        "steps": [[step.id, visible(step.name), rubric.skill_of[step.id], step.max_score] for step in steps],
        "videos": [
            [video.video_id, contents.link(video), [known.get(step.id) for step in steps]]
            for video, known in zip(videos, spans, strict=True)
        ],
        "truth": _levels_as_digits(truth, np.isnan(reference)),
        "points": _numbers(reference),
        "raters": {visible(physician): _numbers(_points(dataset, physician)) for physician in dataset.physicians},
        "runs": runs,
    }


def _points(dataset: Dataset, rater: str) -> Points:
    """A rater's points; NaN where a step does not apply, too."""
    column = {step.id: index for index, step in enumerate(dataset.rubric.steps)}
    points = np.full((len(dataset.videos), len(column)), np.nan)
    for row, video in enumerate(dataset.videos):
        for label in video.applicable:
            points_given = label.scores.get(rater)
            points[row, column[label.step_id]] = np.nan if points_given is None else points_given
    return points


def _levels_as_digits(levels: np.ndarray[Any, Any], absent: np.ndarray[Any, Any]) -> str:
    places = np.where(absent, 5, np.where(levels < 0, 4, levels)).astype(int)
    return "".join(SIGNS[places].ravel().tolist())


def _numbers(points: Points) -> list[float | int | None]:
    flat = points.ravel().tolist()
    return [None if value != value else int(value) if value == int(value) else value for value in flat]


PAGE = Page(_write, "Disagreements", "disagreements/index.html")
