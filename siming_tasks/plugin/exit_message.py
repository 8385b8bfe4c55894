"""Message at the end of a run: the command to type next, with the folder that was written."""

from __future__ import annotations

import atexit
import shlex
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from siming_tasks.common.redact import redact
from siming_tasks.common.sanitize import visible

__all__ = ["ExitMessage", "message_at_exit"]


@dataclass
class ExitMessage:
    """Runs of this process and where they were saved; its text is the message.

    Attributes:
        folders: with results and replies of a run.
        without_replies: with results only (no ``--log_samples``).
        withheld: the data set came without labels.
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


_MESSAGE = ExitMessage()


def message_at_exit() -> ExitMessage:
    """Message that will be printed when the process ends, after lmms-eval's table; the caller fills it in."""
    atexit.unregister(_print)
    atexit.register(_print)
    return _MESSAGE


def _print() -> None:
    with suppress(OSError, ValueError):  # nobody is listening any more
        sys.stdout.flush()
        print(f"\nsiming-tasks: {visible(redact(str(_MESSAGE)))}", file=sys.stderr, flush=True)  # noqa: T201
