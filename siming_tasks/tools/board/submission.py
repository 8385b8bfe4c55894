"""A submission: predictions and a model card in one archive that its receiver need not trust.

Nothing is unpacked to disk, and no size or name in an archive is believed. A few kilobytes of zip unpack to hundreds of
megabytes of lines that each cost time to read; so there is room for what the data set asks and not for more, and
everything that `siming board submit` would not write is refused before it is read.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator

from siming_tasks import __version__
from siming_tasks.benchmark.tasks import STANDARD_TASKS, TASKS
from siming_tasks.benchmark.tasks.expected_requests import expected_requests
from siming_tasks.common.errors import DataError, Problem, field_message
from siming_tasks.common.files import atomic_path, read_bytes, utf8_text
from siming_tasks.common.printed_value import counted
from siming_tasks.common.public_facts import public_media, public_run
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset
from siming_tasks.data.jsonl import parse_object
from siming_tasks.study.results.discovery import RunSource
from siming_tasks.study.results.read_predictions import write_predictions
from siming_tasks.study.results.run import Run, read_run

FIX = "Make it with `siming board submit`."

_MAX_ABOUT, _MAX_PREDICTIONS = 1_000_000, 500_000_000
"""Most bytes that are read of the two files of an archive; of predictions fewer for a small data set."""

_MAX_ARCHIVE = 100_000_000
_MAX_READ = 1 << 20
"""Bytes that are read from the archive at once; a table of contents may not be longer."""

_DEEPEST = 6
_FULL_LINE, _CLIP_LINE = 20_000, 2_000
"""Bytes for one request's line: `siming board submit` writes 3,000 for 33 steps and 64 frames, 500 for a clip."""

_LONGEST_ANSWER = 40
_MOST_FACTS = 40
_ANSWERS = ("score", "scores", "verdict", "verdicts")
_KEYS = {"setting", "video_id", "step_id", *_ANSWERS, "status", "missing", "prompt", "dataset", "media", "judge"}

_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ArithmeticError, LookupError, RuntimeError,
           ValueError)  # fmt: skip
"""Errors that :mod:`zipfile` raises over broken archives."""

Line = Annotated[str, Field(max_length=200)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _plain_url(text: str) -> str:
    if text and not re.fullmatch(r"https?://[^\s<>\"'@?]*", text):
        raise ValueError("should begin with https:// or http://, without user, password, query and spaces")
    return text


class ModelCard(_Model):
    """The model that answered. ``url`` leads to the model or its paper, without user, password and query."""

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
    organization: Line = ""
    url: Annotated[str, Field(max_length=300), AfterValidator(_plain_url)] = ""
    parameters: Line = ""
    license: Line = ""
    description: Annotated[str, Field(max_length=2000)] = ""
    saw_test_data: Literal["no", "yes", "unknown"] = "unknown"


class _DatasetRef(_Model):
    name: Line
    version: Line
    digest: Digest
    synthetic: bool


class Submission(_Model):
    """``submission.json``: what the archive says of itself. It contains no numbers: the board computes them."""

    format: Literal["siming-submission-1"]
    created_with: Annotated[str, Field(pattern=r"^siming-tasks [\w.+-]{1,40}$")]
    model: ModelCard
    dataset: _DatasetRef
    rubric: Line
    run: dict[Line, Any] = Field(default_factory=dict)
    predictions_sha256: Digest

    @field_validator("run")
    @classmethod
    def _shallow(cls, run: dict[str, Any]) -> dict[str, Any]:
        def depth(value: Any) -> int:
            inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            return 1 + max(map(depth, inner), default=0)

        if depth(run) > _DEEPEST:
            raise ValueError(f"nested more than {_DEEPEST} deep")
        return public_run(run)


@dataclass(frozen=True)
class Received:
    """An archive that could be read: what it says of itself, its predictions as bytes, and the SHA-256 of its own."""

    path: Path
    submission: Submission
    predictions: bytes
    sha256: str


def pack(source: RunSource, records: Mapping[str, Any], dataset: Dataset, card: ModelCard, out: Path) -> Path:
    """Write the archive of a run's records, by setting, with its facts that may be named."""
    with TemporaryDirectory() as folder:
        lines = [
            replace(record, conditions=replace(record.conditions, media=public_media(record.media)))
            for present in records.values()
            for record in present
        ]
        data = write_predictions(lines, Path(folder) / "predictions.jsonl").read_bytes()
    about = Submission(
        format="siming-submission-1",
        created_with=f"siming-tasks {__version__}",
        model=card,
        dataset=_DatasetRef(
            name=dataset.name, version=dataset.version, digest=dataset.digest, synthetic=dataset.synthetic
        ),
        rubric=f"{dataset.rubric.rubric_id} {dataset.rubric.version}",
        run={key: value for key, value in source.facts.items() if key != "seconds"},
        predictions_sha256=hashlib.sha256(data).hexdigest(),
    )
    with atomic_path(out) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("submission.json", about.model_dump_json(indent=1))
        archive.writestr("predictions.jsonl", data)
    return out


def read_submission(path: Path, dataset: Dataset) -> Received:
    """Read an archive from a stranger; predictions get the room that the questions of a data set need.

    Raises:
        DataError: not such an archive; names the file, what is wrong and the way out.
    """
    asked = _count_requests(dataset)
    room = 1_000_000 + _FULL_LINE * asked["full"] + _CLIP_LINE * asked["clip"]
    limits = {"submission.json": _MAX_ABOUT, "predictions.jsonl": min(room, _MAX_PREDICTIONS)}
    content = read_bytes(path, _MAX_ARCHIVE, FIX)
    try:
        with zipfile.ZipFile(_Careful(content)) as archive:
            parts = _read_members(path, archive, limits)
    except _BROKEN as error:
        what = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DataError(f"{path}: not a readable zip archive ({what}). {FIX}") from None
    try:
        about = Submission.model_validate(parse_object(utf8_text(parts["submission.json"], f"{path}: submission.json")))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{path}: submission.json: {one_line(where, 200)}: {field_message(first)}. {FIX}") from None
    except (ValueError, RecursionError) as error:
        what = "nested too deeply" if isinstance(error, RecursionError) else error
        raise DataError(f"{path}: submission.json is not JSON ({what}). {FIX}") from None
    if hashlib.sha256(parts["predictions.jsonl"]).hexdigest() != about.predictions_sha256:
        raise DataError(f"{path}: predictions.jsonl is not the file that submission.json was made with. {FIX}")
    return Received(path, about, parts["predictions.jsonl"], hashlib.sha256(content).hexdigest())


class _Careful(io.BytesIO):
    """A file that gives no more than :data:`_MAX_READ` bytes at once: zipfile reads a whole table of contents."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(_MAX_READ + 1 if size is None or size < 0 else min(size, _MAX_READ + 1))
        if len(data) > _MAX_READ:
            raise zipfile.BadZipFile(f"its table of contents has more than {_MAX_READ:,} bytes")
        return data


def _read_members(path: Path, archive: zipfile.ZipFile, limits: Mapping[str, int]) -> dict[str, bytes]:
    """The members of an archive that holds exactly these, of each at most so many bytes, whatever its header claims."""
    names = [item.orig_filename for item in archive.infolist()[: len(limits) + 1]]
    if sorted(names) != sorted(limits):
        shown = ", ".join(repr(name[:60]) for name in names) or "nothing"
        raise DataError(f"{path}: contains {shown}; a submission contains exactly {' and '.join(sorted(limits))}.")
    parts = {}
    for item in archive.infolist():
        where, limit = f"{path}: {item.filename}", limits[item.filename]
        if item.flag_bits & 1:
            raise DataError(f"{where} is encrypted. Send it without a password.")
        if item.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(f"{where} is packed by method {item.compress_type}. Use deflate, as zip does.")
        buffer = io.BytesIO()
        with archive.open(item) as stream:
            while chunk := stream.read(1 << 20):
                if buffer.tell() + len(chunk) > limit:
                    raise DataError(f"{where} unpacks to more than {limit:,} bytes.")
                buffer.write(chunk)
        parts[item.filename] = buffer.getvalue()
    return parts


def predictions_of(received: Received, dataset: Dataset) -> Run:
    """The archive's predictions, checked against the data set; problems name ``predictions.jsonl``.

    Raises:
        DataError: more lines than the data set has questions for, or lines that `siming board submit` would not write.
    """
    asked = sum(_count_requests(dataset).values())
    lines = received.predictions.split(b"\n")
    if len(lines) > 2 * asked + 100:
        what = f"{counted(len(lines), 'line')}; {dataset.name} asks {counted(asked, 'question')}, one line each."
        raise DataError(f"{received.path}: predictions.jsonl: {what} {FIX}")
    for number, line in enumerate(lines, 1):
        if fault := _line_fault(line, len(dataset.rubric.steps)):
            raise DataError(f"{received.path}: predictions.jsonl:{number}: {fault} {FIX}")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.jsonl"
        path.write_bytes(received.predictions)
        try:
            # another data set is said below, once, by the archive's own digest
            run = read_run(path, dataset, allow=("dataset",), strict=False)
        except DataError as error:
            raise DataError(f"{received.path}: {str(error).replace(str(path), path.name)}") from None
    problems = [
        replace(problem, file="predictions.jsonl", what=problem.what.replace(str(path), "predictions.jsonl"))
        for problem in run.problems
    ]
    if received.submission.dataset.digest != dataset.digest:
        what = f"made on dataset {received.submission.dataset.digest[:12]}, this is {dataset.digest[:12]}."
        fix = ("Name that one with --data; of withheld labels that is the public folder, with --labels KEYFILE. Or run "
               "the model on this one.")  # fmt: skip
        problems.insert(0, Problem("dataset-other", what, fix, "submission.json"))
    return replace(run, problems=tuple(problems))


def _count_requests(dataset: Dataset) -> Counter[str]:
    """Numbers of requests about full videos and about clips, over all settings that a board takes."""
    counts: Counter[str] = Counter()
    for setting in map(TASKS.__getitem__, STANDARD_TASKS):
        counts[setting.scope] += len(expected_requests(setting, dataset.videos))
    return counts


def _line_fault(line: bytes, steps: int) -> str | None:
    """Fault of a line that holds more than an answer; what is no JSON is left to whoever reads the lines."""
    if len(line) > _FULL_LINE:
        return f"a line of {len(line):,} bytes; at most {_FULL_LINE:,} are read."
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(row, dict):
        return None
    if put := row.get("asking") or row.get("part"):
        how = str(put)[:_LONGEST_ANSWER]
        return f"asked in another way ({how}); a board accepts only the plain questions of the benchmark."
    if other := sorted(row.keys() - _KEYS):
        return f"key {other[0][:64]!r}; a submission contains answers and their status, no raw replies."
    for name in (*_ANSWERS, "missing"):
        value = row.get(name)
        values = value.values() if isinstance(value, dict) else (value,)
        short = all(
            isinstance(value, int | float | None) or (isinstance(value, str) and len(value) <= _LONGEST_ANSWER)
            for value in values
        )
        if len(values) > steps or not short:
            return f"`{name}` has more than one short answer for each of {steps} steps."
    media = row.get("media")
    if isinstance(media, dict) and len(media) > _MOST_FACTS:
        return f"`media` has {len(media):,} facts; at most {_MOST_FACTS} are read."
    return None
