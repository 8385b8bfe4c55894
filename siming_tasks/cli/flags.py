"""The flags of the options: made of the fields of :class:`siming_tasks.options.Options`, the same for every command."""

from __future__ import annotations

import argparse
from dataclasses import replace

from siming_tasks.cli.arguments import Checked
from siming_tasks.options import OPTIONS, Option, Options

__all__ = ["SCORED", "add_options", "options_from"]

SCORED = tuple(name for name, option in OPTIONS.items() if option.changes == "scored")
"""The options that say how answers are scored."""


def add_options(command: argparse.ArgumentParser, *names: str) -> None:
    """Let a command take these options; :func:`options_from` then finds them."""
    for name in names:
        option = OPTIONS[name]
        command.add_argument(option.flag, dest=name, action=Checked, kind=option.kind, help=_help(option))
    command.set_defaults(option_names=(*(command.get_default("option_names") or ()), *names))


def _help(option: Option) -> str:
    text = f"{option.help} (default: {option.variable}, else {option.default_text})"
    return text.replace("`", "").replace("%", "%%")


def options_from(arguments: argparse.Namespace) -> Options:
    """The options of the environment, overruled by the flags that were given.

    Raises:
        OptionsError: a variable has an unusable value.
    """
    given = {name: getattr(arguments, name) for name in arguments.option_names}
    return replace(Options.from_env(), **{name: value for name, value in given.items() if value is not None})
