"""Command lines read as far as click reads them: for tests that run nothing."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import click

from siming_tasks.cli.main import COMMANDS, find_command

__all__ = ["commands_in", "example", "find_words", "flags", "inline_commands", "parse"]


def find_words(arguments: list[str]) -> tuple[str, list[str]]:
    name = " ".join(arguments[:2])
    return (name, arguments[2:]) if name in COMMANDS else (arguments[0], arguments[1:])


def flags(name: str) -> set[str]:
    options = [param for param in find_command(name).params if isinstance(param, click.Option)]
    return {flag for param in options for flag in param.opts} | {"--help"}


def example(name: str) -> list[str]:
    (line,) = re.findall(r"^Example: siming (.*)$", find_command(name).epilog or "", re.MULTILINE)
    assert line.startswith(name)
    return shlex.split(line)[len(name.split()) :]


def parse(arguments: list[str]) -> dict[str, Any]:
    """The values of a command line's words and flags.

    Raises:
        KeyError: there is no such command.
        click.UsageError: a flag or a word is wrong or missing.
    """
    name, rest = find_words(arguments)
    with find_command(name).make_context(name, rest) as context:
        return context.params


def commands_in(text: str) -> list[list[str]]:
    """The command lines of ``siming`` in a page's blocks and tables; a synopsis counts with all its flags."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [
        line for kind, block in blocks if kind in ("", "sh", "text") for line in block.replace("\\\n", " ").splitlines()
    ]
    named = re.findall(r"^\| .* \| `(siming [^`]* [^`]*)` \|$", text, re.MULTILINE)
    lines += named
    found = []
    for line in lines:
        if match := re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )*siming (?=[a-z-]+(?: |$))(?![a-z -]+: )(.*)", line):
            words = shlex.split(re.sub(r"\$\w+|\b[NX]\b", "1", re.sub(r"[][]", "", match[1])), comments=True)
            end = next((at for at, word in enumerate(words) if word in (">", "|", "&&", ";")), None)
            bare = " ".join(words[:end]) in COMMANDS and line in named  # a table that names a command
            found.extend([] if bare else [words[:end]])
    return found


def inline_commands(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Every mention of ``siming COMMAND`` in a text: the mention, the command, and the flags behind it.

    Raises:
        KeyError: there is no such command or group.
    """
    groups = {name.split()[0] for name in COMMANDS if " " in name}
    for match in re.finditer(r"(?<=`)siming ([a-z][a-z-]*(?: [a-z][a-z-]*)?)([^`\n]*)", text):
        words = match[1].split()
        name = " ".join(words) if " ".join(words) in COMMANDS else words[0]
        if name not in COMMANDS and not (name in groups and len(words) == 1):
            raise KeyError(f"{match[0]!r} names no command")
        yield match[0], name, re.findall(r"(?<![\w-])--[a-z][\w-]*", match[2])
