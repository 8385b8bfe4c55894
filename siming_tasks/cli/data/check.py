"""``siming data check``: everything that is wrong with a dataset folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from siming_tasks.cli.parameters import Checked, DatasetChoice, command, dataset_flags
from siming_tasks.cli.terminal import FOLDED, count_problems, fold_problems, say
from siming_tasks.options import Options, Whole

__all__ = ["check"]


@command()
@dataset_flags(word=True)
@click.option("--quick", is_flag=True, help="open the videos without decoding them")
@click.option(
    "--jobs",
    type=Checked(Whole()),
    metavar="N",
    help="videos worked on at once (default: all processors)",
)
@click.option(
    "--restate",
    "restate_digests",
    is_flag=True,
    help="first write the digests anew, where labels or videos were changed on purpose",
)
@click.option("--all", "show_all", is_flag=True, help="print every finding; without it, what repeats is folded")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
def check(
    chosen: DatasetChoice,
    options: Options,
    quick: bool,
    jobs: int | None,
    restate_digests: bool,
    show_all: bool,
    as_json: bool,
) -> int:
    """Print every finding and a summary; 1 if there are errors."""
    from siming_tasks.data import check_dataset, restate
    from siming_tasks.data.check.report import NOT_CHECKED

    root = chosen.folder(must_exist=False)
    if restate_digests:
        before, now = restate(root)
        _print_changed_digest(root, before, now)
    report = check_dataset(root, quick=quick, jobs=jobs, progress=sys.stderr.isatty() and not as_json)
    if as_json:
        print(json.dumps(report.to_json(), indent=1, allow_nan=False))
        return 1 if report.errors else 0
    shown = report.problems if show_all else (*report.errors, *report.warnings)
    for line in fold_problems(shown, None if show_all else FOLDED, " (--all shows each)"):
        print(line)
    facts = report.summary
    if "videos" in facts:
        seen = "headers and timestamps" if facts["quick"] else f"{facts['frames']:,} pictures decoded"
        synthetic = " SYNTHETIC" if facts["synthetic"] else ""
        say(
            f"{root}:{synthetic} {facts['videos']} videos, {facts['seconds'] / 60:.1f} min, "
            f"{facts['steps']:,} judged steps, labels {'withheld' if facts['withheld'] else 'present'}; {seen}."
        )
    hidden = " (legal and usual; --all shows them)" if report.notes and not show_all else ""
    print(f"{count_problems(report.problems)}{hidden}. Not looked at: {'; '.join(NOT_CHECKED)}.")
    return 1 if report.errors else 0


def _print_changed_digest(root: Path, before: str | None, now: str) -> None:
    """Print the old and the new digest on standard error, where they do not mix with ``--json``."""
    if before == now:
        say(f"{root}: the digest {now[:12]} is right already.", error=True)
        return
    say(
        f"{root}: digest {before[:12] if before else 'none'} is now {now[:12]}. Raise `version` in dataset.yaml; "
        "predictions and label files made for the old digest are refused from now on.",
        error=True,
    )
