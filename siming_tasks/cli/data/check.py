"""``siming check``: everything that is wrong with a dataset folder."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.dataset import add_data, folder_of
from siming_tasks.cli.findings import FOLDED, counted, folded
from siming_tasks.cli.flags import options_from
from siming_tasks.cli.terminal import say
from siming_tasks.options import Whole

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    check = commands.add_parser("check", help="look for everything that is wrong with a dataset folder")
    add_data(check, word=True)
    check.add_argument("--quick", action="store_true", help="open the videos without decoding them")
    check.add_argument(
        "--jobs", action=Checked, kind=Whole(), help="videos worked on at once (default: all processors)"
    )
    check.add_argument(
        "--restate",
        action="store_true",
        help="first write the digests anew, where labels or videos were changed on purpose",
    )
    check.add_argument("--all", action="store_true", help="print every finding; without it, what repeats is folded")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(run=_check)


def _check(arguments: argparse.Namespace) -> int:
    from siming_tasks.data import check_dataset, restate
    from siming_tasks.data.check.report import NOT_CHECKED

    root = folder_of(arguments, options_from(arguments), must_exist=False)
    if arguments.restate:
        before, now = restate(root)
        _say_restated(root, before, now)
    report = check_dataset(
        root, quick=arguments.quick, jobs=arguments.jobs, progress=sys.stderr.isatty() and not arguments.json
    )
    if arguments.json:
        print(json.dumps(report.to_json(), indent=1, allow_nan=False))
        return 1 if report.errors else 0
    shown = report.problems if arguments.all else (*report.errors, *report.warnings)
    for line in folded(shown, None if arguments.all else FOLDED, " (--all shows each)"):
        print(line)
    facts = report.summary
    if "videos" in facts:
        seen = "headers and timestamps" if facts["quick"] else f"{facts['frames']:,} pictures decoded"
        synthetic = " SYNTHETIC" if facts["synthetic"] else ""
        say(
            f"{root}:{synthetic} {facts['videos']} videos, {facts['seconds'] / 60:.1f} min, "
            f"{facts['steps']:,} judged steps, labels {'withheld' if facts['withheld'] else 'present'}; {seen}."
        )
    hidden = " (legal and usual; --all shows them)" if report.notes and not arguments.all else ""
    print(f"{counted(report.problems)}{hidden}. Not looked at: {'; '.join(NOT_CHECKED)}.")
    return 1 if report.errors else 0


def _say_restated(root: Path, before: str | None, now: str) -> None:
    """On standard error, where it does not mix with ``--json``."""
    if before == now:
        say(f"{root}: the digest {now[:12]} is right already.", error=True)
        return
    say(
        f"{root}: digest {before[:12] if before else 'none'} is now {now[:12]}. Raise `version` in dataset.yaml; "
        "predictions and label files made for the old digest are refused from now on.",
        error=True,
    )
