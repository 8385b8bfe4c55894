"""Scores of a run or a prediction file against labels, with the same code as inside lmms-eval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import Problem
from siming_tasks.common.redact import redact
from siming_tasks.data import Dataset, check_reference, open_dataset, with_labels
from siming_tasks.options import Options
from siming_tasks.results.observability import unobservable
from siming_tasks.results.run import Run, read_run
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import expected_requests

__all__ = ["Scores", "score_predictions", "score_run", "validation"]


@dataclass(frozen=True)
class Scores:
    """Result of :func:`score_run`.

    Attributes:
        dataset: with the labels.
        settings: by setting, what :func:`siming_tasks.results.evaluate_records.evaluate_records` returns.
        problems: findings about the prediction files.
        files: the files read.
    """

    dataset: Dataset
    settings: Mapping[str, Mapping[str, Any]]
    problems: tuple[Problem, ...]
    files: tuple[Path, ...]

    def to_json(self) -> dict[str, Any]:
        """One JSON object, without NaN."""
        return {
            "dataset": _dataset_name(self.dataset),
            "synthetic": self.dataset.synthetic,
            "files": [redact(str(file)) for file in self.files],
            "settings": {name: dict(result) for name, result in self.settings.items()},
            "problems": [problem.to_json() for problem in self.problems],
        }


def score_run(
    run: Run,
    options: Options | None = None,
    *,
    observable: bool = False,
    fps: float | None = None,
    has_audio: bool = False,
) -> Scores:
    """Every metric of every setting of a run, as lmms-eval's aggregators compute them.

    Args:
        run: from :func:`siming_tasks.results.run.read_run`, on a data set with labels.
        options: label mapping, positive class, reference rater, resamples and seed.
        observable: leave out the steps that could not be judged from what the model was shown.
        fps: for that, frames a second that every request showed, if the records do not say.
        has_audio: for that, True if the model heard the sound track.

    Raises:
        DataError: the labels are withheld, or there is no such rater.

    Example:
        >>> from siming_tasks import Options, open_dataset, read_run, score_run
        >>> scores = score_run(read_run(constant, open_dataset(exams)), Options(resamples=200))
        >>> scores.settings["full_score"]["metrics"]["qwk"]["value"]  # a constant agrees by chance only
        0.0
    """
    options, dataset = options or Options(), run.dataset
    check_reference(dataset, options.rater)
    results = {}
    for name in run.records:
        records = run.records[name]
        hidden = unobservable(records, dataset, name, fps=fps, has_audio=has_audio) if observable else None
        results[name] = run.evaluate(name, options, without=hidden)
        if hidden is not None:
            results[name]["unobservable"] = sum(len(hidden[request]) for request in run.asked(name))
    return Scores(dataset, results, run.problems, run.files)


def score_predictions(
    data: str | Path | Dataset,
    predictions: str | Path,
    options: Options | None = None,
    *,
    labels: str | Path | None = None,
    partial: bool = False,
    allow: Collection[str] = (),
    observable: bool = False,
    fps: float | None = None,
    has_audio: bool = False,
) -> Scores:
    """Score a prediction file, or one or several sample logs, against a dataset; the videos need not be at hand.

    Args:
        data: dataset folder, or an opened dataset.
        predictions: prediction file, sample log, or a folder with the parts of a run.
        options: label mapping, positive class, reference rater, resamples and seed.
        labels: label file of a folder whose labels are withheld.
        partial: count only the requests that have a line, for a limited run that does not say so. Otherwise every
            request that the run was to make counts as asked, and one without a line as missing.
        allow: ``dataset`` accepts predictions made on another version of the data set.
        observable: see :func:`score_run`.
        fps: see there.
        has_audio: see there.

    Raises:
        DataError: unusable predictions, withheld labels without ``labels``, or an unknown rater.

    Example:
        >>> from siming_tasks import Options, score_predictions
        >>> scores = score_predictions(exams, physician, Options(rater="rater_b", resamples=200))
        >>> scores.settings["full_score"]["metrics"]["qwk"]["value"]  # against itself
        1.0
    """
    dataset = data if isinstance(data, Dataset) else open_dataset(data, media=False)
    dataset = dataset if labels is None else with_labels(dataset, labels)
    run = read_run(predictions, dataset, partial=partial, allow=allow)
    return score_run(run, options, observable=observable, fps=fps, has_audio=has_audio)


def validation(run: Run) -> dict[str, Any]:
    """Content of a run and the problems that keep it from being scored, in plain JSON; its labels may be withheld."""
    counts = {}
    for name, records in run.records.items():
        counts[name] = {
            "requests": len(records),
            "expected": len(expected_requests(TASKS[name], run.dataset.videos)),
            "steps_answered": sum(len(record.answers) for record in records),
            "steps_in_lines": sum(len(record.answers) + len(record.missing) for record in records),
            "statuses": dict(Counter(record.status for record in records)),
        }
    return {
        "dataset": _dataset_name(run.dataset),
        "ok": not any(problem.severity == "error" for problem in run.problems),
        "settings": counts,
        "problems": [problem.to_json() for problem in run.problems],
    }


def _dataset_name(dataset: Dataset) -> dict[str, Any]:
    return {"name": dataset.name, "version": dataset.version, "digest": dataset.digest}
