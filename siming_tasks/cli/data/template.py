"""``siming template``: a workbook for physicians to fill in."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from siming_tasks.cli.terminal import say

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    template = commands.add_parser("template", help="make a workbook in which physicians fill in points and spans")
    template.add_argument("out", type=Path, metavar="OUT", help="the new .xlsx file")
    template.add_argument("--rubric", type=Path, required=True, help="rubric.yaml")
    template.add_argument("--videos", type=Path, required=True, help="folder of the video files")
    template.add_argument(
        "--raters", default="2", metavar="N|NAMES", help="how many physicians (default 2), or names: Li,Wang"
    )
    template.add_argument("--skill", action="append", default=[], metavar="ID", help="only this skill; may be repeated")
    template.set_defaults(run=_template)


def _template(arguments: argparse.Namespace) -> int:
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.rubrics import load_rubric
    from siming_tasks.tools.builder.template import MAX_RATERS, write_template

    raters = [name.strip() for name in arguments.raters.replace("，", ",").split(",")]
    if len(raters) == 1 and raters[0].isascii() and raters[0].lstrip("-").isdigit():
        count = int(raters[0]) if len(raters[0]) < 4 else 0
        if not 1 <= count <= MAX_RATERS:
            raise OptionsError(f"--raters {arguments.raters!r} must be 1 to {MAX_RATERS}, or names.")
        raters = [chr(ord("a") + index) for index in range(count)]
    rubric = load_rubric(arguments.rubric)
    made = write_template(arguments.out, rubric, arguments.videos, raters, arguments.skill)
    sheets = ", ".join(made.titles)
    say(f"{arguments.out}: {len(made.videos)} videos, {len(made.steps)} steps, sheets {sheets} and spans.")
    say(f"When it is filled in: siming build OUT --rubric {arguments.rubric} --labels {arguments.out} --videos ...")
    return 0
