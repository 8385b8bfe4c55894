"""What every subcommand's parser has in common: words in any order, checked values, refusals of one sentence."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from siming_tasks.options import Kind, Refused

__all__ = ["Checked", "Command", "Parser"]


class Parser(argparse.ArgumentParser):
    """A parser that refuses in one sentence and exits with 2."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where the flags are listed."""
        self.exit(2, f"{self.prog}: {message.removeprefix('argument ')} (see {self.prog} --help)\n")


class Command(Parser):
    """The parser of a subcommand: flags may stand between words (``siming score exams --json run``)."""

    _mixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The arguments that are known, and the rest.

        argparse gives an optional word nothing at all if a flag follows the word before it; its way of parsing words
        and flags apart does not have that fault, but has to be asked for.
        """
        if self._mixing:
            return super().parse_known_args(args, namespace)
        self._mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixing = False


class Checked(argparse.Action):
    """A flag or word whose text is read by a :class:`siming_tasks.options.Kind`; a refusal names it and the text."""

    def __init__(self, option_strings: Any, dest: str, *, kind: Kind, metavar: str | None = None, **rest: Any) -> None:
        super().__init__(option_strings, dest, metavar=metavar or kind.metavar, **rest)
        self.kind = kind

    def __call__(self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None) -> None:
        """Set the value, or refuse it."""
        try:
            setattr(namespace, self.dest, self.kind.read(values))
        except Refused as refused:
            parser.exit(2, f"{parser.prog}: {option or self.metavar} {values!r} {refused}\n")
