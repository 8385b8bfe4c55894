"""Entry point of ``siming``: one lazy group of commands; errors become one sentence and an exit code."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Sequence
from importlib import resources
from typing import Any

import click

from siming_tasks import __version__
from siming_tasks.cli.terminal import safe_terminal
from siming_tasks.common.errors import OptionsError, SimingError, system_message
from siming_tasks.common.sanitize import is_well_formed

COMMANDS = {
    "score": ("score:score", "Score a run without a model."),
    "compare": ("compare:compare", "Compare runs, with intervals and baselines."),
    "report": ("report:report", "Make pages from finished runs."),
    "view": ("report:view", "Serve a report's pages and videos."),
    "data rate": ("rate:rate", "Score exams on a local page."),
    "data template": ("build:template", "Make a workbook for points and spans."),
    "data build": ("build:build", "Make a data set from rubric, labels and videos."),
    "data fetch": ("folders:fetch", "Make a data set from a public set."),
    "data check": ("check:check", "List everything wrong with a data set or rubric."),
    "data split": ("folders:split", "Separate public data from private labels."),
    "data push": ("folders:push", "Upload a public folder to Hugging Face."),
    "data demo": ("folders:demo", "Make a SYNTHETIC data set."),
    "run plan": ("plan:plan", "Estimate requests, tokens, disk, time and cost."),
    "run prepare": ("runs:prepare", "Decode frames or cut clips before a run."),
    "run requests": ("runs:requests", "Write a run's requests as a batch job."),
    "run import": ("runs:import_replies", "Turn batch results into a prediction file."),
    "run baseline": ("runs:baseline", "Train a baseline on a data set's own labels."),
    "study raters": ("study:raters", "Measure how well the physicians agree."),
    "study power": ("study:power", "Plan a data set: how many videos it needs."),
    "board submit": ("board:submit", "Pack a run's predictions for a leaderboard."),
    "board build": ("board:build", "Build a leaderboard from archives."),
    "docs": ("docs:docs", "List or print the pages of the documentation."),
}
"""By the words of a command, in the order of the help: its module of ``siming_tasks.cli`` and function there, and what
it does, in at most 50 characters."""

GROUPS = {
    "": """SiMing-Bench: judging clinical exams by a rubric. Evaluate a model with lmms-eval:

    lmms-eval --model MODEL --tasks siming --output_path runs/NAME --log_samples

    Exit codes: 0 success, 1 problems found, 2 usage error, 130 interrupted.""",
    "data": "Make, check and publish a data set.",
    "run": "Plan and prepare runs; export and import requests.",
    "study": "Measure rater agreement; plan a data set.",
    "board": "Submit to a leaderboard and build one.",
}
"""Help of ``siming`` itself and of its groups of commands."""


def find_command(words: str) -> click.Command:
    """Import and return a command, for example ``data build``."""
    place, short_help = COMMANDS[words]
    module, _, function = place.partition(":")
    found: click.Command = getattr(importlib.import_module(f"siming_tasks.cli.{module}"), function)
    found.short_help = short_help
    return found


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used or listed; without a name it is ``siming`` itself."""

    def __init__(self, name: str = "", **more: Any) -> None:
        super().__init__(name=name or "siming", help=GROUPS[name], **more)
        self.prefix = f"{name} " if name else ""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the group's commands and groups, in the order of the table."""
        own = [words.removeprefix(self.prefix) for words in COMMANDS if words.startswith(self.prefix)]
        return list(dict.fromkeys(words.split()[0] for words in own))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command or group of that name; None if there is no such command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        words = self.prefix + cmd_name
        return find_command(words) if words in COMMANDS else LazyGroup(words)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the first word names; the error for an unknown one suggests a command of another group."""
        elsewhere = [words for words in COMMANDS if words.split()[-1] == args[0]]
        if elsewhere and args[0] not in self.list_commands(ctx):
            ctx.fail(f"No such command {args[0]!r}. Did you mean 'siming {elsewhere[0]}'?")
        return super().resolve_command(ctx, args)


def _print_tasks_path(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        click.echo(resources.files("siming_tasks.yaml_tasks"))
        ctx.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        Its exit code: 0 success, 1 problems found, 2 usage error (a flag, an argument or a SIMING_ variable cannot
        be used), 130 interrupted.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    siming = LazyGroup(
        context_settings={"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100}
    )
    siming = click.version_option(__version__, message=f"siming-tasks {__version__}")(siming)
    text = "Print the folder of the task files, for lmms-eval --include_path."
    how: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _print_tasks_path}
    siming = click.option("--tasks-path", help=text, **how)(siming)
    with safe_terminal():
        try:
            if unreadable := [name for name in (*words, os.getcwd()) if not is_well_formed(name)]:
                return _refuse(words, f"{unreadable[0]!r} is not UTF-8. Rename the file or folder.", 2)
            return int(siming.main(words, "siming", standalone_mode=False) or 0)
        except click.ClickException as error:
            error.show(sys.stderr)
            return error.exit_code
        except click.Abort:
            return _refuse(words, "interrupted; run the same command again to continue.", 130)
        except SimingError as error:
            return _refuse(words, str(error), 2 if isinstance(error, OptionsError) else 1)
        except ModuleNotFoundError as error:
            module = (error.name or "").partition(".")[0]
            if not (package := _package_with(module)):
                raise
            return _refuse(words, f"needs {module}, which is not installed: pip install '{package}'", 2)
        except OSError as error:
            if not (message := system_message(error)):
                raise
            return _refuse(words, f"{error.filename}: {message}" if error.filename else message, 1)


def _refuse(words: Sequence[str], message: str, code: int) -> int:
    """Print one sentence about the command on standard error and return its exit code."""
    named = next((f" {name}" for name in COMMANDS if list(words[: len(name.split())]) == name.split()), "")
    print(f"siming{named}: {message}", file=sys.stderr)
    return code


def _package_with(module: str) -> str:
    """Name to install for a module that the package declares: its own, or with an extra; empty: undeclared."""
    from importlib.metadata import requires

    for line in requires("siming-tasks") or ():
        name = line[: re.search(r"[^\w.-]|$", line).start()].lower().replace("-", "_")  # type: ignore[union-attr]
        extra = re.search(r"extra == .(\w+)", line)
        if module == {"scikit_learn": "sklearn"}.get(name, name):
            return f"siming-tasks[{extra[1]}]" if extra else "siming-tasks"
    return ""
