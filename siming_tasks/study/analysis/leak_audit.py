"""Leak audit: what a data set states besides pixels, and how well it tells which steps are wrong.

What a fact reaches is what a judge of pictures must beat before it has shown anything.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.jackknife import Jackknifed, jackknife, quantile_of_t
from siming_tasks.benchmark.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.benchmark.metrics.thresholds import ALPHA, POWER
from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.study.analysis.tables import TableText, corrected, table_row

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.options import Options

FOLDS, TREES, MOST_CELLS = 5, 100, 8_000
"""Parts that the clusters are dealt into; trees of a forest, and most steps that one of them is grown on."""
PRIOR = "step prior"

TABLES: Mapping[str, TableText] = {
    "leaks": TableText(
        "Leak audit",
        'Area under the ROC curve for "wrong by {reference}": of the step prior and of a forest that also knows one '
        "fact, both trained on the other clusters. A gain above 0 with a corrected one-sided p of at most .05 is a "
        "leak. Finding no leak does not prove that there is none: a gain as large as "
        '"missed" is found with 80 % power.',
        {"auroc": "AUROC", "gain": "gain over the step prior", "missed": "missed"},
    )
}


def audit(dataset: Dataset, options: Options, *, media: bool = True) -> Rows:
    """Table ``leaks`` of a data set; with ``media`` its files are opened too, and one that cannot be says why.

    Raises:
        DataError: the labels are withheld, or there is one cluster only.
    """
    from siming_tasks.benchmark.scoring import build_reference_matrix
    from siming_tasks.benchmark.tasks import benchmark_task

    matrix = build_reference_matrix(dataset, benchmark_task("full", "score").name, options.rater)
    videos = [dataset.video(name) for name in matrix.video_ids]
    facts, unread = stated_facts(videos, matrix.step_ids), Rows()
    try:
        facts |= file_facts([dataset.media_path(video) for video in videos], videos) if media else {}
    except (MediaError, DataError) as error:
        unread = Rows([Estimate(None, why=str(error), table="leaks", row="files", metric="auroc")])
    return leak_audit(matrix, facts) + unread


def leak_audit(matrix: ScoreMatrix, facts: Mapping[str, FloatArray]) -> Rows:
    """Table ``leaks``: the step prior, and a row for each fact with its gain, tested and corrected by Holm.

    ``facts`` are by name features of each video, ``float[V, F]``, or of each of its steps, ``float[V, S, F]``; NaN:
    unknown, which may tell something too. Of the matrix only the labels and the clusters are used.

    Raises:
        DataError: the labels are withheld, or there is one cluster only.
    """
    if not matrix.counted.any():
        raise DataError("The labels are withheld, so leaks cannot be measured.")
    if matrix.n_clusters < 2:
        raise DataError(f"All videos are one {matrix.unit}; an audit needs at least two.")
    nothing = np.zeros((*matrix.asked.shape, 0))
    prior = _area(matrix, _chances(matrix, nothing))
    rows: list[Estimate] = [*table_row("leaks", PRIOR, {"auroc": prior})]
    gains: list[Estimate] = []
    for name, values in facts.items():
        if ((values == values[:1]) | np.isnan(values) & np.isnan(values[:1])).all():
            same = "It is the same in every video."
            rows += [Estimate(None, why=same, table="leaks", row=name, metric=key) for key in ("auroc", "gain")]
            continue
        whole = values[:, None] if values.ndim == 2 else values
        found = _area(matrix, _chances(matrix, np.broadcast_to(whole, (*nothing.shape[:2], whole.shape[2]))))
        rows += table_row("leaks", name, {"auroc": found})
        gains += map(one_sided, table_row("leaks", name, {"gain": found - prior}, tested=True))
    return Rows(rows) + corrected(gains) + _missed(gains)


def one_sided(found: Estimate) -> Estimate:
    """The same with the p of "it is not above 0": a fact cannot tell less than nothing."""
    if found.p is None or found.value is None:
        return found
    return replace(found, p=found.p / 2 if found.value > 0 else 1 - found.p / 2)


def _missed(gains: Sequence[Estimate]) -> Rows:
    """Gains that the tests find with power .8, at the first step of Holm; one for each gain that was tested."""
    tests = [each for each in gains if each.p is not None and each.stderr]
    rows = []
    for each in tests:
        reach = quantile_of_t(1 - ALPHA / len(tests), each.degrees) + quantile_of_t(POWER, each.degrees)
        missed = replace(each, value=reach * (each.stderr or 0.0), stderr=None, low=None, high=None, p=None, flags=())
        rows.append(replace(missed, metric="missed", why="By the standard error of the gain: no interval."))
    return Rows(rows)


def _chances(matrix: ScoreMatrix, features: FloatArray) -> FloatArray:
    """Chance that each step is wrong, ``float[V, S]``, learnt from the other clusters; without features the step prior.

    The forest knows how often the step is wrong there, the features, and how far they lie from the step's mean.
    """
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.model_selection import GroupKFold

    known, wrong, chances = matrix.counted, matrix.reference_wrong, np.zeros(matrix.asked.shape)
    folds = GroupKFold(min(FOLDS, matrix.n_clusters)).split(known, groups=np.asarray(matrix.clusters))
    for learn, judge in folds:
        cells = known[learn]
        usual = (wrong & known)[learn].sum(axis=0) / np.maximum(cells.sum(axis=0), 1)
        chances[judge] = usual
        if not features.shape[2] or not cells.any():
            continue
        number = np.maximum((~np.isnan(features[learn])).sum(axis=0), 1)
        away = features - np.nansum(features[learn], axis=0) / number
        prior = np.broadcast_to(usual[:, None], (*known.shape, 1))
        rows = np.nan_to_num(np.concatenate([prior, features, away], axis=2), nan=-1e9)
        forest = ExtraTreesRegressor(
            TREES, min_samples_leaf=max(5, min(MOST_CELLS, int(cells.sum())) // 100), max_features=0.6, bootstrap=True,
            max_samples=min(MOST_CELLS, int(cells.sum())), random_state=0,
        ).fit(rows[learn][cells], wrong[learn][cells].astype(np.float64))  # fmt: skip
        chances[judge] = forest.predict(rows[judge].reshape(-1, rows.shape[2])).reshape(len(judge), -1)
    clipped: FloatArray = np.clip(chances, 0, 1).round(9)
    return clipped


def _area(matrix: ScoreMatrix, chances: FloatArray) -> Jackknifed:
    """The pooled AUROC of chances with every cluster left out; NaN where no step is wrong, or none is right."""
    from sklearn.metrics import roc_auc_score

    def area(part: ScoreMatrix) -> float:
        wrong, known = part.reference_wrong, part.counted
        if len(np.unique(wrong[known])) < 2:
            return float("nan")
        return float(roc_auc_score(wrong[known], (part.predicted / part.max_score)[known].round(9)))

    held = replace(matrix, answer="score", predicted=chances * matrix.max_score)  # a matrix carries them to the area
    return replace(jackknife(area, held), range=(0.0, 1.0), why="No step is wrong, or none is correct.")


def stated_facts(videos: Sequence[Video], step_ids: Sequence[str]) -> dict[str, FloatArray]:
    """Features of what ``videos.jsonl`` states besides labels: times, order, steps, names, and every further column.

    Videos are in the order of the matrix; ``float[V, F]`` of a video, ``float[V, S, F]`` of its steps.
    """
    column = {name: place for place, name in enumerate(step_ids)}
    spans, asked = np.full((len(videos), len(column), 2), np.nan), np.zeros((len(videos), len(column)))
    for row, video in enumerate(videos):
        for step in video.applicable:
            if step.step_id in column:
                asked[row, column[step.step_id]] = 1
                spans[row, column[step.step_id]] = step.span or np.nan
    duration = np.array([[round(video.duration, 1)] for video in videos])
    start, end = np.moveaxis(spans, 2, 0)
    earlier = end[:, None, :] <= start[:, :, None] + 1e-6  # NaN is before nothing
    latest = np.where(earlier, end[:, None, :], -np.inf).max(axis=2)
    pause = np.where(np.isfinite(latest), start - latest, start)
    shared = (spans[:, :, None] == spans[:, None, :]).all(axis=3).sum(axis=2)
    facts = {
        "duration": duration,
        "span length": (end - start)[:, :, None].round(1),
        "place": np.stack([start, end, start / duration, end / duration], axis=2),
        "order": np.stack([earlier.sum(axis=2), pause, shared], axis=2).astype(np.float64),
        "steps asked": np.column_stack([asked.sum(axis=1), asked]),
    }
    ids = [video.video_id for video in videos]
    files = [os.path.basename(video.media) for video in videos]
    facts["names"] = np.hstack([_numbers(ids), _numbers(files), _numbers([ord(name[-1]) for name in ids])])
    stated = [{"site": video.site, **video.extra} for video in videos]
    for key in dict.fromkeys(key for each in stated for key in each):
        facts[key] = _numbers([each.get(key) for each in stated])
    students = [each.get("student", name) for each, name in zip(stated, ids, strict=True)]
    facts["videos of the student"] = _numbers([Counter(students)[name] for name in students])
    return facts


def file_facts(paths: Sequence[Path], videos: Sequence[Video]) -> dict[str, FloatArray]:
    """Features of files besides pixels: sizes, coding and dates, ``float[V, F]`` each (MediaError: unreadable)."""
    from siming_tasks.media.container import open_video
    from siming_tasks.media.timeline import read_timeline

    sizes, coding, dates = [], [], []
    for path, video in zip(paths, videos, strict=True):
        timeline, size = read_timeline(path), path.stat()
        with open_video(path) as (container, stream):
            context, notes = stream.codec_context, {**container.metadata, **stream.metadata}
            names = [container.format.name, context.name, context.profile, context.format and context.format.name]
            names += [notes.get(name) for name in ("encoder", "handler_name", "major_brand", "title", "comment")]
            coding.append([str(name) for name in (*names, len(container.streams.audio), timeline.rate)])
            picture = (context.width, context.height, timeline.n_frames, len(timeline.keyframes))
        sizes.append([size.st_size, size.st_size / max(video.duration, 1e-9), *picture])
        try:
            created = datetime.fromisoformat(str(notes.get("creation_time", ""))).timestamp()
        except ValueError:
            created = np.nan
        dates.append([created, size.st_mtime])
    codes = np.column_stack([_numbers(values) for values in zip(*coding, strict=True)])
    return {"size": np.array(sizes, np.float64), "coding": codes, "dates": np.array(dates)}


def _numbers(values: Sequence[Any]) -> FloatArray:
    """Values as one feature, ``float[V, 1]``: numbers as they are, else the place among the sorted different ones."""
    if all(value is None or isinstance(value, int | float) for value in values):
        return np.array([[np.nan if value is None else float(value)] for value in values])
    return np.unique([str(value) for value in values], return_inverse=True)[1][:, None].astype(np.float64)
