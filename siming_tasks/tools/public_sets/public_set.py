"""A public data set as its annotation files have it: attempts at steps, and the rule that makes labels of them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import read_bytes
from siming_tasks.common.schema import CONSENSUS, Attempt, AttemptRule
from siming_tasks.data.attempts import deciding, is_recovery

LEFT_OUT = "left_out"
"""Kind of error of a step without any attempt, in sets whose own kinds have none for it."""

MAX_FILE = 64_000_000  # bytes of an annotation file; the largest published one has 4 MB


MAX_SECONDS = 86_400  # of a recording, as of any video


@dataclass(frozen=True)
class Recording:
    """One recording of a procedure.

    Attributes:
        video_id: its name in the set, with which its video's file begins.
        duration: seconds, as far as the annotations state it: at least the end of the last attempt.
        attempts: by step id, in the order of time; a step of the recording's procedure that is not here was left out.
        points: by step id and rater, of a step that was rated as a whole and has no attempts.
        not_asked: steps of its procedure that were not to be done (another way through the graph).
        unassigned: segments that belong to no step of the procedure.
        about: student, site, performance and further facts of the video's row.
        splits: by kind (``recording``, ``person``), the part that the set's authors put it into.
    """

    video_id: str
    skill: str
    duration: float
    attempts: Mapping[str, tuple[Attempt, ...]]
    points: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    not_asked: frozenset[str] = frozenset()
    unassigned: int = 0
    about: Mapping[str, Any] = field(default_factory=dict)
    splits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Published:
    """Published place of annotation files: a repository at one commit, and those of its files that are read.

    Without ``commit`` the place is no repository: nothing is downloaded from it, and no ``digest`` is known.
    """

    repository: str
    commit: str
    patterns: tuple[str, ...]
    digest: str

    @property
    def archive(self) -> str:
        """Address of the repository's files at that commit."""
        return f"https://codeload.github.com/{self.repository}/tar.gz/{self.commit}"

    @property
    def source(self) -> str:
        """Source of the files, in words; without a commit, ``repository`` is a place that is not GitHub."""
        return f"https://github.com/{self.repository} at {self.commit}" if self.commit else self.repository

    def files(self, folder: Path) -> list[Path]:
        """The files that are read, sorted by name.

        Raises:
            DataError: a pattern meets none.
        """
        found: set[Path] = set()
        for pattern in self.patterns:
            matching = [path for path in folder.glob(pattern) if path.is_file()]
            if not matching:
                raise DataError(
                    f"{folder}: no {pattern}. Give the folder with the annotation files of {self.repository}, or leave "
                    "--annotations out to download them."
                )
            found.update(matching)
        return sorted(found)

    def digest_of(self, folder: Path) -> str:
        """Hex SHA-256 over the names and contents of the files that are read."""
        digest = hashlib.sha256()
        for path in self.files(folder):
            content = hashlib.sha256(read_bytes(path, MAX_FILE)).hexdigest()
            digest.update(f"{content}  {path.relative_to(folder).as_posix()}\n".encode())
        return digest.hexdigest()


@dataclass(frozen=True)
class PublicSet:
    """Content of a set's annotation files.

    Attributes:
        rubric: the content of ``rubric.yaml``; every step is one point.
        rule: which attempt is a step's label, unless the user names another.
        labels: how the labels came to be: ``person`` (annotators judged each step) or ``rule`` (derived by us).
    """

    title: str
    rubric: Mapping[str, Any]
    recordings: tuple[Recording, ...]
    rule: AttemptRule
    labels: Literal["person", "rule"]
    license: str
    citation: str
    videos_from: str

    def rows(self, rule: AttemptRule, recordings: Iterable[Recording] | None = None) -> Iterator[dict[str, Any]]:
        """Objects of ``videos.jsonl``, without the media's own facts."""
        steps = {skill["id"]: [step["id"] for step in skill["steps"]] for skill in self.rubric["skills"]}
        listed = {
            error["id"]
            for skill in self.rubric["skills"]
            for step in skill["steps"]
            for error in step.get("errors", ())
        }
        for recording in self.recordings if recordings is None else recordings:
            rows = [
                {"step_id": step, "applicable": False}
                if step in recording.not_asked
                else {"step_id": step, "score": dict(recording.points[step])}
                if step in recording.points
                else _step_row(step, recording.attempts.get(step, ()), rule, listed)
                for step in steps[recording.skill]
            ]
            split = next(iter(recording.splits.values()), None)
            splits = {"split": split, "splits": dict(recording.splits)} if split else {}
            yield {"video_id": recording.video_id, **recording.about, **splits, "steps": rows}

    def counts(self, rule: AttemptRule, recordings: Sequence[Recording] | None = None) -> dict[str, Any]:
        """Numbers of the set, or of some recordings: steps asked, wrong, left out, repeated, errors by kind.

        ``wrong`` and ``left_out`` are of the attempts that decide; ``errors_of_all_attempts`` of the others, too.
        """
        recordings = self.recordings if recordings is None else recordings
        attempts = [attempts for recording in recordings for attempts in recording.attempts.values()]
        labels = [step for row in self.rows(rule, recordings) for step in row["steps"] if step.get("applicable", True)]
        kinds = Counter(kind.partition(".")[2] for each in attempts for one in each for kind in one.errors)
        return {
            "recordings": len(recordings),
            "hours": round(sum(recording.duration for recording in recordings) / 3600, 1),
            "steps": len(labels),
            "wrong": sum(step["score"][CONSENSUS] == 0 for step in labels),
            "left_out": sum("start" not in step and step["score"][CONSENSUS] == 0 for step in labels),
            "further_attempts": sum(len(each) - 1 for each in attempts),
            "recovered": sum(map(is_recovery, attempts)),
            "no_step": sum(recording.unassigned for recording in recordings),
            "errors_of_all_attempts": dict(kinds.most_common()),
        }


def _attempt_row(attempt: Attempt) -> dict[str, Any]:
    """The attempt as ``attempts`` of a step in ``videos.jsonl`` have it."""
    facts = {**asdict(attempt), "errors": list(attempt.errors)}
    return {name: value for name, value in facts.items() if value not in ("", [], None)}


def _step_row(step: str, attempts: Sequence[Attempt], rule: AttemptRule, listed: Collection[str]) -> dict[str, Any]:
    """One step of a row: of several attempts the one that decides; left out, if there is none.

    ``listed`` are the ids of the rubric's errors.
    """
    if not attempts:
        left_out = f"{step}.{LEFT_OUT}"
        return {"step_id": step, "score": {CONSENSUS: 0}, "errors": [left_out] if left_out in listed else []}
    label = deciding(attempts, rule)
    row: dict[str, Any] = {"step_id": step}
    row |= {"start": label.start, "end": label.end} if label.start is not None else {}
    row |= {"score": {CONSENSUS: int(label.correct)}, "errors": list(label.errors)}
    row |= {"reason": label.reason} if label.reason else {}
    return row | ({"attempts": list(map(_attempt_row, attempts))} if len(attempts) > 1 else {})


def one_point(step: str, text: str, kinds: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A rubric step of one point whose requirement is an instruction's text; ``kinds`` are its errors, in words."""
    errors = [{"id": f"{step}.{kind}", "observable": words, "deduct": 1} for kind, words in (kinds or {}).items()]
    criteria = {
        "full": text,
        "partial": "Not available: this step has one point.",
        "fail": "Done wrongly, or left out.",
    }
    name = text if len(text) <= 60 else f"{text[:57].rstrip()}..."
    facts = {"id": step, "name": name, "requirement": text, "max_score": 1, "criteria": criteria}
    return {**facts, **({"errors": errors} if errors else {}), **more}


def rubric_of(name: str, title: str, setting: str, skills: Iterable[Mapping[str, Any]], **more: str) -> dict[str, Any]:
    """The content of ``rubric.yaml``; ``more`` are the ``exam`` and ``examiner`` of the prompt."""
    about = {"schema_version": 1, "rubric_id": name, "version": "1", "title": title, "setting": setting}
    return {**about, **more, "skills": list(skills)}


@contextmanager
def annotation(path: Path | str, row: str = "") -> Iterator[None]:
    """Context in which one row of an annotation file is read.

    Raises:
        DataError: in place of whatever a value that cannot be meant raises; names file and row.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"{error} is missing or unknown" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{path}: {f'{row}: ' if row else ''}{what}. Take the published file.") from None


def span_of(start: Any, end: Any) -> tuple[float, float]:
    """Start and end of an annotated segment in seconds; ValueError: they are none, or not in this order."""
    for value in (start, end):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_SECONDS:
            raise ValueError(f"{value!r} is no time in seconds")
    if end < start:
        raise ValueError(f"the end {end:g} s is before the start {start:g} s")
    return start, end


def numbered(names: Sequence[str], number: Any, what: str) -> str:
    """The name that a number of an annotation file stands for, from 0; ValueError: it stands for none."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(names):
        raise ValueError(f"{what} {number!r} is none of 0 to {len(names) - 1}")
    return names[number]


def read_json(path: Path) -> Any:
    """The content of an annotation file.

    Raises:
        DataError: it is no JSON, or larger than any published one.
    """
    try:
        return json.loads(read_bytes(path, MAX_FILE))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: no JSON ({error}). Take the published file.") from None
