"""``siming data rubric``: what is wrong with a rubric, and a sheet of it to read or print."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from siming_tasks.cli.parameters import command
from siming_tasks.cli.terminal import fold_problems, plural, say

__all__ = ["rubric"]


@command()
@click.argument(
    "action", type=click.Choice(("check", "show")), help="check: list errors and doubtful entries; show: print a sheet"
)
@click.argument("file", type=Path, required=False, metavar="[FILE]", help="rubric.yaml (default: the embedded one)")
@click.option("--json", "as_json", is_flag=True, help="check: print one JSON object")
@click.option("--html", type=Path, metavar="OUT", help="show: write a page to print, one sheet per skill")
@click.option("--skill", multiple=True, metavar="ID", help="show: only this one; may be repeated")
def rubric(
    action: str,
    file: Path | None,
    as_json: bool,
    html: Path | None,
    skill: tuple[str, ...],
) -> int:
    """Check or show the rubric; 1 if it has errors."""
    from siming_tasks.common.errors import OptionsError

    other_flags = {"--html": html, "--skill": skill} if action == "check" else {"--json": as_json}
    if misplaced := [flag for flag, value in other_flags.items() if value]:
        raise OptionsError(f"{misplaced[0]} does not go with `siming data rubric {action}`.")
    return _check(file, as_json) if action == "check" else _show(file, html, skill)


def _check(path: Path | None, as_json: bool) -> int:
    """Print all findings; 1 if there are errors."""
    from siming_tasks.common.errors import Problem, RubricError
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
        print(json.dumps({**findings, "summary": summary}, indent=1, allow_nan=False))
        return 1 if errors else 0
    for line in fold_problems(problems, None):
        say(line)
    if summary:
        say(f"{path or 'default rubric'}: {summary['steps']} steps, {summary['points']:g} points.")
    counts = f"{plural(len(errors), 'error')}, {plural(len(warnings), 'warning')}"
    print(f"{counts}. Not looked at: whether the criteria are right.")
    return 1 if errors else 0


def _show(file: Path | None, html: Path | None, skill: Sequence[str]) -> int:
    """Print the sheet, or write it as a page; 0."""
    from siming_tasks.common.errors import OptionsError
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
    try:
        with atomic_write(html) as stream:
            stream.write(render_rubric_html(rubric, skill))
    except OSError as error:
        raise OptionsError(f"--html {html}: cannot be written: {error.strerror}.") from None
    say(f"{html}: print it; one sheet per skill.")
    return 0
