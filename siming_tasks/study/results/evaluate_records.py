"""Evaluation of one setting of one run: records become a score matrix, and the matrix plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from siming_tasks.benchmark.metrics import Rows, ScoreMatrix, evaluate
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.answer_formats import FormatInputs
from siming_tasks.benchmark.tasks.expected_requests import expected_ids, expected_requests, record_id, steps_of
from siming_tasks.benchmark.tasks.prompt import PROMPT_VERSION, template_hash
from siming_tasks.benchmark.tasks.prompting import PromptOptions
from siming_tasks.common.files import sha256_json
from siming_tasks.common.schema import CONSENSUS, UnitChoice
from siming_tasks.data import Dataset
from siming_tasks.data.clusters import clusters_of
from siming_tasks.media import UNKNOWN_MODE, recorded_mode
from siming_tasks.options import Options
from siming_tasks.study.results.estimand import estimand_of
from siming_tasks.study.results.record import Record, distinct_records
from siming_tasks.study.results.usage import load_prices, usage_summary


def build_score_matrix(
    records: Iterable[Record],
    dataset: Dataset,
    setting: str,
    rater: str = CONSENSUS,
    *,
    cluster: UnitChoice = "auto",
    asked: Collection[str] | None = None,
) -> ScoreMatrix:
    """Reference and predicted judgments of one setting as videos × steps.

    Args:
        records: the run's records; those of other settings are ignored, of two different answers to one request none
            counts.
        dataset: with the labels.
        setting: name of the setting.
        rater: whose points are the reference.
        cluster: what is left out for intervals (:func:`siming_tasks.data.clusters.clusters_of`).
        asked: ids of the requests that were to be made (:func:`siming_tasks.study.results.discovery.asked_ids`); one
            without a record is a missing answer. None: those of the records.

    Raises:
        KeyError: a record names a video or step that the data set lacks.
        DataError: the data set does not state ``cluster``.
    """
    spec = TASKS[setting]
    distinct, _ = distinct_records(record for record in records if record.setting == setting)
    wanted = {record.id for record in distinct} if asked is None else asked
    row = {video.video_id: index for index, video in enumerate(dataset.videos)}
    column = {step.id: index for index, step in enumerate(dataset.rubric.steps)}
    shape = (len(row), len(column))
    reference, predicted, seen = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    spans = np.full((*shape, 2), np.nan)
    for video_id, step_id in expected_requests(spec, dataset.videos):
        if record_id(setting, video_id, step_id) not in wanted:
            continue
        video = dataset.video(video_id)
        for name in steps_of(spec, video, step_id):
            label, place = video.step(name), (row[video_id], column[name])
            seen[place] = True
            reference[place] = np.nan if (points := label.scores.get(rater)) is None else points
            if label.span and (spec.scope == "clip" or spec.shows_step_times):
                spans[place] = label.span
    for record in distinct:
        for name, value in record.answers.items():
            predicted[row[record.video_id], column[name]] = value
    predicted[~seen] = np.nan
    kept = np.flatnonzero(seen.any(axis=1))
    names = tuple(dataset.videos[index].video_id for index in kept)
    clusters, sites = clusters_of(dataset, cluster), tuple(dataset.video(name).site or "" for name in names)
    return ScoreMatrix(
        video_ids=names,
        step_ids=tuple(column),
        skills=tuple(dataset.rubric.skill_of[name] for name in column),
        max_score=np.array([step.max_score for step in dataset.rubric.steps], dtype=float),
        reference=reference[kept],
        predicted=predicted[kept],
        asked=seen[kept],
        answer=spec.answer,
        spans=spans[kept],
        durations=np.array([video.duration for video in dataset.videos])[kept],
        sites=sites if any(sites) else (),
        clusters=tuple(clusters.names[name] for name in names),
        unit=clusters.unit,
        fixed=clusters.fixed,
    )


def build_reference_matrix(
    dataset: Dataset, setting: str, rater: str = CONSENSUS, cluster: UnitChoice = "auto"
) -> ScoreMatrix:
    """Everything that a complete run of a setting is asked, with a rater's points and nothing answered."""
    every = frozenset(expected_ids(TASKS[setting], dataset.videos))
    return build_score_matrix((), dataset, setting, rater, cluster=cluster, asked=every)


def evaluate_records(
    records: Sequence[Record],
    dataset: Dataset,
    options: Options,
    setting: str,
    *,
    asked: Collection[str] | None = None,
    rows: Rows | None = None,
) -> dict[str, Any]:
    """Evaluate one setting of one run: everything that is known about it, as plain JSON without NaN.

    The aggregators of lmms-eval and ``siming score`` both call this, hence the same records give the same numbers.

    Args:
        records: the run's; those of other settings are ignored.
        dataset: with labels.
        options: rater and mapping.
        setting: name of the setting.
        asked: as in :func:`build_score_matrix`.
        rows: the metrics of these very records and options, if they were computed already.
    """
    distinct, conflicts = distinct_records(record for record in records if record.setting == setting)
    matrix = build_score_matrix(distinct, dataset, setting, options.rater, asked=asked)
    rows = evaluate(matrix, mapping=options.mapping) if rows is None else rows
    spec = TASKS[setting]
    statuses = Counter(record.status for record in distinct)
    missing = Counter(reason for record in distinct for reason in record.missing.values())
    askings = sorted({record.conditions.asking for record in distinct}) or [""]
    styles = dict.fromkeys(PromptOptions.from_label(words).style for words in askings)
    templates = [template_hash(spec, dataset.rubric, style) for style in styles]
    prompt: dict[str, Any] = {"version": PROMPT_VERSION, "template": templates[0] if len(templates) == 1 else None}
    if askings != [""]:  # put in another way than the benchmark's
        prompt["asking"] = ", ".join(words or "plain" for words in askings)
    if schemas := sorted({record.conditions.reply_schema for record in distinct} - {""}):
        prompt["schemas"] = {
            "sent": sum(bool(record.conditions.reply_schema) for record in distinct),
            "digest": sha256_json(schemas)[:12],
        }
    requests = {"answered": len(distinct), "asked": len(distinct if asked is None else asked)}
    prices = load_prices(options.prices) if options.prices else None
    return {
        "setting": setting,
        "synthetic": dataset.synthetic,
        "estimand": estimand_of(matrix, dataset, setting, options.rater).to_json(),
        "dataset": dataset.facts,
        "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
        "prompt": prompt,
        "requests": {**requests, "expected": len(expected_requests(spec, dataset.videos)), "conflicts": conflicts},
        "statuses": {name: statuses.get(name, 0) for name in spec.answer_format.statuses},
        "missing": dict(sorted(missing.items())),
        "media": _media_summary(distinct),
        "usage": usage_summary((record.conditions.usage for record in distinct), prices),
        "counts": _counts(matrix),
        "rows": (rows + format_rows(distinct, dataset, setting, options, asked=asked)).to_json(),
        "options": {
            "mapping": options.mapping,
            "rater": options.rater,
            "clip_density": options.clip_density,
            "unit": matrix.unit,
            "clusters": matrix.n_clusters,
            "fixed": list(matrix.fixed),
        },
    }


def _counts(matrix: ScoreMatrix) -> dict[str, Any]:
    """Videos and steps behind the numbers, and the shares of "wrong" steps among the answered ones by either side."""
    both = matrix.counted & matrix.answered
    answered = int(both.sum())
    wrong = {"prevalence": matrix.reference_wrong, "called_wrong": matrix.predicted_wrong}
    return {
        "videos": len(matrix.video_ids),
        "asked": int(matrix.asked.sum()),
        "answered": int(matrix.answered.sum()),
        "with_reference": int(matrix.counted.sum()),
        "scored": answered,
        **{name: float((side & both).sum()) / answered if answered else None for name, side in wrong.items()},
    }


def _media_summary(records: Sequence[Record]) -> dict[str, Any]:
    """Summary of what was shown: modes, how images were sent and, where the suite chose them, frames and rates."""
    modes = Counter(str(record.media.get("mode", UNKNOWN_MODE)) for record in records)
    encodings = Counter(str(record.media["encoding"]) for record in records if record.media.get("encoding"))
    summary: dict[str, Any] = {"modes": dict(sorted(modes.items()))}
    if encodings:
        summary["encodings"] = dict(sorted(encodings.items()))
    frames = [record.media for record in records if recorded_mode(record.media).images]
    for key in ("n_frames", "fps", "bytes"):
        if values := {media[key] for media in frames if media.get(key) is not None}:
            summary[key] = {"min": min(values), "max": max(values)}
    return summary


def format_rows(
    records: Sequence[Record],
    dataset: Dataset,
    setting: str,
    options: Options,
    *,
    asked: Collection[str] | None = None,
) -> Rows:
    """The rows of a task's answer format; empty where it has none or the labels are withheld.

    The arguments are those of :func:`evaluate_records`.
    """
    task = TASKS[setting]
    if not task.answer_format.metrics or dataset.withheld:
        return Rows()
    scores = build_score_matrix(records, dataset, setting, options.rater, asked=asked).sorted()
    inputs = FormatInputs(
        records=[record.to_json() for record in records],
        scores=scores,
        videos=[dataset.video(name) for name in scores.video_ids],
        steps=[dataset.rubric.by_id[name] for name in scores.step_ids],
        scope=task.scope,
        mapping=options.mapping,
        rater=options.rater,
    )
    return task.answer_format.compute_results(inputs)
