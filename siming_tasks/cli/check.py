"""``siming data check``: everything that is wrong with a data set folder or a rubric, and what tells the labels."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import (
    FOLDED,
    count_problems,
    fold_problems,
    origin,
    plural,
    print_json,
    say,
    show_markdown,
    title,
)
from siming_tasks.common.errors import Problem, RubricError
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.data.check.report import CheckReport


@cli.command("data check exams", "SIMING_DATA=exams lmms-eval --model siming_reference --tasks siming_full ...")
@click.argument("dir", required=False, metavar="[DIR]", help="the data set (default: SIMING_DATA), or a rubric (.yaml)")
@cli.option_flags()
@click.option("--quick", is_flag=True, help="open the videos without decoding them; with --leaks open none")
@click.option("--leaks", is_flag=True, help="find what tells the labels without any picture, instead")
@click.option("--jobs", type=click.IntRange(1), help="videos worked on at once (default: all processors)")
@click.option(
    "--restate", is_flag=True, help="write the digests anew after a change on purpose; not beside other errors"
)
@click.option("--all", "show_all", is_flag=True, help="print every finding; without it, what repeats is folded")
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
    """List everything that is wrong with a data set folder, or with a rubric; 1 if there are errors."""
    from siming_tasks.common.sanitize import one_line
    from siming_tasks.data import check_dataset, is_hub_name
    from siming_tasks.data.check.report import NOT_CHECKED

    path = Path(dir).expanduser() if dir and not is_hub_name(dir) else cli.dataset_folder(options, dir=dir)
    if path.suffix.lower() in (".yaml", ".yml"):
        return _check_rubric(path, as_json)
    if leaks:
        return _find_leaks(options, path, quick, as_json)
    report = check_dataset(path, quick=quick, jobs=jobs, progress=sys.stderr.isatty() and not as_json)
    if restate:
        report = _restate(report)
    if as_json:
        print_json(report.to_json(), indent=1)
        return 1 if report.errors else 0
    for line in fold_problems(report.problems, None if show_all else FOLDED, " (--all shows each)"):
        print(line)
    facts = report.summary
    if "videos" in facts:
        seen = "headers and timestamps" if facts["quick"] else f"{facts['frames']:,} pictures decoded"
        synthetic = " SYNTHETIC" if facts["synthetic"] else ""
        say(
            f"{path}:{synthetic} {facts['videos']} videos, {facts['seconds'] / 60:.1f} min, "
            f"{facts['steps']:,} judged steps, labels {'withheld' if facts['withheld'] else 'present'}; {seen}."
        )
        if not facts["spans"]:
            say("No step has a span (start and end): models judge the whole videos (--tasks siming_full), no clips.")
        if facts["splits"]:
            say(f"Splits: {', '.join(f'{one_line(name)} {count:,}' for name, count in facts['splits'].items())}.")
        if any(about != "not stated" for about in facts["raters"].values()):
            say(f"Raters: {'; '.join(f'{one_line(name)}: {about}' for name, about in facts['raters'].items())}.")
        if facts["sound"]:
            say(" ".join(map(one_line, facts["sound"])))
    print(f"{count_problems(report.problems)}. Not looked at: {'; '.join(NOT_CHECKED)}.")
    return 1 if report.errors else 0


def _restate(report: CheckReport) -> CheckReport:
    """The report after the digests were written anew; as it is, and nothing written, if there are other errors."""
    from siming_tasks.data import restate
    from siming_tasks.data.check.report import DIGEST_CODES

    root, others = report.root, [error for error in report.errors if error.code not in DIGEST_CODES]
    if others:
        say(f"{root}: the digest is not restated: {plural(len(others), 'other error')}. Mend first.", error=True)
        return report
    before, now = restate(root)
    text = f"{root}: the digest {now[:12]} is right already."
    if before != now:
        text = (
            f"{root}: digest {before[:12] if before else 'none'} is now {now[:12]}. Raise `version` in "
            "dataset.yaml; predictions and label files made for the old digest are refused from now on."
        )
    say(text, error=True)  # standard output may be one JSON object
    left = tuple(problem for problem in report.problems if problem.code not in DIGEST_CODES)
    return replace(report, problems=left, summary={**report.summary, "digest": now})


def _check_rubric(path: Path, as_json: bool) -> int:
    """Print all findings; 1 if there are errors."""
    from siming_tasks.common.files import yaml_lines
    from siming_tasks.rubrics import load_rubric
    from siming_tasks.rubrics.lint import lint_rubric

    summary = {}
    try:
        rubric = load_rubric(path)
        problems = lint_rubric(rubric, str(path), yaml_lines(path))
        summary = {"skills": len(rubric.skills), "steps": len(rubric.steps), "points": rubric.max_score}
    except RubricError as error:
        problems = list(error.problems) or [Problem("rubric-unreadable", str(error), "")]
    errors = [problem for problem in problems if problem.severity == "error"]
    warnings = [problem for problem in problems if problem.severity == "warning"]
    if as_json:
        findings = {"errors": [each.to_json() for each in errors], "warnings": [each.to_json() for each in warnings]}
        print_json({**findings, "summary": summary}, indent=1)
        return 1 if errors else 0
    for line in fold_problems(problems, None):
        say(line)
    if summary:
        say(f"{path}: {summary['steps']} steps, {summary['points']:g} points.")
    counts = f"{plural(len(errors), 'error')}, {plural(len(warnings), 'warning')}"
    print(f"{counts}. Not looked at: whether the criteria are right.")
    return 1 if errors else 0


def _find_leaks(options: Options, path: Path, quick: bool, as_json: bool) -> int:
    """Print how well each kind of fact tells the labels, learnt from the other exams; 1 if a video cannot be read."""
    from siming_tasks.analysis.leak_audit import audit
    from siming_tasks.report.row_tables import row_section

    dataset = cli.open_dataset(options, dir=str(path))
    rows = audit(dataset, options, media=not quick)
    if as_json:
        print_json(origin(dataset) | {"rows": rows.to_json()})
    else:
        show_markdown(f"## Leak audit of {title(dataset)}", row_section(rows, reference=options.rater))
    unread = [row.why for row in rows.of("leaks", "files") if row.value is None]
    for sentence in unread:
        say(sentence, error=True)
        say("What the files tell was not looked at: mend the videos, or leave them out with --quick.", error=True)
    return 1 if unread else 0
