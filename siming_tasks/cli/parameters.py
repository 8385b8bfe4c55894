"""Flags and words of the commands: declared as defaults of a function's parameters, checked by their kinds.

Click is used directly, not through typer: the flags are made from a table of options at run time rather than from a
function's signature, and typer carries a private copy of click whose groups and errors have no public name.
"""

from __future__ import annotations

import inspect
import math
import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from siming_tasks.cli.command_table import CommandRow
from siming_tasks.cli.terminal import say, say_next
from siming_tasks.common.errors import OptionsError, SimingError, system_message
from siming_tasks.common.input_kinds import kind_of
from siming_tasks.options import OPTIONS, Options
from siming_tasks.tasks import setting_named

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.results.discovery import RunSource

SCORING_OPTIONS = tuple(name for name, option in OPTIONS.items() if option.changes == "scored")
"""The options that say how answers are scored."""

MEDIA_OPTIONS = ("frames", "clip_frames", "frame_size", "clip_density", "sampler")
"""The options that say which frames of the videos a model is shown."""


class RefusedValueError(click.UsageError):
    """A value that is refused; the message is the whole sentence."""


class OptionType(click.ParamType[Any]):
    """Value of an option, read and refused by :class:`siming_tasks.options.Option`."""

    def __init__(self, name: str) -> None:
        self.option, self.name = OPTIONS[name], OPTIONS[name].metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value of a text; a default, which is None, stays as it is."""
        try:
            return self.option.read(value, self.option.flag) if isinstance(value, str) else value
        except OptionsError as error:
            raise RefusedValueError(str(error), ctx) from None


class OptionFlag(click.Option):
    """The flag of one field of :class:`siming_tasks.options.Options`."""

    def __init__(self, name: str) -> None:
        option = OPTIONS[name]
        text = f"{option.help} (default: {option.variable}, else {option.default_text})".replace("`", "")
        super().__init__([option.flag, name], type=OptionType(name), metavar=option.metavar, help=text)


class Setting(click.ParamType[Any]):
    """Name of a setting, as it is or as its task's in lmms-eval."""

    name = "setting"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name; an unknown one is refused and the nearest named."""
        try:
            return setting_named(value)
        except OptionsError as error:
            raise RefusedValueError(str(error), ctx) from None


class Number(click.FloatRange):
    """A number within bounds; never NaN, which is within all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number of a text."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


class OutputPath(click.ParamType[Any]):
    """File or folder that is written: none yet, or one of that kind; a link stands for what it leads to.

    Refused is what a new file or folder must not take the place of (a pipe, a socket, a device, a folder in place of a
    file), and a place where none can be made. Nothing is written yet.
    """

    name = "path"

    def __init__(self, folder: bool) -> None:
        self.folder = folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of a text, or what it leads to."""
        if not isinstance(value, str):
            return value
        try:
            path = Path(os.path.realpath(value)) if os.path.islink(value) else Path(value)
            above = next((parent for parent in path.absolute().parents if os.path.lexists(parent)), path)
            mode = 0
            with suppress(FileNotFoundError, NotADirectoryError):
                mode = path.stat().st_mode
        except (OSError, ValueError) as error:  # too long, a circle of links, a NUL; the current folder is gone
            self.fail(f"{value!r} cannot be used: {getattr(error, 'strerror', None) or error}.", param, ctx)
        is_folder = stat.S_ISDIR(mode)
        if not value or value == "-":
            self.fail(f"{value!r} is no name of a {'folder' if self.folder else 'file'}.", param, ctx)
        if mode and not is_folder and not stat.S_ISREG(mode):
            self.fail(f"{value!r} is a pipe, a socket or a device, and would be replaced.", param, ctx)
        if mode and is_folder != self.folder:
            what = "a folder; name a file in it" if is_folder else "a file; name a folder"
            self.fail(f"{value!r} is {what}.", param, ctx)
        if not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
            what = "is not writable" if above.is_dir() else "is no folder"
            self.fail(f"{value!r} cannot be made: {above} {what}. Choose another place.", param, ctx)
        return path


SETTING = Setting()
PROPORTION, SHARE, ABOVE_ZERO = Number(0, 1, True, True), Number(0, 1, True), Number(0, min_open=True)
NEW_FILE, NEW_FOLDER = OutputPath(False), OutputPath(True)
"""Types of words and flags that name what a command writes."""


@dataclass(frozen=True)
class DatasetChoice:
    """The data set that a command is about, or a part of it, as its word, its flags and the environment name it.

    Attributes:
        word: the word DIR, for the commands that take one.
        data: the value of ``--data``.
        labels: the value of ``--labels``: the label file of a data set whose labels are withheld.
        options: the options of the command, for SIMING_DATA and the cache.
    """

    word: str | None
    data: str | None
    labels: Path | None
    options: Options

    def from_words(self, command: str, words: Sequence[Path]) -> tuple[DatasetChoice, Sequence[Path]]:
        """This with the first word as DIR where that is a data set, or not there; and the words of a run behind it.

        Raises:
            OptionsError: there is no word of a run, or another word is a data set: names the right order.
        """
        kinds = [kind_of(word) for word in words]
        if kinds == ["data set"]:
            text = f"PREDICTIONS {words[0]} is a data set, and a run is wanted. Give the predictions after it."
            raise OptionsError(text)
        if "data set" in kinds[1:] and kinds[0] != "data set":
            data = words[kinds.index("data set")]
            right = shlex.join([*command.split(), str(data), *(str(word) for word in words if word != data)])
            raise OptionsError(f"{data} is a data set and {words[0]} is a run. Swap them: {right}")
        if len(words) > 1 and (kinds[0] == "data set" or not words[0].expanduser().exists()):
            return replace(self, word=str(words[0])), words[1:]
        return self, words

    def folder(self, runs: Sequence[RunSource] = (), *, must_exist: bool = True) -> Path:
        """The folder of the data set: DIR or ``--data``, else SIMING_DATA, else what the runs name, else the demo.

        Args:
            runs: the runs that the command reads.
            must_exist: False returns a named path although nothing is there, for a command that reports this itself.

        Raises:
            OptionsError: DIR and ``--data`` are both given.
            DataError: there is no such folder, or it cannot be fetched.
        """
        from siming_tasks.data import is_hub_name, resolve_dataset
        from siming_tasks.results.discovery import dataset_folder

        if self.word is not None and self.data is not None:
            raise OptionsError(f"DIR {self.word!r} and --data {self.data!r} both name the data set; give one.")
        name, text = ("DIR", self.word) if self.word is not None else ("--data", self.data)
        if text is None:
            if not self.options.data and (folder := dataset_folder(runs)):
                say(f"Data set: {folder}, which the run names.", error=True)
                return folder
            return resolve_dataset(self.options)
        if not text:
            raise OptionsError(f"{name} '' must not be empty.")
        if not must_exist and not is_hub_name(text):
            return Path(text).expanduser()
        return resolve_dataset(replace(self.options, data=text), name)

    def open(self, runs: Sequence[RunSource] = (), *, media: bool = False, reference: bool = False) -> Dataset:
        """The data set in :meth:`folder`, with the labels of ``--labels``; of a split the part that is asked for.

        Args:
            runs: as in :meth:`folder`.
            media: whether the videos must be there and match the recorded digest.
            reference: whether the command needs the points of ``options.rater``.

        Raises:
            DataError: no usable data set, a label file of another one, no such split, or (``reference``) no points of
                the rater.
        """
        from siming_tasks.data import check_reference, open_dataset, verify_media, with_labels
        from siming_tasks.data.splits import take_part

        dataset = open_dataset(self.folder(runs), media=media)
        if media:
            verify_media(dataset, self.options.cache_dir)
        if self.labels:
            dataset = with_labels(dataset, self.labels)
        parts = {source.part for source in runs}
        named = parts.pop() if len(parts) == 1 else ""
        if named and not self.options.split:
            say(f"Split: {named}, which the run names.", error=True)
        dataset = take_part(dataset, self.options.split or named)
        if reference:
            check_reference(dataset, self.options.rater)
        return dataset


class Command(click.Command):
    """A command whose function gets ``options`` and ``chosen`` in place of the single flags that they are made of.

    Its function returns the exit code, or None for 0. Deliberate errors become one message and an exit code.
    """

    row: CommandRow

    @property
    def option_names(self) -> tuple[str, ...]:
        """The fields of :class:`siming_tasks.options.Options` that the command takes as flags."""
        return tuple(param.name for param in self.params if isinstance(param, OptionFlag) and param.name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words and flags; a refusal always knows of which command it is."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> int:
        """Run the command and return its exit code."""
        try:
            given, ctx.params = ctx.params, self.gather(ctx.params)
            code = int(super().invoke(ctx) or 0)
            if not code and not given.get("as_json") and sys.stderr.isatty():
                chosen = ctx.params.get("chosen")
                data = given.get("dir") or (chosen and (chosen.data or chosen.options.data))
                say_next(next_step(self.row.then, given | {"dir": data}), ctx)
            return code
        except SimingError as error:
            return refusal(ctx.command_path, str(error), 2 if isinstance(error, OptionsError) else 1)
        except ModuleNotFoundError as error:
            module = (error.name or "").partition(".")[0]
            if module not in _declared_modules():
                raise
            way_out = f"needs {module}, which a light install leaves out; `pip install siming-tasks` adds it."
            return refusal(ctx.command_path, way_out, 2)
        except BrokenPipeError:
            raise
        except OSError as error:
            if not (message := system_message(error)):
                raise
            return refusal(ctx.command_path, f"{error.filename}: {message}" if error.filename else message, 1)
        except KeyboardInterrupt:
            return refusal(ctx.command_path, "interrupted; run the same command again to go on.", 130)

    def gather(self, values: dict[str, Any]) -> dict[str, Any]:
        """The arguments of the command's function: the flags that make up ``options`` and ``chosen`` put together.

        Raises:
            OptionsError: an environment variable has an unusable value.
        """
        if not self.option_names:
            return values
        values = dict(values)
        flags = {name: values.pop(name) for name in self.option_names}
        options = replace(Options.from_env(), **{name: value for name, value in flags.items() if value is not None})
        if "data" in flags:
            word, labels = values.pop("dir", None), values.pop("labels", None)
            options = options if "split" in flags else replace(options, split="")
            values["chosen"] = DatasetChoice(word, flags["data"], labels, options)
        return {**values, "options": options}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command's own flags, then the flags of options by what they are about."""
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Flags", *_ABOUT.values())}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                about = _ABOUT[OPTIONS[str(param.name)].changes] if isinstance(param, OptionFlag) else "Flags"
                sections[about].append(record)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """An example, and what usually follows."""
        words = {str(param.name): str(param.metavar or param.name).upper().strip("[].") for param in self.params}
        words |= {"dir": "DIR"}
        for title, text in (("Example", self.example), ("Next", next_step(self.row.then, words))):
            formatter.write(f"\n{title}: {text}\n")

    @property
    def example(self) -> str:
        """A usual call."""
        return f"siming {self.row.words} {self.row.example}".strip()


_ABOUT = {
    "data": "Data set",
    "shown": "Frames and prompts",
    "scored": "Scoring",
    "place": "Files",
}
"""Headings of the flags of options, by what they change."""


def next_step(then: str, values: Mapping[str, Any]) -> str:
    """The command that usually follows: ``{name}`` is replaced, and a flag without a value is left out."""

    def filled(match: re.Match[str]) -> str:
        value = values.get(match["name"])
        texts = [Path(each).as_posix() if isinstance(each, Path) else str(each)
                 for each in (value if isinstance(value, tuple) else (value,))]  # fmt: skip
        return (match["flag"] or "") + shlex.join(texts) if value not in (None, "", ()) else ""

    return re.sub(r"(?P<flag> --[\w-]+ )?\{(?P<name>\w+)\}", filled, then)


def _declared_modules() -> set[str]:
    """Modules of the libraries that the package declares, as far as they have the library's name."""
    from importlib.metadata import requires

    names = (re.match(r"[\w.-]+", line) for line in requires("siming-tasks") or () if "extra ==" not in line)
    return {name[0].replace("-", "_").lower() for name in names if name}


def refusal(path: str, message: str, code: int) -> int:
    """Print a refusal on standard error and return its exit code."""
    click.echo(f"{path}: {message}", err=True)
    return code


def command(description: str = "") -> Callable[[Callable[..., Any]], Command]:
    """A decorator that makes a command of a function; its one-line help stands in :mod:`siming_tasks.cli.main`.

    The defaults of the function's parameters declare its words and flags, in the order of the help: each is made by
    :func:`word`, :func:`option`, :func:`several`, :func:`switch`, :func:`dataset_flags` or :func:`option_flags`::

        @command()
        def steps(chosen: DatasetChoice = dataset_flags(word=True), top: int = option("N", "how many", int, 5)):
            print(*chosen.open().rubric.steps[:top])
    """

    def make(function: Callable[..., Any]) -> Command:
        declared = inspect.signature(function).parameters
        params = [param for name, parameter in declared.items() for param in parameter.default(name)]

        def run(**values: Any) -> Any:
            return function(**{name: values[name] for name in declared})  # `chosen` alone needs no `options`

        return Command(function.__name__, callback=run, params=params, help=description)

    return make


def option(metavar: str, help: str, kind: Any = None, default: Any = None, *, flag: str = "", **how: Any) -> Any:
    """Declare a flag with a value: ``--price-in`` of the parameter ``price_in``.

    Args:
        metavar: what stands for the value in the help; empty for words to choose from.
        help: its line of help.
        kind: of its values: a tuple of words, or a type of click.
        default: its value if it is not given.
        flag: its name, or several after blanks, if it is not the parameter's.
        how: further facts for :class:`click.Option`: ``nargs``, ``required``.
    """
    how |= {"metavar": metavar or None, "type": _type(kind), "help": help or None}
    how |= {} if default is None else {"default": default}
    return lambda name: [click.Option([*(flag.split() or [_flag(name)]), name], **how)]


def several(metavar: str, help: str, kind: Any = None, **how: Any) -> Any:
    """Declare a flag that may be repeated; its parameter is a tuple."""
    return option(metavar, help, kind, multiple=True, **how)


def switch(help: str, flag: str = "") -> Any:
    """Declare a flag without a value, which is False unless it is given."""
    return lambda name: [click.Option([flag or _flag(name), name], is_flag=True, help=help)]


def word(metavar: str, help: str, kind: Any = None) -> Any:
    """Declare a word; ``[WORD]`` may be left out, and of ``WORD...`` there may be several."""
    how: dict[str, Any] = {"nargs": -1 if metavar.endswith("...") else 1, "required": not metavar.startswith("[")}
    how["metavar"] = metavar or None
    return lambda name: [click.Argument([name], type=_type(kind), help=help, **how)]


def option_flags(*names: str) -> Any:
    """Declare the flags of these options; the parameter must be called ``options``."""
    return lambda name: [OptionFlag(field) for field in names]


def dataset_flags(*, word: bool = False, labels: bool = False, split: bool = True) -> Any:
    """Declare ``--data`` and ``--split``; the parameter must be called ``chosen``.

    Args:
        word: whether the word DIR in front of the other words names the data set, too.
        labels: whether the command takes ``--labels``, a file of labels that are withheld.
        split: False for a command that is always about the whole folder.
    """

    def at_most_one(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> str | None:
        if len(values) > 1:
            raise click.UsageError(f"unexpected extra word {values[1]!r}", ctx)
        return values[0] if values else None

    def declare(name: str) -> Iterator[click.Parameter]:
        if word:  # several values, so that a single word is left to the required one behind it
            text = "the data set, as with --data"
            yield click.Argument(["dir"], nargs=-1, metavar="[DIR]", callback=at_most_one, help=text)
        yield OptionFlag("data")
        if split:
            yield OptionFlag("split")
        if labels:
            text = "label file of a data set whose labels are withheld"
            yield click.Option(["--labels"], type=Path, metavar="FILE", help=text)

    return declare


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _type(kind: Any) -> Any:
    return click.Choice(kind) if isinstance(kind, tuple) else kind
