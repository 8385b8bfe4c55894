"""``siming data check`` and ``siming data rubric``: everything that is wrong with a data set folder or a rubric."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import FOLDED, count_problems, fold_problems, plural, print_json, say
from siming_tasks.common.errors import OptionsError, Problem, RubricError

if TYPE_CHECKING:
    from siming_tasks.data.check.report import CheckReport


@cli.command()
def check(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, split=False),
    quick: bool = cli.switch("open the videos without decoding them"),
    jobs: int | None = cli.option("N", "videos worked on at once (default: all processors)", click.IntRange(1)),
    restate_digests: bool = cli.switch(
        "write the digests anew, where labels or videos were changed on purpose; not beside other errors", "--restate"
    ),
    show_all: bool = cli.switch("print every finding; without it, what repeats is folded", "--all"),
    as_json: bool = cli.switch("print one JSON object", "--json"),
) -> int:
    """Print every finding and a summary; 1 if there are errors."""
    from siming_tasks.common.sanitize import one_line
    from siming_tasks.data import check_dataset
    from siming_tasks.data.check.report import NOT_CHECKED

    root = chosen.folder(must_exist=False)
    report = check_dataset(root, quick=quick, jobs=jobs, progress=sys.stderr.isatty() and not as_json)
    if restate_digests:
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
            f"{root}:{synthetic} {facts['videos']} videos, {facts['seconds'] / 60:.1f} min, "
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


@cli.command()
def rubric(
    action: str = cli.word("", "check: list errors and doubtful entries; show: print a sheet", ("check", "show")),
    file: Path | None = cli.word("[FILE]", "rubric.yaml (default: the embedded one)", Path),
    as_json: bool = cli.switch("check: print one JSON object", "--json"),
    html: Path | None = cli.option("OUT", "show: write a page to print, one sheet per skill", cli.NEW_FILE),
    skill: tuple[str, ...] = cli.several("ID", "show: only this one; may be repeated"),
) -> int:
    """Check or show the rubric; 1 if it has errors."""
    other_flags = {"--html": html, "--skill": skill} if action == "check" else {"--json": as_json}
    if misplaced := [flag for flag, value in other_flags.items() if value]:
        raise OptionsError(f"{misplaced[0]} does not go with `siming data rubric {action}`.")
    return _check_rubric(file, as_json) if action == "check" else _show_rubric(file, html, skill)


def _check_rubric(path: Path | None, as_json: bool) -> int:
    """Print all findings; 1 if there are errors."""
    from siming_tasks.common.files import yaml_lines
    from siming_tasks.rubrics import default_rubric, load_rubric
    from siming_tasks.rubrics.lint import lint_rubric

    summary = {}
    try:
        rubric = load_rubric(path) if path else default_rubric()
        problems = lint_rubric(rubric, str(path or "default rubric"), yaml_lines(path) if path else None)
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
        say(f"{path or 'default rubric'}: {summary['steps']} steps, {summary['points']:g} points.")
    counts = f"{plural(len(errors), 'error')}, {plural(len(warnings), 'warning')}"
    print(f"{counts}. Not looked at: whether the criteria are right.")
    return 1 if errors else 0


def _show_rubric(file: Path | None, html: Path | None, skill: Sequence[str]) -> int:
    """Print the sheet, or write it as a page; 0."""
    from siming_tasks.common.files import atomic_write
    from siming_tasks.report.rubric_sheet import render_rubric_html, render_rubric_text
    from siming_tasks.rubrics import default_rubric, load_rubric

    rubric = load_rubric(file) if file else default_rubric()
    known = [skill.id for skill in rubric.skills]
    if unknown := [name for name in skill if name not in known]:
        raise OptionsError(f"--skill {unknown[0]!r} is not in the rubric; it has {', '.join(known)}.")
    if html is None:
        print(render_rubric_text(rubric, skill), end="")
        return 0
    with atomic_write(html) as stream:
        stream.write(render_rubric_html(rubric, skill))
    say(f"{html}: print it; one sheet per skill.")
    return 0
