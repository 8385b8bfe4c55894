"""A submission: predictions and a model card in one archive that its receiver need not trust."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from siming_tasks import __version__
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_path
from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset
from siming_tasks.data.jsonl import parse_object
from siming_tasks.results.discovery import RunSource
from siming_tasks.results.read_predictions import write_predictions
from siming_tasks.results.run import Run, load_run
from siming_tasks.tools.board.prediction_lines import check_lines, size_limit
from siming_tasks.tools.board.zip_archive import read_archive

__all__ = ["FORMAT", "ModelCard", "Submission", "pack", "predictions_of", "read_submission"]

FORMAT: Literal["siming-submission-1"] = "siming-submission-1"
MOST = 500_000_000
MEMBERS: dict[str, int] = {"submission.json": 1_000_000, "predictions.jsonl": MOST}
"""Files of an archive, each with the most bytes that are read of it."""

DEEPEST = 6

Line = Annotated[str, Field(max_length=200)]
Metric = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_SIXTY_FOUR = r"^[0-9a-f]{64}$"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelCard(_Model):
    """The model that answered. ``url`` leads to the model or its paper; the rest is for readers of the board."""

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
    organization: Line = ""
    url: Annotated[str, Field(pattern=r"^(https?://[^\s<>\"']*)?$", max_length=300)] = ""
    parameters: Line = ""
    license: Line = ""
    description: Annotated[str, Field(max_length=2000)] = ""
    saw_test_data: Literal["no", "yes", "unknown"] = "unknown"


class _DatasetRef(_Model):
    name: Line
    version: Line
    digest: Annotated[str, Field(pattern=_SIXTY_FOUR)]
    synthetic: bool


class Submission(_Model):
    """``submission.json``. ``claims`` are the sender's numbers by setting and metric; the board computes its own."""

    format: Literal["siming-submission-1"]
    created_with: Line
    model: ModelCard
    dataset: _DatasetRef
    rubric: Line
    options: dict[Line, Line | int | float]
    run: dict[Line, Any] = Field(default_factory=dict)
    claims: dict[Line, dict[Line, Metric | None]]
    predictions_sha256: Annotated[str, Field(pattern=_SIXTY_FOUR)]

    @field_validator("run")
    @classmethod
    def _shallow(cls, run: dict[str, Any]) -> dict[str, Any]:
        if _depth(run) > DEEPEST:
            raise ValueError(f"nested more than {DEEPEST} deep")
        return run


@dataclass(frozen=True)
class Received:
    """An archive that could be read: what it says of itself, and its predictions as bytes."""

    path: Path
    submission: Submission
    predictions: bytes


def pack(
    source: RunSource,
    records: Mapping[str, Any],
    dataset: Dataset,
    card: ModelCard,
    evaluations: Mapping[str, Mapping[str, Any]],
    out: Path,
) -> Path:
    """Write one archive; no secret of the run's facts or the card travels (:func:`siming_tasks.common.redact.redact`).

    Args:
        source: the run, for its facts.
        records: by setting, as read from the run.
        dataset: what was answered.
        card: who answered.
        evaluations: by setting, from :func:`siming_tasks.results.evaluate_records.evaluate_records`.
        out: the archive.
    """
    with TemporaryDirectory() as folder:
        lines = [
            replace(record, conditions=replace(record.conditions, media=redact(record.media)))
            for present in records.values()
            for record in present
        ]
        data = write_predictions(lines, Path(folder) / "predictions.jsonl").read_bytes()
    options = next(iter(evaluations.values()))["options"]
    hidden = ("data_folder", "seconds")
    about = Submission(
        format=FORMAT,
        created_with=f"siming-tasks {__version__}",
        model=ModelCard.model_validate(redact(card.model_dump())),
        dataset=_DatasetRef(
            name=dataset.name, version=dataset.version, digest=dataset.digest, synthetic=dataset.synthetic
        ),
        rubric=f"{dataset.rubric.rubric_id} {dataset.rubric.version}",
        options={key: options[key] for key in ("rater", "mapping", "positive", "resamples", "seed")},
        run=redact({key: value for key, value in source.facts.items() if key not in hidden}),
        claims={
            name: {metric: estimate["value"] for metric, estimate in evaluation["metrics"].items()}
            for name, evaluation in evaluations.items()
        },
        predictions_sha256=hashlib.sha256(data).hexdigest(),
    )
    with atomic_path(out) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("submission.json", about.model_dump_json(indent=1))
        archive.writestr("predictions.jsonl", data)
    return out


def read_submission(path: Path, dataset: Dataset | None = None) -> Received:
    """Read an archive from a stranger: nothing is unpacked to disk, no size or name in it is believed.

    Args:
        path: the archive.
        dataset: what it should be about; predictions get the room that its questions need.

    Raises:
        DataError: not such an archive; names the file, what is wrong and the way out.
    """
    fix = "Make it with `siming board submit`."
    parts = read_archive(
        path, MEMBERS if dataset is None else {**MEMBERS, "predictions.jsonl": min(size_limit(dataset), MOST)}, fix
    )
    try:
        text = parts["submission.json"].decode("utf-8")
        about = Submission.model_validate(redact(parse_object(text)))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{path}: submission.json: {one_line(where, 200)}: {first['msg']}. {fix}") from None
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else error
        raise DataError(f"{path}: submission.json is not JSON ({what}). {fix}") from None
    if hashlib.sha256(parts["predictions.jsonl"]).hexdigest() != about.predictions_sha256:
        raise DataError(f"{path}: predictions.jsonl is not the file that submission.json was made with. {fix}")
    return Received(path, about, parts["predictions.jsonl"])


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def predictions_of(received: Received, dataset: Dataset) -> Run:
    """The archive's predictions, checked against the data set; problems name ``predictions.jsonl``.

    Raises:
        DataError: more lines than the data set has questions for, or lines that `siming board submit` would not write.
    """
    check_lines(received.path, received.predictions, dataset)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.jsonl"
        path.write_bytes(received.predictions)
        run = load_run(path, dataset, allow=("dataset",))  # said below, once, by the archive's own digest
    problems = [_renamed(problem, str(path)) for problem in run.problems]
    if received.submission.dataset.digest != dataset.digest:
        what = f"made on dataset {received.submission.dataset.digest[:12]}, this is {dataset.digest[:12]}."
        problems.insert(0, Problem("dataset-other", what, "Run it on this data set.", "submission.json"))
    return replace(run, problems=tuple(problems))


def _renamed(problem: Problem, path: str) -> Problem:
    fields = problem.to_json() | {"file": "predictions.jsonl", "what": problem.what.replace(path, "predictions.jsonl")}
    return Problem(**fields)  # type: ignore[arg-type]
