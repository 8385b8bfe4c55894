"""The way from answers to numbers: records of replies and the exams' labels become a matrix, and the matrix rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from siming_tasks.benchmark.clusters import clusters_of, performances_of
from siming_tasks.benchmark.exams import Exams
from siming_tasks.benchmark.metrics import Rows, ScoreMatrix, evaluate
from siming_tasks.benchmark.record import Record, distinct_records
from siming_tasks.benchmark.tasks import TASKS, setting_named
from siming_tasks.benchmark.tasks.answer_formats import FormatInputs
from siming_tasks.benchmark.tasks.expected_requests import expected_ids, expected_requests, record_id, steps_of
from siming_tasks.benchmark.types import CONSENSUS, UnitChoice
from siming_tasks.common.choices import LabelMapping


def score(
    records: Iterable[Record],
    exams: Exams,
    task: str,
    *,
    rater: str = CONSENSUS,
    mapping: LabelMapping = "absolute",
    cluster: UnitChoice = "auto",
    asked: Collection[str] | None = None,
) -> Rows:
    """Score the answers to one task: every metric with its interval, in memory.

    Args:
        records: of one judge; those of other tasks are ignored.
        exams: with the labels.
        task: name of the task, ``full_score`` or ``siming_full_score``.
        rater: whose points are the reference.
        mapping: how points become the labels of kappa.
        cluster: what is left out for intervals (:func:`siming_tasks.benchmark.clusters.clusters_of`).
        asked: ids of the requests that were to be made; one without a record is a missing answer. None: those of the
            records.

    Returns:
        The rows of :func:`siming_tasks.benchmark.metrics.evaluate`, then those of the task's answer format.

    Raises:
        OptionsError: there is no such task.
        DataError: a record has a video that the exams lack, or the exams do not state ``cluster``.

    Example:
        >>> from siming_tasks import Exams, Record, default_rubric, parse_reply, score
        >>> from siming_tasks.benchmark.exams import StepLabel, Video
        >>> rubric, truth, replies = default_rubric(), (2, 2, 1, 0, 2, 1), (2, 2, 2, 0, 1, 1)
        >>> label = lambda points: (StepLabel("cpr_01", 0.0, 4.0, {"consensus": points}),)
        >>> videos = tuple(Video(f"v{n}", f"v{n}.mp4", 9.0, label(points)) for n, points in enumerate(truth))
        >>> read = lambda points: parse_reply(f'{{"score": {points}}}', [rubric.by_id["cpr_01"]], "score")
        >>> records = [Record("clip_score", f"v{n}", "cpr_01", read(points)) for n, points in enumerate(replies)]
        >>> print(score(records, Exams(rubric, videos), "clip_score").one("answered", "all steps", "qwk"))
        0.854 [-0.9999, 0.999999]
    """
    task = setting_named(task)
    distinct, _ = distinct_records(record for record in records if record.setting == task)
    matrix = build_score_matrix(distinct, exams, task, rater, cluster=cluster, asked=asked)
    rows, answer_format = evaluate(matrix, mapping=mapping), TASKS[task].answer_format
    if not answer_format.metrics or exams.withheld:
        return rows
    matrix = matrix.sorted()
    return rows + answer_format.compute_results(FormatInputs(
        records=[record.to_json() for record in distinct],
        scores=matrix,
        videos=[exams.video(name) for name in matrix.video_ids],
        steps=[exams.rubric.by_id[name] for name in matrix.step_ids],
        scope=TASKS[task].scope,
        mapping=mapping,
        rater=rater,
    ))  # fmt: skip


def build_score_matrix(
    records: Iterable[Record],
    exams: Exams,
    task: str,
    rater: str = CONSENSUS,
    *,
    cluster: UnitChoice = "auto",
    asked: Collection[str] | None = None,
) -> ScoreMatrix:
    """Reference and predicted judgments of one task as videos x steps; the arguments are those of :func:`score`.

    Of two different answers to one request none counts.
    """
    spec = TASKS[task]
    distinct, _ = distinct_records(record for record in records if record.setting == task)
    wanted = {record.id for record in distinct} if asked is None else asked
    row = {video.video_id: index for index, video in enumerate(exams.videos)}
    column = {step.id: index for index, step in enumerate(exams.rubric.steps)}
    shape = (len(row), len(column))
    reference, predicted, seen = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    spans = np.full((*shape, 2), np.nan)
    for video_id, step_id in expected_requests(spec, exams.videos):
        if record_id(task, video_id, step_id) not in wanted:
            continue
        video = exams.video(video_id)
        for name in steps_of(spec, video, step_id):
            label, place = video.step(name), (row[video_id], column[name])
            seen[place] = True
            reference[place] = np.nan if (points := label.scores.get(rater)) is None else points
            if label.span and (spec.scope == "clip" or spec.shows_step_times):
                spans[place] = label.span
    for record in distinct:
        exams.video(record.video_id)  # names the nearest where there is none
        for name, value in record.answers.items():
            predicted[row[record.video_id], column[name]] = value
    predicted[~seen] = np.nan
    kept = np.flatnonzero(seen.any(axis=1))
    names = tuple(exams.videos[index].video_id for index in kept)
    clusters, sites = clusters_of(exams, cluster), tuple(exams.video(name).site or "" for name in names)
    return ScoreMatrix(
        video_ids=names,
        step_ids=tuple(column),
        skills=tuple(exams.rubric.skill_of[name] for name in column),
        max_score=np.array([step.max_score for step in exams.rubric.steps], dtype=float),
        reference=reference[kept],
        predicted=predicted[kept],
        asked=seen[kept],
        answer=spec.answer,
        spans=spans[kept],
        durations=np.array([video.duration for video in exams.videos])[kept],
        sites=sites if any(sites) else (),
        columns=stated_columns(exams, names),
        clusters=tuple(clusters.names[name] for name in names),
        unit=clusters.unit,
        fixed=clusters.fixed,
    )


def stated_columns(exams: Exams, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Columns that the exams state of these videos besides labels, times and sites; ``performance`` is always one.

    A split is a plan of the study and nothing that a judge could see.
    """
    stated = [exams.video(name).extra for name in names]
    found = {}
    for key in dict.fromkeys(key for each in stated for key in each if key not in ("split", "performance")):
        values = [each.get(key) for each in stated]
        if all(value is None or isinstance(value, str | int | float) for value in values):
            found[key] = tuple("" if value is None else str(value) for value in values)
    performances = performances_of(exams)
    return found | {"performance": tuple(performances[name] for name in names)}


def build_reference_matrix(exams: Exams, task: str, rater: str = CONSENSUS) -> ScoreMatrix:
    """Everything that a complete run of a task is asked, with a rater's points and nothing answered."""
    every = frozenset(expected_ids(TASKS[task], exams.videos))
    return build_score_matrix((), exams, task, rater, asked=every)
