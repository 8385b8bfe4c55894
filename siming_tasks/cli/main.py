"""Entry point of ``siming``: the table of all commands, their groups, and the page of help."""

from __future__ import annotations

import difflib
import importlib
import keyword
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from siming_tasks import __version__
from siming_tasks.cli.parameters import Command, refusal
from siming_tasks.cli.terminal import safe_terminal

__all__ = ["COMMANDS", "all_commands", "find_command", "main"]

TOP = {
    "score": "score predictions or sample logs without a model",
    "compare": "compare runs over the same videos, with paired intervals",
    "report": "make a folder of pages from finished runs",
    "view": "serve a report and its videos to this machine",
}
"""Commands that work on finished runs."""

HELP = {
    "docs": "list the pages of the documentation, or print one",
    "tasks-path": "print the folder of the task files, for lmms-eval --include_path",
}

GROUPS = {
    "data": (
        "make, check and publish a data set",
        {
            "rate": "open a local page on which a physician scores exams",
            "template": "make a workbook in which physicians enter points and spans",
            "build": "make a data set folder from a rubric, a score sheet and videos",
            "check": "list everything that is wrong with a data set folder",
            "split": "split a data set into a public folder and a private label file",
            "push": "upload a data set to the Hugging Face Hub, by default without its labels",
            "edit": "make edited copies of recordings whose labels must differ (counterfactual pairs)",
            "demo": "make a SYNTHETIC data set: simulated exams whose labels are known",
            "rubric": "check a rubric file, or show it as a sheet",
        },
    ),
    "run": (
        "prepare, divide and exchange the runs of models",
        {
            "plan": "estimate the requests, tokens, disk space, time and cost of a run",
            "prepare": "decode all frames, or cut all clips, of a data set before a run",
            "recipe": "show how to run the paper's models and their successors",
            "shards": "print the commands, or a SLURM script, that make a run in N parts",
            "join": "join the shards of a run into one run",
            "requests": "write the exact requests of a run, to be answered without lmms-eval",
            "import": "turn replies made by VLMEvalKit or Inspect into a file that can be scored",
            "export": "write a run for Every Eval Ever, Inspect, Parquet, JSON Lines or LaTeX",
            "baseline": "train a baseline on a data set's own labels and predict the exams it has not seen",
        },
    ),
    "study": (
        "study raters, runs and published tables",
        {
            "raters": "measure how far the physicians agree, with intervals, also while they rate",
            "diagnose": "break a run down by step, severity, history and exam decision",
            "power": "plan a data set: detectable effects, or videos needed for an effect",
            "lint-table": "check the arithmetic of a published table (P, R, F1, MCC, PLCC, deltas, shares)",
        },
    ),
    "board": (
        "submit to a leaderboard and build one",
        {
            "submit": "pack a run's predictions for a leaderboard, or check such an archive",
            "build": "build a static leaderboard from submitted archives",
        },
    ),
}

COMMANDS = {
    **TOP,
    **{f"{group} {name}": text for group, (_, names) in GROUPS.items() for name, text in names.items()},
    **HELP,
}
"""Every command and its line of help. ``data build`` is the function ``build`` of ``siming_tasks.cli.data.build``."""

FORMER = {"withhold": "data split", "submit": "board submit", "board": "board build"}
"""Names that a command had before; refused like any unknown name, and the present one is named."""

OVERVIEW = """\
Usage: siming COMMAND ...

SiMing-Bench: judging clinical exams by a rubric. lmms-eval itself evaluates a model:

  lmms-eval --model MODEL --tasks siming --output_path runs/NAME --log_samples

{top}

Groups of commands (`siming GROUP` lists them):
{groups}

Help:
{help}

`siming COMMAND --help` lists a command's flags. --version prints the version.
Exit codes: 0 well, 1 findings or bad data, 2 bad usage, 130 interrupted.
"""


def find_command(path: str) -> Command:
    """Import and return a command, for example ``data build``."""
    *group, name = path.replace("-", "_").split()
    module = importlib.import_module(".".join(["siming_tasks.cli", *group, name + "_" * keyword.iskeyword(name)]))
    command: Command = getattr(module, module.__name__.rpartition(".")[2])
    line = COMMANDS[path]
    command.name, command.short_help = path.split()[-1], line
    if not (command.help or "").startswith(line[:1].upper() + line[1:]):
        command.help = f"{line[:1].upper()}{line[1:]}.\n\n{command.help or ''}".strip()
    return command


def all_commands() -> dict[str, Command]:
    """Every command by its words."""
    return {path: find_command(path) for path in COMMANDS}


class Group(click.Group):
    """A group that imports a command only when it is used or asked for help."""

    def __init__(self, prefix: str, lines: Mapping[str, str], **more: Any) -> None:
        super().__init__(**more)
        self.prefix, self.lines = prefix, lines

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the group's commands, in the order of the table."""
        return list(self.lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command, or a group of commands, by its name."""
        if not self.prefix and cmd_name in GROUPS:
            text, lines = GROUPS[cmd_name]
            return Group(f"{cmd_name} ", lines, name=cmd_name, help=f"{text[0].upper()}{text[1:]}.")
        return find_command(self.prefix + cmd_name) if cmd_name in self.lines else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the first word names; an unknown word is refused and the nearest command named."""
        if args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            known = [self.prefix + name for name in self.lines]
            there = ", ".join(known) if self.prefix else "siming --help lists them"
            nearest = _nearest(self.prefix, args[0])
            way_out = f"did you mean `siming {nearest}`?" if nearest else f"the commands: {there}."
            raise UnknownCommandError(f"there is no command {args[0]!r}; {way_out}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from the table alone: nothing is imported."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines.items()))

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The page of help: of everything on one screen, or of the group."""
        if self.prefix:
            super().format_help(ctx, formatter)
            return
        width = max(map(len, (*TOP, *HELP))) + 2
        groups = [(name, ", ".join(lines)) for name, (_, lines) in GROUPS.items()]
        parts = {"top": TOP.items(), "groups": groups, "help": HELP.items()}
        texts = {part: "\n".join(f"  {name:<{width}}{text}" for name, text in rows) for part, rows in parts.items()}
        formatter.write(OVERVIEW.format(**texts))


class UnknownCommandError(click.UsageError):
    """A word that is no command."""


def _nearest(prefix: str, word: str) -> str | None:
    """The command that was most likely meant: the same word elsewhere, else one that is spelled alike."""
    # of two commands of one name, the first of the table is meant: `build` is `data build`
    words = {path.split()[-1]: path for path in reversed(COMMANDS)} | {path: path for path in COMMANDS} | FORMER
    if prefix:
        here = [path.removeprefix(prefix) for path in COMMANDS if path.startswith(prefix)]
        near = difflib.get_close_matches(word, here, 1)
        return prefix + near[0] if near else words.get(word)
    groups = {name: name for name in GROUPS}
    near = [word] if word in words else difflib.get_close_matches(word, [*words, *groups], 1)
    return (words | groups)[near[0]] if near else None


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        Its exit code: 0 well, 1 findings or bad data, 2 bad usage (a flag, a word or a SIMING_ variable cannot be
        used), 130 interrupted.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    siming = Group(
        "",
        {**TOP, **dict.fromkeys(GROUPS, ""), **HELP},
        name="siming",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    siming = click.version_option(__version__, message=f"siming-tasks {__version__}")(siming)
    with safe_terminal():
        try:
            with siming.make_context("siming", words) as context:
                return int(siming.invoke(context) or 0)
        except click.exceptions.NoArgsIsHelpError as error:
            return _refuse_empty(error)
        except click.UsageError as error:
            return _refuse_usage(error)
        except click.exceptions.Exit as done:
            return done.exit_code
        except BrokenPipeError:
            return 0
        except KeyboardInterrupt:
            return refusal("siming", "interrupted; run the same command again to go on.", 130)


def _refuse_empty(error: click.exceptions.NoArgsIsHelpError) -> int:
    """Print the page of help, or which commands a group has, on standard error; 2."""
    if error.ctx is None or error.ctx.parent is None:
        print(error.format_message(), file=sys.stderr)
        return 2
    group = error.ctx.command.name
    known = ", ".join(name for name in COMMANDS if name.startswith(f"{group} "))
    return refusal(error.ctx.command_path, f"a command is missing; the commands: {known}.", 2)


def _refuse_usage(error: click.UsageError) -> int:
    """Print one sentence about a word or flag that cannot be used, and where the flags are listed; 2."""
    path = error.ctx.command_path if error.ctx else "siming"
    message = " ".join(error.format_message().split())
    if not isinstance(error, UnknownCommandError) and error.__class__.__name__ != "_RefusedValueError":
        message = re.sub(r"\. \(Did (.*)\)$", r"; did \1", message)
        message = f"{message[:1].lower()}{message[1:].rstrip('.')} (see {path} --help)"
    return refusal(path, message, 2)
