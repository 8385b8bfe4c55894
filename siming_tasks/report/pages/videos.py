"""The videos: a list with totals, and for each a player, its step spans and every judge's answer to every step."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from siming_tasks.common.sanitize import visible
from siming_tasks.common.schema import CONSENSUS, StepLabel, Video
from siming_tasks.data import Dataset
from siming_tasks.metrics.agreement.labels import LabelMapping, ordinal_labels
from siming_tasks.report.pages.answers import Answers
from siming_tasks.report.pages.asked import Prompts, losses, write_rubric
from siming_tasks.report.pages.frame_times import frame_times
from siming_tasks.report.pages.site import Site, points
from siming_tasks.report.study.study import Study
from siming_tasks.results.score_matrix import build_reference_matrix
from siming_tasks.tasks import TASKS, benchmark_task

__all__ = ["list_videos", "video_pages"]

NO_MEDIA = "The report was made without videos (--video-files none)."
LEGEND = (
    "Shading: the reference’s label (none: fully correct; darker: more deducted). In scores, the small number is the "
    "difference from the reference; in verdicts, “missed” and “false alarm” are against “less than full points”. "
    "A dash is a missing answer. An empty cell was not asked."
)


def video_pages(
    site: Site,
    dataset: Dataset,
    studies: Sequence[Study],
    media: Callable[[Video], str | None],
    mapping: LabelMapping,
    part: int = 0,
    parts: int = 1,
) -> None:
    """Write every ``parts``-th video's page, beginning with the ``part``-th; the first part writes the index too.

    Args:
        site: where to.
        dataset: spans and labels.
        studies: the runs.
        media: link to a video's file as seen from ``videos/``, or None to leave it out.
        mapping: how points become the labels that cells are shaded by.
        part: which share of the pages, from 0.
        parts: in how many shares they are written.
    """
    answers = {
        name: [Answers(study, study.panels[name], name) for study in studies if name in study.panels] for name in TASKS
    }
    answers = {name: found for name, found in answers.items() if found}
    raters = dataset.physicians
    if part == 0:
        list_videos(site, dataset, answers, raters)
        write_rubric(site.out, dataset.rubric)
    labels, prompts = _labels(dataset, mapping), Prompts(site.out, dataset, answers)
    for index in range(part, len(dataset.videos), parts):
        video = dataset.videos[index]
        source, lost = media(video), losses(dataset, video)
        prompts.write(video)
        site.page(
            f"videos/{video.video_id}.html",
            "video.html",
            video={"id": video.video_id},
            before=dataset.videos[index - 1].video_id if index else None,
            after=dataset.videos[index + 1].video_id if index + 1 < len(dataset.videos) else None,
            media=source,
            frames=frame_times(site.out, video.video_id, dataset.media_path(video)) if source else "unknown",
            no_media=NO_MEDIA,
            skills=dataset.rubric.skills,
            duration=video.duration,
            raters=raters,
            parts=[_sheet(name, video, dataset, found, raters, labels, lost) for name, found in answers.items()],
            legend=LEGEND,
        )


def _labels(dataset: Dataset, mapping: LabelMapping) -> dict[tuple[str, str], int]:
    """Label 0..3 of the consensus by video and step; withheld ones are absent."""
    panel = build_reference_matrix(dataset, benchmark_task("full", "score").name)
    found: Any = ordinal_labels(panel.reference, panel.max_score, mapping)
    return {
        (panel.video_ids[v], panel.step_ids[s]): int(found[v, s])
        for v, s in np.argwhere(panel.counted)
    }  # fmt: skip


def _points(label: StepLabel, rater: str) -> float | None:
    return label.scores.get(rater)


def _sum(video: Video, rater: str) -> float | None:
    given = [_points(label, rater) for label in video.applicable]
    return None if not given or any(value is None for value in given) else sum(value or 0.0 for value in given)


def _sheet(
    name: str,
    video: Video,
    dataset: Dataset,
    answers: Sequence[Answers],
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
                "raters": [_points(label, rater) for rater in raters],
                "cells": Markup(
                    "".join(one.cell(video.video_id, step.id, label.consensus, step.max_score) for one in answers)
                ),
            }
        )
    return {
        "setting": name,
        "scope": TASKS[name].scope,
        "title": TASKS[name].title,
        "runs": [one.head for one in answers],
        "rows": rows,
        "max": sum(row["max"] for row in rows),
        "reference": _sum(video, CONSENSUS),
        "raters": [_sum(video, rater) for rater in raters],
        "totals": [one.total(video.video_id) for one in answers],
    }


def list_videos(site: Site, dataset: Dataset, answers: Mapping[str, Sequence[Answers]], raters: Sequence[str]) -> None:
    """Write the list of all videos with everybody's totals in the first setting; the browser pages and searches it."""
    name = next(iter(answers))
    unit = "points, full marks " + points(dataset.rubric.max_score)
    rows = [
        {
            "id": video.video_id,
            "site": video.site,
            "duration": video.duration,
            "reference": _sum(video, CONSENSUS),
            "raters": [_sum(video, rater) for rater in raters],
            "cells": [(one.total(video.video_id), one.source.slug) for one in answers[name]],
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
        runs=[one.head for one in answers[name]],
        videos=rows,
    )
