"""The last line of a run: what to type next, with the folder that was written."""

from __future__ import annotations

import atexit
import shlex
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import visible

__all__ = ["Ended", "say_at_the_end"]


@dataclass
class Ended:
    """The runs of this process that are saved, or not kept at all.

    Attributes:
        folders: where results and replies of a run are.
        without_replies: where only results are (no ``--log_samples``).
        withheld: whether the data set came without labels.
    """

    folders: list[Path] = field(default_factory=list)
    without_replies: list[Path] = field(default_factory=list)
    withheld: bool = False

    def __str__(self) -> str:
        command = "board submit" if self.withheld else "report"
        if self.folders:
            names = " ".join(dict.fromkeys(shlex.quote(str(folder)) for folder in self.folders))
            return f"Next: siming {command} {names}"
        if self.without_replies:
            return (
                "The replies of this run are not kept, so nothing but its table can be made of it. Add --log_samples; "
                f"then: siming {command} {shlex.quote(str(self.without_replies[0]))}"
            )
        return (
            "Nothing of this run is kept. Add --output_path results --log_samples to keep it; then: siming "
            f"{command} results"
        )


_ENDED = Ended()


def say_at_the_end() -> Ended:
    """What will be said when the process ends, after lmms-eval's table; to be filled in."""
    atexit.unregister(_say)
    atexit.register(_say)
    return _ENDED


def _say() -> None:
    with suppress(OSError, ValueError):  # nobody is listening any more
        sys.stdout.flush()
        print(f"\nsiming-tasks: {visible(redact(str(_ENDED)))}", file=sys.stderr, flush=True)  # noqa: T201
