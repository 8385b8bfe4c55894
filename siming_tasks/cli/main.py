"""Entry point of ``siming``: the table of all commands, their groups, and the page of help."""

from __future__ import annotations

import difflib
import importlib
import keyword
import re
import sys
from collections.abc import Sequence
from typing import Any

import click

from siming_tasks import __version__
from siming_tasks.cli.parameters import Command, RefusedValueError, refusal
from siming_tasks.cli.terminal import safe_terminal

_TABLE = (
    ("score", "score", "score predictions or sample logs without a model"),
    ("compare", "compare", "compare runs over the same videos, with paired intervals"),
    ("report", "report", "make a folder of pages from finished runs"),
    ("view", "report", "serve a report and its videos to this machine"),
    ("data rate", "rate", "open a local page on which a physician scores exams"),
    ("data template", "build", "make a workbook in which physicians enter points and spans"),
    ("data build", "build", "make a data set folder from a rubric, a score sheet and videos"),
    ("data fetch", "fetch", "make a data set folder of a public set of real procedures (EgoOops, EgoEMS, ...)"),
    ("data check", "check", "list everything that is wrong with a data set folder"),
    ("data audit", "audit", "find what tells a data set's labels without any picture"),
    ("data split", "folders", "split a data set into a public folder and a private label file"),
    ("data push", "folders", "upload a data set to the Hugging Face Hub, by default without its labels"),
    ("data edit", "folders", "make edited copies of recordings whose labels must differ (counterfactual pairs)"),
    ("data sensor", "folders", "make a manikin or sensor a rater: points out of its exports"),
    ("data demo", "folders", "make a SYNTHETIC data set: simulated exams whose labels are known"),
    ("data rubric", "check", "check a rubric file, or show it as a sheet"),
    ("run plan", "plan", "estimate the requests, tokens, disk space, time and cost of a run"),
    ("run prepare", "prepare", "decode all frames, or cut all clips, of a data set before a run"),
    ("run recipe", "plan", "show how to run the paper's models and their successors"),
    ("run shards", "prepare", "print the commands, or a SLURM script, that make a run in N parts"),
    ("run missing", "prepare", "count the requests of a run, or of one shard, that have no answer yet"),
    ("run join", "prepare", "join the shards of a run into one run"),
    ("run requests", "exchange", "write the exact requests of a run, to be answered without lmms-eval"),
    ("run import", "exchange", "turn replies made by VLMEvalKit or Inspect into a file that can be scored"),
    ("run export", "exchange", "write a run for Every Eval Ever, Inspect, Parquet, JSON Lines or LaTeX"),
    ("run baseline", "baseline", "train a baseline on a data set's own labels and predict the exams it has not seen"),
    ("study raters", "study", "measure how far the physicians agree, with intervals, also while they rate"),
    ("study diagnose", "study", "break a run down by step, severity, history and exam decision"),
    ("study power", "study", "plan a data set: detectable effects, or videos needed for an effect"),
    ("study lint-table", "study", "check the arithmetic of a published table (P, R, F1, MCC, PLCC, deltas, shares)"),
    ("board submit", "board", "pack a run's predictions for a leaderboard, or check such an archive"),
    ("board build", "board", "build a static leaderboard from submitted archives"),
    ("docs", "docs", "list the pages of the documentation, or print one"),
    ("tasks-path", "docs", "print the folder of the task files, for lmms-eval --include_path"),
)
"""Every command: its words, the module of ``siming_tasks.cli`` with the function of its last word, its line of help."""

COMMANDS = {path: line for path, _, line in _TABLE}
"""Every command and its line of help."""

GROUPS = {
    "data": "make, check and publish a data set",
    "run": "prepare, divide and exchange the runs of models",
    "study": "study raters, runs and published tables",
    "board": "submit to a leaderboard and build one",
}

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
    (place,) = (module for known, module, _ in _TABLE if known == path)
    name = path.split()[-1].replace("-", "_")
    module = importlib.import_module(f"siming_tasks.cli.{place}")
    command: Command = getattr(module, name + "_" * keyword.iskeyword(name))
    line = COMMANDS[path]
    command.name, command.short_help = path.split()[-1], line
    if not (command.help or "").startswith(line[:1].upper() + line[1:]):
        command.help = f"{line[:1].upper()}{line[1:]}.\n\n{command.help or ''}".strip()
    return command


def all_commands() -> dict[str, Command]:
    """Every command by its words."""
    return {path: find_command(path) for path in COMMANDS}


class Group(click.Group):
    """A group that imports a command only when it is used or asked for help; without a name it is ``siming`` itself."""

    def __init__(self, group: str = "", **more: Any) -> None:
        text = GROUPS.get(group, "")
        super().__init__(name=group or "siming", help=f"{text[:1].upper()}{text[1:]}.", **more)
        self.prefix = f"{group} " if group else ""
        own = {path.removeprefix(self.prefix): line for path, line in COMMANDS.items() if path.startswith(self.prefix)}
        self.lines = {path.split()[0]: line for path, line in own.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the group's commands, in the order of the table."""
        return list(self.lines)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command, or a group of commands, by its name."""
        if not self.prefix and cmd_name in GROUPS:
            return Group(cmd_name)
        return find_command(self.prefix + cmd_name) if cmd_name in self.lines else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the first word names; an unknown word is refused and the nearest command named."""
        if args[0] not in self.lines and not args[0].startswith("-"):
            there = ", ".join(self.prefix + name for name in self.lines) if self.prefix else "siming --help lists them"
            nearest = self._nearest(args[0])
            way_out = f"did you mean `siming {nearest}`?" if nearest else f"the commands: {there}."
            raise UnknownCommandError(f"there is no command {args[0]!r}; {way_out}", ctx)
        return super().resolve_command(ctx, args)

    def _nearest(self, word: str) -> str | None:
        """The command that was most likely meant: the same word elsewhere, else one that is spelled alike."""
        # of two commands of one name, the first of the table is meant: `build` is `data build`
        words = {path.split()[-1]: path for path in reversed(COMMANDS)} | {path: path for path in COMMANDS} | FORMER
        if self.prefix:
            near = difflib.get_close_matches(word, self.lines, 1)
            return self.prefix + near[0] if near else words.get(word)
        groups = {name: name for name in GROUPS}
        near = [word] if word in words else difflib.get_close_matches(word, [*words, *groups], 1)
        return (words | groups)[near[0]] if near else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from the table alone: nothing is imported."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines.items()))

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The page of help: of everything on one screen, or of the group."""
        if self.prefix:
            super().format_help(ctx, formatter)
            return
        parts: dict[str, dict[str, str]] = {"top": {}, "groups": {}, "help": {}}
        for path, module, line in _TABLE:
            group, _, name = path.rpartition(" ")
            if group:
                names = parts["groups"].get(group)
                parts["groups"][group] = f"{names}, {name}" if names else name
            else:
                parts["help" if module == "docs" else "top"][path] = line
        width = max(map(len, (*parts["top"], *parts["help"]))) + 2
        texts = {
            part: "\n".join(f"  {name:<{width}}{text}" for name, text in rows.items()) for part, rows in parts.items()
        }
        formatter.write(OVERVIEW.format(**texts))


class UnknownCommandError(click.UsageError):
    """A word that is no command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        Its exit code: 0 well, 1 findings or bad data, 2 bad usage (a flag, a word or a SIMING_ variable cannot be
        used), 130 interrupted.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    siming = Group(context_settings={"help_option_names": ["-h", "--help"]})
    siming = click.version_option(__version__, message=f"siming-tasks {__version__}")(siming)
    with safe_terminal():
        try:
            with siming.make_context("siming", words) as context:
                return int(siming.invoke(context) or 0)
        except click.UsageError as error:
            return _refuse_usage(error)
        except click.exceptions.Exit as done:
            return done.exit_code
        except BrokenPipeError:
            return 0
        except KeyboardInterrupt:
            return refusal("siming", "interrupted; run the same command again to go on.", 130)


def _refuse_usage(error: click.UsageError) -> int:
    """Print one sentence about what cannot be used or is missing, and where the flags are listed; 2."""
    path = error.ctx.command_path if error.ctx else "siming"
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        if error.ctx is None or error.ctx.parent is None:
            print(error.format_message(), file=sys.stderr)
            return 2
        known = ", ".join(name for name in COMMANDS if name.startswith(f"{error.ctx.command.name} "))
        return refusal(path, f"a command is missing; the commands: {known}.", 2)
    message = " ".join(error.format_message().split())
    if not isinstance(error, UnknownCommandError | RefusedValueError):
        message = re.sub(r"\. \(Did (.*)\)$", r"; did \1", message)
        message = f"{message[:1].lower()}{message[1:].rstrip('.')} (see {path} --help)"
    return refusal(path, message, 2)
