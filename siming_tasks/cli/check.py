"""``siming data check``: everything that is wrong with a data set folder or a rubric, and its label leaks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import (
    FOLDED,
    answer,
    count_problems,
    fold_problems,
    origin,
    print_json,
    say,
    title,
)
from siming_tasks.common.printed_value import counted
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.data.check.report import CheckReport


@cli.command("data check exams", "SIMING_DATA=exams lmms-eval --model siming_reference --tasks siming_full ...")
@click.argument("dir", required=False, metavar="[DIR]", help="the data set (default: SIMING_DATA), or a rubric (.yaml)")
@cli.option_flags()
@click.option("--quick", is_flag=True, help="read the videos without decoding them; with --leaks, read none")
@click.option("--leaks", is_flag=True, help="check for label leaks in metadata instead")
@click.option("--jobs", type=click.IntRange(1), help="videos processed at the same time (default: all processors)")
@click.option(
    "--restate", is_flag=True, help="recompute digests after an intended change; fails if there are other errors"
)
@click.option("--all", "show_all", is_flag=True, help="print every finding (default: repeated ones are counted)")
@cli.AS_JSON
def check(
    dir: str | None,
    options: Options,
    quick: bool,
    leaks: bool,
    jobs: int | None,
    restate: bool,
    show_all: bool,
    as_json: bool,
) -> int:
    """List everything that is wrong with a data set folder or a rubric; exit code 1 if there are errors."""
    from siming_tasks.data import check_dataset, is_hub_name
    from siming_tasks.data.check.report import NOT_CHECKED, check_rubric

    of_rubric = Path(dir or "").suffix.lower() in (".yaml", ".yml")
    is_path = dir and (of_rubric or not is_hub_name(dir))
    path = Path(dir or "").expanduser() if is_path else cli.dataset_folder(options, dir=dir)
    if leaks and not of_rubric:
        return _find_leaks(options, path, quick, as_json)
    if of_rubric:
        report = check_rubric(path)
    else:
        report = check_dataset(path, quick=quick, jobs=jobs, progress=sys.stderr.isatty() and not as_json)
        report = _restate(report) if restate else report
    if as_json:
        print_json(report.to_json(), indent=1)
        return 1 if report.errors else 0
    for line in fold_problems(report.problems, None if show_all else FOLDED, " (--all shows each)"):
        print(line)
    for sentence in _summary_sentences(path, report.summary):
        say(sentence)
    unseen = ("whether the criteria are correct",) if of_rubric else NOT_CHECKED
    print(f"{count_problems(report.problems)}. Not checked: {'; '.join(unseen)}.")
    return 1 if report.errors else 0


def _summary_sentences(path: Path, facts: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on what was checked: a rubric, or the videos and labels of a data set."""
    from siming_tasks.common.sanitize import one_line

    if "points" in facts:
        yield f"{path}: {counted(facts['steps'], 'step')}, {counted(facts['points'], 'point')}."
    if "videos" not in facts:
        return
    seen = "headers and timestamps" if facts["quick"] else f"{counted(facts['frames'], 'picture')} decoded"
    yield (
        f"{path}:{' SYNTHETIC' * facts['synthetic']} {counted(facts['videos'], 'video')}, "
        f"{facts['seconds'] / 60:.1f} min, {counted(facts['steps'], 'step' if facts['withheld'] else 'judged step')}, "
        f"labels {'withheld' if facts['withheld'] else 'present'}; {seen}."
    )
    if not facts["spans"]:
        yield "No step has a span (start and end), so there are no clips: use --tasks siming_full."
    if facts["splits"]:
        yield f"Splits: {', '.join(f'{one_line(name)} {count:,}' for name, count in facts['splits'].items())}."
    if any(about != "not stated" for about in facts["raters"].values()):
        yield f"Raters: {'; '.join(f'{one_line(name)}: {about}' for name, about in facts['raters'].items())}."
    if facts["sound"]:
        yield " ".join(map(one_line, facts["sound"]))


def _restate(report: CheckReport) -> CheckReport:
    """Recompute the digests and return the new report; if there are other errors, write nothing and return it as is."""
    from siming_tasks.data import restate
    from siming_tasks.data.check.report import DIGEST_CODES

    root, others = report.root, [error for error in report.errors if error.code not in DIGEST_CODES]
    if others:
        say(f"{root}: the digest was not recomputed: fix {counted(len(others), 'other error')} first.", error=True)
        return report
    before, now = restate(root)
    text = (
        f"digest {before[:12] if before else 'none'} is now {now[:12]}. Raise `version` in dataset.yaml; predictions "
    )
    text += "and label files made for the old digest are now rejected."
    if before == now:
        text = f"the digest {now[:12]} is already correct."
    say(f"{root}: {text}", error=True)  # standard output may be one JSON object
    left = tuple(problem for problem in report.problems if problem.code not in DIGEST_CODES)
    return replace(report, problems=left, summary={**report.summary, "digest": now})


def _find_leaks(options: Options, path: Path, quick: bool, as_json: bool) -> int:
    """Print how well each kind of metadata predicts the labels, by cross-fitting; 1 if a video cannot be read."""
    from siming_tasks.study.analysis.leak_audit import audit
    from siming_tasks.study.report.row_tables import row_section
    from siming_tasks.study.words import reason

    dataset = cli.open_dataset(options, dir=str(path))
    rows = audit(dataset, options, media=not quick)
    section = row_section(rows, reference=options.rater)
    answer(as_json, origin(dataset) | {"rows": rows.to_json()}, f"## Leak audit of {title(dataset)}", section)
    unread = [reason(row) for row in rows.of("leaks", "files") if row.value is None]
    for sentence in unread:
        say(sentence, error=True)
        say("The video files were not checked for leaks: fix the videos, or skip them with --quick.", error=True)
    return 1 if unread else 0
