"""Write docs/reference/commands.md and options.md from the argument parsers and the options: ``[--check]``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from siming_tasks.cli.main import parser
from siming_tasks.options import OPTIONS

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
MADE = "This page is made by `utils/make_reference_pages.py`"

COMMANDS = f"""# The command line

Every command of `siming`. `siming COMMAND --help` prints the same. Words and flags may stand in any order. Exit codes:
0 well, 1 findings or bad data, 2 bad usage, 130 interrupted. {MADE} of the
argument parsers.
"""

OPTIONS_HEAD = f"""# Options and environment variables

lmms-eval has no place for a task's own options, so they are environment variables; commands of `siming` take the flag
beside them, which goes before the variable. A value that cannot be used stops the command, and a variable that begins
with `SIMING_` and is none of these is warned of. What changes what is shown or how it is scored is recorded in the
results. {MADE} of `siming_tasks/options.py`.

| variable | flag of `siming` | default | meaning |
|---|---|---|---|
"""

CHANGES = {
    "data": "which exams",
    "place": "where files lie, what is refused or told beside",
    "shown": "what a model is shown",
    "scored": "how its answers are scored",
    "asking": "how lmms-eval asks (no command of `siming` asks a model, hence no flag)",
}


def cell(text: str) -> str:
    """Text in a cell of a table."""
    return text.replace("|", "\\|").replace("<", "\\<").replace("\n", " ")


def words(action: argparse.Action) -> str:
    """How an argument is written, as code."""
    name = action.metavar or (action.choices and "{" + ",".join(map(str, action.choices)) + "}") or action.dest.upper()
    value = " ".join(name) if isinstance(name, tuple) else str(name)
    if not action.option_strings:
        return f"`{cell(value)}`"
    return ", ".join(f"`{flag}{'' if action.nargs == 0 else cell(' ' + value)}`" for flag in action.option_strings)


def told(command: argparse.ArgumentParser) -> list[argparse.Action]:
    """The arguments that help shows: old names of flags are accepted, and not told."""
    return [action for action in command._actions if action.help != argparse.SUPPRESS]


def usage(command: argparse.ArgumentParser) -> str:
    """One line: the command, its words, and that there are flags."""
    found = []
    for action in told(command):
        if not action.option_strings:
            name = words(action).strip("`").replace("\\|", "|")
            found.append({"?": f"[{name}]", "+": f"{name}...", "*": f"[{name}...]"}.get(str(action.nargs), name))
    flags = any(action.option_strings and action.dest != "help" for action in told(command))
    required = [words(action).strip("`") for action in told(command) if action.option_strings and action.required]
    return " ".join([command.prog, *found, *required, *(["[FLAGS]"] if flags else [])])


def meaning(action: argparse.Action) -> str:
    """The help of an argument, with its default where that says something."""
    text = argparse.HelpFormatter("")._expand_help(action) if action.help else ""
    said = "default" in text or not action.option_strings or action.default in (None, "", False, [])
    return cell(text if said or action.nargs == 0 else f"{text} (default: {action.default})".strip())


def commands() -> Iterator[str]:
    """The section of every subcommand."""
    (choices,) = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]
    helps = {choice.dest: choice.help for choice in choices._choices_actions}
    yield COMMANDS
    for name, command in choices.choices.items():
        yield f"## siming {name}\n\n{sentence(helps[name])}\n"
        yield f"```\n{usage(command)}\n```\n"
        if command.description:
            yield " ".join(command.description.split()) + "\n"
        rows = [f"| {words(action)} | {meaning(action)} |" for action in told(command) if action.dest != "help"]
        if rows:
            yield "| | |\n|---|---|\n" + "\n".join(rows) + "\n"


def sentence(text: str | None) -> str:
    """A help line as a sentence."""
    text = (text or "").strip()
    return f"{text[:1].upper()}{text[1:]}."


def options() -> Iterator[str]:
    """The table of options, then what each kind changes and which other variables count."""
    yield OPTIONS_HEAD + "".join(
        f"| `{option.variable}` |{f' `{option.flag}`' if option.has_flag else ''} | {option.default_text} "
        f"| {option.help} |\n"
        for option in OPTIONS.values()
    )
    yield "| what depends on it | variables |\n|---|---|"
    for change, text in CHANGES.items():
        names = ", ".join(f"`{option.variable}`" for option in OPTIONS.values() if option.changes == change)
        yield f"| {text} | {names} |"
    yield OTHERS


OTHERS = """
## Variables of others that count

| variable | of | what it does here |
|---|---|---|
| `LMMS_IMAGE_ENCODE_FORMAT`, `LMMS_IMAGE_JPEG_QUALITY` | lmms-eval | how images are sent |
| `LMMS_VIDEO_DECODE...` | lmms-eval | how its models read a video file; recorded in the results |
| `HF_TOKEN`, `HF_HOME`, `HF_ENDPOINT`, `HF_HUB_OFFLINE` | huggingface_hub | how `SIMING_DATA=org/name` is fetched |
| `XDG_CACHE_HOME` | Linux desktops | where the cache folder lies, unless `SIMING_CACHE` says |
"""


PAGES = {"commands.md": commands, "options.md": options}


def page(name: str) -> str:
    """A page as it should be."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(PAGES[name]()).rstrip() + "\n")


if __name__ == "__main__":
    stale = [name for name in PAGES if not (FOLDER / name).exists() or (FOLDER / name).read_text("utf-8") != page(name)]
    if "--check" in sys.argv:
        sys.exit(f"not current: {', '.join(stale)}" if stale else 0)
    for name in stale:
        (FOLDER / name).write_text(page(name), encoding="utf-8")
