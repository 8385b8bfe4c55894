"""``siming data template``: a workbook for physicians to fill in."""

from __future__ import annotations

from pathlib import Path

import click

from siming_tasks.cli.parameters import command
from siming_tasks.cli.terminal import say

__all__ = ["template"]


@command()
@click.argument("out", type=Path, metavar="OUT", help="the new .xlsx file")
@click.option("--rubric", type=Path, required=True, help="rubric.yaml")
@click.option("--videos", type=Path, required=True, help="folder of the video files")
@click.option("--raters", default="2", metavar="N|NAMES", help="how many physicians (default 2), or names: Li,Wang")
@click.option("--skill", multiple=True, metavar="ID", help="only this skill; may be repeated")
def template(
    out: Path,
    rubric: Path,
    videos: Path,
    raters: str,
    skill: tuple[str, ...],
) -> int:
    """Write the workbook and name the next command; 0."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.rubrics import load_rubric
    from siming_tasks.tools.builder.template import MAX_RATERS, write_template

    names = [name.strip() for name in raters.replace("，", ",").split(",")]
    if len(names) == 1 and names[0].isascii() and names[0].lstrip("-").isdigit():
        count = int(names[0]) if len(names[0]) < 4 else 0
        if not 1 <= count <= MAX_RATERS:
            raise OptionsError(f"--raters {raters!r} must be 1 to {MAX_RATERS}, or names.")
        names = [chr(ord("a") + index) for index in range(count)]
    made = write_template(out, load_rubric(rubric), videos, names, skill)
    sheets = ", ".join(made.titles)
    say(f"{out}: {len(made.videos)} videos, {len(made.steps)} steps, sheets {sheets} and spans.")
    say(f"When it is filled in: siming data build OUT --rubric {rubric} --labels {out} --videos ...")
    return 0
