"""A public data set as its annotation files have it: attempts at steps, and the rule that turns them into labels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from siming_tasks.benchmark.exams import Attempt, AttemptRule, deciding
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import sha256_file

LEFT_OUT = "left_out"
"""Kind of error of a step without any attempt, in sets whose own kinds have none for it."""


@dataclass(frozen=True)
class AnnotatedRecording:
    """One recording of a procedure.

    Attributes:
        video_id: its name in the set, with which its video's file begins.
        skill: id of its procedure.
        duration: seconds, as far as the annotations state it: at least the end of the last attempt.
        attempts: by step id, in the order of time; a step of the procedure that is not here was left out.
        not_asked: steps of the procedure that were not to be done (another way through the graph).
        about: student, site and further facts of the video's row.
        splits: by kind (``recording``, ``person``), the part that the set's authors put it into.
    """

    video_id: str
    skill: str
    duration: float
    attempts: Mapping[str, Sequence[Attempt]]
    not_asked: frozenset[str] = frozenset()
    about: Mapping[str, Any] = field(default_factory=dict)
    splits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PublicSet:
    """A set: the place of its annotation files, facts about its labels, and the function that reads them.

    Attributes:
        repository, commit: of GitHub.
        patterns: of the files that are read.
        digest: hex SHA-256 over the digests and names of these files.
        rubric: the content of ``rubric.yaml`` but for its skills; every step is one point.
        rule: which of several attempts is a step's label.
        labels: how the labels came to be: ``person`` (annotators judged each step) or ``rule`` (derived by us).
        read: gives the rubric's skills and the recordings of a folder with these files.
    """

    repository: str
    commit: str
    patterns: tuple[str, ...]
    digest: str
    rubric: Mapping[str, str]
    rule: AttemptRule
    labels: Literal["person", "rule"]
    license: str
    citation: str
    videos_from: str
    read: Callable[[Path], tuple[list[dict[str, Any]], list[AnnotatedRecording]]]

    def check(self, folder: Path) -> None:
        """Compare the files that are read with those of the commit (DataError: they are others, or not there)."""
        files = {path for pattern in self.patterns for path in folder.glob(pattern) if path.is_file()}
        lines = (f"{sha256_file(path)}  {path.relative_to(folder).as_posix()}\n" for path in sorted(files))
        if hashlib.sha256("".join(lines).encode()).hexdigest() != self.digest:
            raise DataError(
                f"{folder}: {', '.join(self.patterns)} are not the files of https://github.com/{self.repository} at "
                f"{self.commit}. Check out that commit, or leave --annotations out to download them."
            )

    def row(self, recording: AnnotatedRecording, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Object of ``videos.jsonl``, without the media's own facts; ``steps`` are those of the rubric's skill."""
        parts = dict(recording.splits)
        splits = {"split": next(iter(parts.values())), "splits": parts} if parts else {}
        rows = [self._step(step, recording) for step in steps]
        return {"video_id": recording.video_id, **recording.about, **splits, "steps": rows}

    def _step(self, step: Mapping[str, Any], recording: AnnotatedRecording) -> dict[str, Any]:
        """One step of a row: of several attempts the one that decides; left out, if there is none."""
        row: dict[str, Any] = {"step_id": step["id"]}
        if step["id"] in recording.not_asked:
            return row | {"applicable": False}
        if not (attempts := recording.attempts.get(step["id"])):
            listed = [error["id"] for error in step.get("errors", ()) if error["id"].endswith(f".{LEFT_OUT}")]
            return row | {"score": {CONSENSUS: 0}, "errors": listed}
        label = _attempt_row(deciding(attempts, self.rule))
        row |= {name: label[name] for name in ("start", "end") if name in label}
        row |= {"score": {CONSENSUS: int(label["correct"])}, "errors": label.get("errors", [])}
        row |= {"reason": label["reason"]} if "reason" in label else {}
        return row | ({"attempts": list(map(_attempt_row, attempts))} if len(attempts) > 1 else {})


def _attempt_row(attempt: Attempt) -> dict[str, Any]:
    """The attempt as ``attempts`` of a step in ``videos.jsonl`` have it."""
    facts = {**asdict(attempt), "errors": list(attempt.errors)}
    return {name: value for name, value in facts.items() if value not in ("", [], None)}


def one_point(step: str, text: str, kinds: Mapping[str, str], **more: Any) -> dict[str, Any]:
    """A rubric step of one point whose requirement is an instruction's text; ``kinds`` describes its errors."""
    errors = [{"id": f"{step}.{kind}", "observable": words, "deduct": 1} for kind, words in kinds.items()]
    criteria = {
        "full": text,
        "partial": "Not available: this step has one point.",
        "fail": "Done wrongly, or left out.",
    }
    name = text if len(text) <= 60 else f"{text[:57].rstrip()}..."
    facts = {"id": step, "name": name, "requirement": text, "max_score": 1, "criteria": criteria}
    return {**facts, **({"errors": errors} if errors else {}), **more}


def read_json(path: Path) -> Any:
    """The content of an annotation file."""
    return json.loads(path.read_bytes())
