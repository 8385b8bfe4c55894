"""``siming rubric``: what is wrong with a rubric, and a sheet of it to read or print."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from siming_tasks.cli.findings import folded
from siming_tasks.cli.terminal import say, several

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    rubric = commands.add_parser("rubric", help="check a rubric file, or show it as a sheet")
    rubric.add_argument("action", choices=("check", "show"), help="check: all faults, and what is hardly meant")
    rubric.add_argument("file", type=Path, nargs="?", metavar="FILE", help="rubric.yaml (default: the embedded one)")
    rubric.add_argument("--json", action="store_true", help="check: print one JSON object")
    rubric.add_argument("--html", type=Path, metavar="OUT", help="show: write a page to print, one sheet per skill")
    rubric.add_argument(
        "--skill", action="append", default=[], metavar="ID", help="show: only this one; may be repeated"
    )
    rubric.set_defaults(run=_rubric)


def _rubric(arguments: argparse.Namespace) -> int:
    from siming_tasks.common.errors import OptionsError

    wrong = {"check": ("html", "skill"), "show": ("json",)}[arguments.action]
    if given := [f"--{name}" for name in wrong if getattr(arguments, name)]:
        raise OptionsError(f"{given[0]} does not go with `siming rubric {arguments.action}`.")
    return _check(arguments) if arguments.action == "check" else _show(arguments)


def _check(arguments: argparse.Namespace) -> int:
    """Print all findings; 1 if there are errors."""
    from siming_tasks.common.errors import Problem, RubricError
    from siming_tasks.common.files import yaml_lines
    from siming_tasks.rubrics import default_rubric, load_rubric
    from siming_tasks.rubrics.lint import lint_rubric

    path = arguments.file
    summary = {}
    try:
        rubric = load_rubric(path) if path else default_rubric()
        problems = lint_rubric(rubric, str(path or "default rubric"), yaml_lines(path) if path else None)
        summary = {"skills": len(rubric.skills), "steps": len(rubric.steps), "points": rubric.max_score}
    except RubricError as error:
        problems = list(error.problems) or [Problem("rubric-unreadable", str(error), "")]
    errors = [problem for problem in problems if problem.severity == "error"]
    warnings = [problem for problem in problems if problem.severity == "warning"]
    if arguments.json:
        found = {"errors": [each.to_json() for each in errors], "warnings": [each.to_json() for each in warnings]}
        print(json.dumps({**found, "summary": summary}, indent=1, allow_nan=False))
        return 1 if errors else 0
    for line in folded(problems, None):
        say(line)
    if summary:
        say(f"{path or 'default rubric'}: {summary['steps']} steps, {summary['points']:g} points.")
    counts = f"{several(len(errors), 'error')}, {several(len(warnings), 'warning')}"
    print(f"{counts}. Not looked at: whether the criteria are right.")
    return 1 if errors else 0


def _show(arguments: argparse.Namespace) -> int:
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.common.files import atomic_write
    from siming_tasks.report.rubric_sheet import render_rubric_html, render_rubric_text
    from siming_tasks.rubrics import default_rubric, load_rubric

    rubric = load_rubric(arguments.file) if arguments.file else default_rubric()
    known = [skill.id for skill in rubric.skills]
    if unknown := [name for name in arguments.skill if name not in known]:
        raise OptionsError(f"--skill {unknown[0]!r} is not in the rubric; it has {', '.join(known)}.")
    if arguments.html is None:
        print(render_rubric_text(rubric, arguments.skill), end="")
        return 0
    try:
        with atomic_write(arguments.html) as stream:
            stream.write(render_rubric_html(rubric, arguments.skill))
    except OSError as error:
        raise OptionsError(f"--html {arguments.html}: cannot be written: {error.strerror}.") from None
    say(f"{arguments.html}: print it; one sheet per skill.")
    return 0
