"""Predictions against labels, outside any run: the same records, the same code, the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.withheld import with_labels
from siming_tasks.errors import DataError, Problem
from siming_tasks.options import Options
from siming_tasks.runs.observed import unobservable
from siming_tasks.runs.read import Predictions, load_predictions
from siming_tasks.runs.score import evaluate_records
from siming_tasks.settings import SETTINGS
from siming_tasks.settings.requests import expected_requests

__all__ = ["Scores", "score_predictions", "validate_predictions"]


@dataclass(frozen=True)
class Scores:
    """What :func:`score_predictions` found.

    Attributes:
        dataset: what was scored against.
        settings: by setting, what :func:`siming_tasks.runs.score.evaluate_records` returns.
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
            "dataset": _named(self.dataset),
            "synthetic": self.dataset.synthetic,
            "files": [str(file) for file in self.files],
            "settings": {name: dict(result) for name, result in self.settings.items()},
            "problems": [problem.to_json() for problem in self.problems],
        }


def score_predictions(
    root: str | Path,
    predictions: str | Path,
    *,
    labels: str | Path | None = None,
    settings: Options | None = None,
    partial: bool = False,
    observable: bool = False,
    fps: float | None = None,
    has_audio: bool = False,
) -> Scores:
    """Score a prediction file, or one or several sample logs, against a dataset.

    Args:
        root: dataset folder.
        predictions: prediction file, sample log, or a folder of them.
        labels: label file of a folder whose labels are withheld.
        settings: label mapping, positive class, reference rater, resamples and seed.
        partial: count only the requests that have a line, as a run with ``--limit`` does. Otherwise every request of
            the dataset counts as asked, and one without a line as missing.
        observable: leave out the steps that could not be judged from what the model was shown.
        fps: for that, frames a second that every request showed, if the records do not say.
        has_audio: for that, whether the model heard the sound track.

    Raises:
        DataError: unusable predictions, withheld labels without ``labels``, or an unknown rater.
    """
    settings = settings or Options()
    dataset = open_dataset(root, media=False)
    if labels is not None:
        dataset = with_labels(dataset, labels)
    if settings.rater not in dataset.raters:
        raise DataError(f"{root}: no rater {settings.rater!r}; there are {', '.join(dataset.raters) or 'none'}.")
    if all(step.scores.get(settings.rater) is None for video in dataset.videos for step in video.applicable):
        raise DataError(
            f"{root}: the labels are withheld. Give the label file with --labels, or only check the predictions with "
            "--validate-only and send them to the keeper of the labels."
        )
    found = load_predictions(predictions, dataset)
    if errors := [problem for problem in found.problems if problem.severity == "error"]:
        raise DataError.of(errors)
    results = {}
    for name, records in found.records.items():
        hidden = unobservable(records, dataset, name, fps=fps, has_audio=has_audio) if observable else None
        results[name] = evaluate_records(records, dataset, settings, name, complete=not partial, without=hidden)
        if hidden is not None:
            asked = {r["id"] for r in records} if partial else hidden.keys()
            results[name]["unobservable"] = sum(len(hidden[request]) for request in asked)
    return Scores(dataset, results, found.problems, found.files)


def validate_predictions(root: str | Path, predictions: str | Path) -> tuple[Predictions, dict[str, Any]]:
    """Check predictions against a dataset, whose labels may be withheld, and count what they hold.

    Returns:
        The predictions with all findings, and a summary in plain JSON types.
    """
    dataset = open_dataset(root, media=False)
    found = load_predictions(predictions, dataset)
    counts = {}
    for name, records in found.records.items():
        asked = expected_requests(SETTINGS[name], dataset.videos)
        steps = sum(len(record["answers"]) + len(record["missing"]) for record in records)
        counts[name] = {
            "requests": len(records),
            "expected": len(asked),
            "steps_answered": sum(len(record["answers"]) for record in records),
            "steps_in_lines": steps,
            "statuses": dict(Counter(record["status"] for record in records)),
        }
    errors = [problem for problem in found.problems if problem.severity == "error"]
    summary = {
        "dataset": _named(dataset),
        "ok": not errors,
        "settings": counts,
        "problems": [problem.to_json() for problem in found.problems],
    }
    return found, summary


def _named(dataset: Dataset) -> dict[str, Any]:
    return {"name": dataset.name, "version": dataset.version, "digest": dataset.digest}
