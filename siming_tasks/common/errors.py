"""Errors that this package raises on purpose.

Every message says where the fault is, what was found, and the way out. A model's reply never raises: whatever a model
writes becomes a counted status (see :mod:`siming_tasks.parsing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeVar

from siming_tasks.common.redact import redact_paths
from siming_tasks.common.sanitize import one_line

_E = TypeVar("_E", bound="SimingError")


@dataclass(frozen=True)
class Problem:
    """Finding about somebody's file: where it is, what is wrong, how to mend it.

    A note is legal and usual: it is counted, and shown on request.
    ``code`` is a stable kebab-case name (``media-missing``) that scripts can rely on; the wording may change.
    """

    code: str
    what: str
    fix: str
    file: str | None = None
    line: int | None = None
    field: str | None = None
    severity: Literal["error", "warning", "note"] = "error"

    def __str__(self) -> str:
        """``file:line: field: what fix`` on one line, leaving out what is unknown; without secrets of a path."""
        file = self.file and redact_paths(self.file)
        where = f"{file}:{self.line}" if file and self.line else file
        what, fix = redact_paths(self.what), redact_paths(self.fix)
        return one_line(" ".join([": ".join(part for part in (where, self.field, what) if part), fix]).strip())

    def to_json(self) -> dict[str, object]:
        """Convert the finding to plain JSON types, without secrets."""
        fields = asdict(self)
        return fields | {name: fields[name] and redact_paths(fields[name]) for name in ("what", "fix", "file")}


class SimingError(Exception):
    """Base of every deliberate error; ``problems`` lists the findings behind it, if there are several."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

    @classmethod
    def of(cls: type[_E], problems: Sequence[Problem], shown: int = 5) -> _E:
        """Make one error out of several findings: the first few are printed, all are kept."""
        lines = [str(problem) for problem in problems[:shown]]
        if len(problems) > shown:
            lines.append(f"... and {len(problems) - shown} more.")
        return cls("\n".join(lines), problems)


class OptionsError(SimingError):
    """Unusable value of an environment variable or command-line option."""


class RubricError(SimingError):
    """Wrong rubric file."""


class DataError(SimingError):
    """Wrong dataset folder, label sheet or prediction file."""


class MediaError(SimingError):
    """Video that cannot be read as the dataset claims."""
