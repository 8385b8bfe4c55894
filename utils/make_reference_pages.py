"""Write docs/reference/commands.md from the commands and the options: ``[--check]``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import click
from made_pages import wrapped, write

from siming_tasks.cli.main import COMMANDS, find_command
from siming_tasks.cli.parameters import MEDIA_OPTIONS, OptionFlag
from siming_tasks.options import OPTIONS

CONTEXT = click.Context(click.Command("siming"))
TOGETHER = {
    "*frame options*": [f"`{OPTIONS[name].flag}`" for name in MEDIA_OPTIONS],
    "*scoring options*": ["`--data`", "`--split`", "`--mapping`", "`--rater`", "`--labels`"],
}
"""Flags that are named together where a command has all of them."""
TELLING = 6
"""Words beyond which the help of an argument says more than its name."""

HEAD = """# Commands and options

Look here for a command, a flag or a variable of `siming`. To evaluate a model, run `lmms-eval`.

```sh
siming data check --help       # all flags, and an example
siming data check exams --quick
```

Exit codes: 0 success, 1 problems found, 2 usage error, 130 interrupted.

## Flags that several commands share

After *Also*, each command names further flags: the shared ones of this list, [options](#options), and flags whose name
explains them.
"""

OPTIONS_HEAD = """
## Options

Set an option by its variable, or by a command's flag, which wins. An unusable value stops the command, an unknown
`SIMING_` variable gives a warning. *Controls* are not part of the benchmark ([altered input](../howto/controls.md),
[other prompts](answer-formats.md)).

| variable | flag | default | meaning |
|---|---|---|---|"""


def written(param: click.Parameter) -> str:
    """The way an argument is written, as code."""
    value = param.make_metavar(CONTEXT).replace("INTEGER RANGE", "N").replace("FLOAT RANGE", "X")
    if isinstance(param, click.Argument):
        return f"`{value}`"
    flag = isinstance(param, click.Option) and param.is_flag
    return ", ".join(f"`{name}`" if flag else f"`{name} {value}`" for name in param.opts)


def meaning(param: click.Parameter) -> str:
    """The help of an argument, with its default where that says something."""
    text = getattr(param, "help", None) or ""
    default = param.default if isinstance(param, click.Option) and not param.is_flag else None
    text += " (required)" if isinstance(param, click.Option) and param.required else ""
    told = isinstance(default, str | int | float) and default and "default" not in text
    return (f"{text} (default: {default})" if told else text).replace("<", "\\<")


def entries(params: Sequence[click.Parameter]) -> list[str]:
    """Entries of the parameters; those with the same meaning share one."""
    texts: dict[str, list[click.Parameter]] = {}
    for param in params:
        texts.setdefault(meaning(param), []).append(param)
    return [wrapped(f"* {', '.join(map(written, group))}: {text}") for text, group in texts.items()]


def is_told(param: click.Parameter) -> bool:
    """True if the page explains an argument: its help says more than its name."""
    if (isinstance(param, click.Option) and param.required) or isinstance(param.type, click.Choice):
        return True
    only_named = meaning(param).startswith(f"{param.opts[0].strip('-')} of ")
    return len(meaning(param).split()) > TELLING and not only_named


def commands() -> Iterator[str]:
    """Flags that several commands share, then the section of every command."""
    found = {name: find_command(name) for name in COMMANDS}
    own = {name: [p for p in c.params if not isinstance(p, OptionFlag)] for name, c in found.items()}
    lines = Counter(entries([p])[0] for params in own.values() for p in params if isinstance(p, click.Option))
    shared = sorted(line for line, count in lines.items() if count > 1)
    yield "\n".join([HEAD, *shared, *(f"* {name}: {', '.join(flags)}" for name, flags in TOGETHER.items()), ""])
    for name, command in found.items():
        words = [param.make_metavar(CONTEXT) for param in own[name] if isinstance(param, click.Argument)]
        yield f"## siming {' '.join([name, *words])}\n\n{command.short_help}\n"
        alone = [param for param in own[name] if entries([param])[0] not in shared]
        told = [param for param in alone if is_told(param)]
        yield "".join(f"{line}\n" for line in entries(told))
        flags_only = [param for param in command.params if param not in told and isinstance(param, click.Option)]
        others = [f"`{param.opts[0]}`" for param in flags_only]
        for title, flags in TOGETHER.items():
            if set(flags) <= set(others):
                others = [title, *(flag for flag in others if flag not in flags)]
        if others:
            yield wrapped(f"Also: {', '.join(others)}") + "\n"


def options() -> Iterator[str]:
    """The table of the options, then which other variables count."""
    yield OPTIONS_HEAD
    for option in OPTIONS.values():
        flag = f"`{option.flag} {option.metavar}`".replace("|", "\\|") if option.changes != "asking" else ""
        yield f"| `{option.variable}` | {flag} | {option.default_text} | {option.help} |"
    yield OTHERS


OTHERS = """
### Variables of other programs

* `LMMS_VIDEO_DECODE...`: how lmms-eval's models read a video file; recorded in the results
* `HF_TOKEN`, `HF_HOME`, `HF_ENDPOINT`, `HF_HUB_OFFLINE`: how `SIMING_DATA=org/name` is fetched
* `XDG_CACHE_HOME`: place of the cache folder, unless `SIMING_CACHE` is set
"""


def page() -> str:
    """The page as it should be."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join([*commands(), *options()]).rstrip() + "\n")


if __name__ == "__main__":
    write({"commands.md": page()})
