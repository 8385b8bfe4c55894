"""Write docs/reference/commands.md from the commands and the options: ``[--check]``."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from siming_tasks.cli.main import COMMANDS, find_command
from siming_tasks.cli.parameters import OptionFlag
from siming_tasks.options import OPTIONS, Option

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"
CONTEXT = click.Context(click.Command("siming"))

COMMANDS_HEAD = """# Commands and options

Every command of `siming`; evaluate a model with `lmms-eval`. Words and flags may stand in any order. Flags that many
commands share stand here and under [options](#options). Exit codes: 0 success, 1 problems found, 2 usage error, 130
interrupted. `utils/make_reference_pages.py` makes this page.
"""

OPTIONS_HEAD = """
## Options

Environment variables; commands of `siming` take the flag beside them, which goes before the variable. A value that
cannot be used stops the command, and a `SIMING_` variable that is none of these is warned of.

| variable | flag of `siming` | default | meaning |
|---|---|---|---|
"""


def cell(text: str) -> str:
    """Text in a cell of a table."""
    return text.replace("|", "\\|").replace("<", "\\<").replace("\n", " ")


def written(param: click.Parameter) -> str:
    """The way an argument is written, as code."""
    value = param.make_metavar(CONTEXT).replace("INTEGER RANGE", "N").replace("FLOAT RANGE", "X")
    if isinstance(param, click.Argument):
        return f"`{value}`"
    flag = isinstance(param, click.Option) and param.is_flag
    return ", ".join(f"`{name}`" if flag else f"`{name} {value}`" for name in param.opts)


def usage(name: str, command: click.Command) -> str:
    """One line: the command, its words, the flags that are required, and that there are others."""
    words = [param.make_metavar(CONTEXT) for param in command.params if isinstance(param, click.Argument)]
    flags = [param for param in command.params if isinstance(param, click.Option)]
    required = [written(param).strip("`") for param in flags if param.required]
    return " ".join(["siming", name, *words, *required, *(["[FLAGS]"] if flags else [])])


def meaning(param: click.Parameter) -> str:
    """The help of an argument, with its default where that says something."""
    text = getattr(param, "help", None) or ""
    default = param.default if isinstance(param, click.Option) and not param.is_flag else None
    told = isinstance(default, str | int | float) and default and "default" not in text
    return (f"{text} (default: {default})" if told else text).replace("<", "\\<")


def commands() -> Iterator[str]:
    """Flags that several commands share, then the section of every command."""
    yield COMMANDS_HEAD
    found = {name: find_command(name) for name in COMMANDS}
    lines = {name: [(p, f"* {written(p)}: {meaning(p)}") for p in c.params] for name, c in found.items()}
    own = Counter((p.opts[0], line) for rows in lines.values() for p, line in rows if not isinstance(p, OptionFlag))
    usual = {flag: line for (flag, line), count in reversed(own.most_common()) if count > 1 and flag[0] == "-"}
    shared = sorted(usual.values())
    yield "\n".join(shared) + "\n"
    for name, command in found.items():
        yield f"## siming {name}\n\n`{usage(name, command)}`\n\n{' '.join((command.help or '').split())}\n"
        alone = [line for param, line in lines[name] if not isinstance(param, OptionFlag) and line not in shared]
        yield "".join(f"{line}\n" for line in alone)
        if others := [param.opts[0] for param, line in lines[name] if isinstance(param, OptionFlag) or line in shared]:
            yield f"Shared: {', '.join(f'`{flag}`' for flag in others)}\n"


def flag_of(option: Option) -> str:
    """The flag of an option with the values that it accepts, as code; empty where it has none."""
    return f"`{option.flag} {cell(option.metavar)}`" if option.changes != "asking" else ""


def options() -> Iterator[str]:
    """The table of options, then which other variables count."""
    rows = ((f"`{option.variable}`", flag_of(option), option.default_text, option.help) for option in OPTIONS.values())
    yield OPTIONS_HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows).replace("|  |", "| |")
    yield OTHERS


OTHERS = """
### Variables of others that count

| variable | of | what it does here |
|---|---|---|
| `LMMS_IMAGE_ENCODE_FORMAT`, `LMMS_IMAGE_JPEG_QUALITY` | lmms-eval | nothing: stored files are sent as they are |
| `LMMS_VIDEO_DECODE...` | lmms-eval | how its models read a video file; recorded in the results |
| `HF_TOKEN`, `HF_HOME`, `HF_ENDPOINT`, `HF_HUB_OFFLINE` | huggingface_hub | how `SIMING_DATA=org/name` is fetched |
| `HF_UPDATE_DOWNLOAD_COUNTS` | datasets | nothing: while tasks of this suite are loaded, `datasets` counts no use |
| `XDG_CACHE_HOME` | Linux desktops | where the cache folder lies, unless `SIMING_CACHE` says |
"""


def page() -> str:
    """The page as it should be."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join([*commands(), *options()]).rstrip() + "\n")


if __name__ == "__main__":
    is_current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
    if "--check" in sys.argv:
        sys.exit(0 if is_current else "docs/reference/commands.md is not current")
    PAGE.write_text(page(), encoding="utf-8")
