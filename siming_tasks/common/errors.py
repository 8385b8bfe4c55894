"""Errors that this package raises on purpose.

Every message says where the fault is, what was found, and how to fix it. A model's reply never raises: whatever a model
writes becomes a counted status (see :mod:`siming_tasks.benchmark.parsing`).
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeVar

from siming_tasks.common.sanitize import one_line

_E = TypeVar("_E", bound="SimingError")


@dataclass(frozen=True)
class Problem:
    """Finding about a user's file: where it is, what is wrong, how to fix it.

    A note is not a fault: it is counted, and shown on request.
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
        """``file:line: field: what fix`` on one line, leaving out what is unknown."""
        where = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return one_line(
            " ".join([": ".join(part for part in (where, self.field, self.what) if part), self.fix]).strip()
        )

    def to_json(self) -> dict[str, object]:
        """Convert the finding to plain JSON types."""
        return asdict(self)


class SimingError(Exception):
    """Base of every deliberate error; ``problems`` lists the findings behind it, if there are several."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)

    @classmethod
    def of(cls: type[_E], problems: Sequence[Problem], shown: int = 5) -> _E:
        """Make one error out of several findings: some of each kind are printed, all are kept."""
        each = max(1, shown // max(1, len({problem.code for problem in problems})))
        seen: Counter[str] = Counter()
        places: list[tuple[bool, int]] = []  # those beyond the share of their kind come last
        for number, problem in enumerate(problems):
            seen[problem.code] += 1
            places.append((seen[problem.code] > each, number))
        lines = [str(problems[number]) for number in sorted(number for _, number in sorted(places)[:shown])]
        if len(problems) > len(lines):
            lines.append(f"... and {len(problems) - len(lines)} more.")
        return cls("\n".join(lines), problems)


class OptionsError(SimingError):
    """Unusable value of an environment variable or command-line option."""


class RubricError(SimingError):
    """Invalid rubric file."""


class DataError(SimingError):
    """Invalid data set folder, label sheet or prediction file."""


class MediaError(SimingError):
    """Video that cannot be read or does not match its data set."""


def field_message(finding: Mapping[str, Any]) -> str:
    """Message of one of pydantic's findings in plain words, without its place."""
    named = {"missing": "missing field", "extra_forbidden": "unknown field"}
    if finding["type"] in named and finding["loc"]:
        return f"{named[finding['type']]} `{finding['loc'][-1]}`"
    if finding["type"] == "model_type":
        return "should be a mapping, with a line `field: value` for each field"
    return str(finding["msg"]).removeprefix("Value error, ")


DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of writing only: the disk, a quota or the largest file size is reached."""

_AGAIN = "Run the same command again; earlier output is unchanged."
_WAYS_OUT = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), f"Free some space. {_AGAIN}"),
    errno.EFBIG: "The file system or a limit allows no larger file. Choose another place.",
    errno.EIO: "The disk or the network failed. Choose another place.",
    errno.ESTALE: f"The network folder has changed. {_AGAIN}",
    errno.ENOENT: f"Check the path. If it was removed meanwhile: {_AGAIN[0].lower()}{_AGAIN[1:]}",
    errno.EMFILE: "Allow more open files (ulimit -n), or use fewer jobs.",
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "Choose another place, or change the permissions."),
    **dict.fromkeys(
        (errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY, errno.EBUSY, errno.EXDEV, errno.ENAMETOOLONG, errno.ELOOP,
         errno.EEXIST, errno.EINVAL), "Choose another place."
    ),
}  # fmt: skip


def system_message(error: OSError) -> str | None:
    """Message of a file-system error and what to do; None for any other error, which is a bug of the suite."""
    if error.errno not in _WAYS_OUT:
        return None
    return f"{error.strerror or os.strerror(error.errno)}. {_WAYS_OUT[error.errno]}"
