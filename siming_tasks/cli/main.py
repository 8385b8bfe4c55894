"""Entry point of ``siming``: finds the command that is meant, and prints the page of help."""

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
from siming_tasks.cli.command_table import COMMANDS, GROUPS, TABLE
from siming_tasks.cli.parameters import Command, RefusedValueError, refusal
from siming_tasks.cli.terminal import safe_terminal

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
    (row,) = (row for row in TABLE if row.words == path)
    name, line = path.split()[-1].replace("-", "_"), row.line
    module = importlib.import_module(f"siming_tasks.cli.{row.module}")
    command: Command = getattr(module, name + "_" * keyword.iskeyword(name))
    command.name, command.short_help, command.row = path.split()[-1], line, row
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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The words; ``help data build`` means ``data build --help``."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

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
            nearest = self._nearest(args)
            way_out = f"did you mean `siming {nearest}`?" if nearest else f"the commands: {there}."
            raise UnknownCommandError(f"there is no command {args[0]!r}; {way_out}", ctx)
        return super().resolve_command(ctx, args)

    def _nearest(self, args: Sequence[str]) -> str | None:
        """The command that was most likely meant: the same word elsewhere, else one that is spelled alike."""
        # of two commands of one name, the first of the table is meant: `build` is `data build`
        words = {path.split()[-1]: path for path in reversed(COMMANDS)} | {path: path for path in COMMANDS}
        word = args[0].lower().replace("_", "-")
        if self.prefix:
            near = difflib.get_close_matches(word, self.lines, 1)
            return self.prefix + near[0] if near else words.get(word)
        if word in words:
            return words[word]
        spaced = word.replace("-", " ")  # study-raters; two words are nearer to `data check` than one to `data`
        whole = [" ".join([word, *args[1:2]]), spaced, " ".join(reversed(spaced.split()))]
        for text in whole:
            if " " in text and (
                near := difflib.get_close_matches(text, [path for path in COMMANDS if " " in path], 1, 0.8)
            ):
                return near[0]
        groups = {name: name for name in GROUPS}
        near = difflib.get_close_matches(word, [*words, *groups], 1)
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
        for row in TABLE:
            group, _, name = row.words.rpartition(" ")
            if group:
                names = parts["groups"].get(group)
                parts["groups"][group] = f"{names}, {name}" if names else name
            else:
                parts["help" if row.module == "docs" else "top"][row.words] = row.line
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
            with siming.make_context("siming", words, obj=tuple(words)) as context:
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
        message = f"{message[:1].lower()}{message[1:].rstrip('.')}"
        if isinstance(error, click.MissingParameter) and error.ctx and isinstance(error.ctx.command, Command):
            message += f"; for example: {error.ctx.command.example}"
        message += f" (see {path} --help)"
    return refusal(path, message, 2)
