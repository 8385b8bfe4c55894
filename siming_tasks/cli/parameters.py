"""Parts that commands share on top of click: flags of the options, outputs, numbers within bounds, and the data set."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from siming_tasks.cli.terminal import say
from siming_tasks.common.errors import OptionsError
from siming_tasks.options import DIFFERENCES, OPTIONS, Options

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.study.results.discovery import RunSource

_F = TypeVar("_F", bound=Callable[..., Any])

SCORING_OPTIONS = tuple(name for name, option in OPTIONS.items() if option.changes == "scored")
"""The options that say how answers are scored."""

MEDIA_OPTIONS = ("frames", "clip_frames", "frame_size", "clip_density", "sampler")
"""The options that say which frames of the videos a model is shown."""


def command(example: str, then: str, name: str | None = None) -> Callable[[Callable[..., Any]], click.Command]:
    """As :func:`click.command`, with an example and the command that usually follows below the page of help."""
    return click.command(name, epilog=f"\b\nExample: siming {example}\nNext: {then}")


class OptionFlag(click.Option):
    """The flag of one field of :class:`siming_tasks.options.Options`, which reads and refuses its values."""

    def __init__(self, name: str) -> None:
        option = OPTIONS[name]

        def read(text: str) -> object:
            if not text.strip():
                raise OptionsError(f"{option.flag} {text!r} must not be empty.")
            return option.read(text, option.flag)

        text = f"{option.help} (default: {option.variable}, otherwise {option.default_text})".replace("`", "")
        super().__init__([option.flag, name], type=read, metavar=option.metavar, help=text)


def option_flags(*names: str) -> Callable[[_F], Any]:
    """Decorator: the flags of these options, which override the environment; the function gets them as ``options``.

    A command without ``--split`` is about the whole data set, whatever SIMING_SPLIT says.
    """

    def decorate(function: _F) -> Any:
        @functools.wraps(function)
        def run(**values: Any) -> Any:
            flags = {name: values.pop(name) for name in names}
            options = Options.from_env()
            options = options if "split" in names else replace(options, split="")
            given = {name: value for name, value in flags.items() if value is not None}
            return function(options=replace(options, **given), **values)

        run.__click_params__ = [*getattr(run, "__click_params__", ()), *map(OptionFlag, reversed(names))]  # type: ignore[attr-defined]
        return run

    return decorate


class Number(click.FloatRange):
    """A number within bounds; never NaN, which is within all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number of a text."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number


PROPORTION, SHARE, ABOVE_ZERO = Number(0, 1, True, True), Number(0, 1, True), Number(0, min_open=True)


class OutputPath(click.Path):
    """File or folder to write: new, or an existing one of that kind; a link means its target.

    A path that must not be replaced (a pipe, a socket, a device) or cannot be created is rejected before any work.
    Nothing is written yet.
    """

    def __init__(self, folder: bool) -> None:
        super().__init__(file_okay=not folder, dir_okay=folder, writable=True, path_type=Path)
        self.folder = folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of a text, or what it leads to."""
        if str(value) in ("", "-"):
            self.fail(f"{value!r} is not a {'folder' if self.folder else 'file'} name.", param, ctx)
        path = Path(str(super().convert(value, param, ctx)))
        try:
            path = Path(os.path.realpath(path)) if path.is_symlink() else path
            if path.exists() and not (path.is_dir() or path.is_file()):
                self.fail(f"{str(value)!r} is a pipe, a socket or a device, and would be replaced.", param, ctx)
            above = next((parent for parent in path.absolute().parents if os.path.lexists(parent)), path)
        except OSError as error:  # too long, a circle of links; the current folder is gone
            self.fail(f"{str(value)!r} cannot be used: {error.strerror}.", param, ctx)
        if path.is_symlink() or not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
            self.fail(f"{str(value)!r} cannot be created: {above} is not a writable folder.", param, ctx)
        return path


NEW_FILE, NEW_FOLDER = OutputPath(False), OutputPath(True)

LABELS = click.option("--labels", type=Path, help="label file, if the labels are withheld")
PARTIAL = click.option("--partial", is_flag=True, help="score an unfinished run: count only requests with a line")
ALLOW = click.option(
    "--allow",
    multiple=True,
    type=click.Choice(DIFFERENCES),
    help="accept this difference between the runs; may be repeated",
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="print one JSON object")
PORT = click.option("--port", type=click.IntRange(0, 65535), default=0, help="port of the page; 0 means a free one")
NO_BROWSER = click.option("--no-browser", is_flag=True, help="do not open a browser")


def data_folder(required: bool = False) -> Callable[[_F], _F]:
    """Decorator: the word DIR, a data set's folder; as an option of the word it is SIMING_DATA."""
    text = "the data set" + ("" if required else " (default: SIMING_DATA)")
    return click.argument("dir", required=required, metavar="DIR" if required else "[DIR]", help=text)


def dataset_folder(options: Options, runs: Sequence[RunSource] = (), dir: str | None = None) -> Path:
    """The folder of the data set: DIR or ``--data``, else SIMING_DATA, else what the runs name, else the demo.

    Raises:
        OptionsError: DIR is empty.
        DataError: there is no such folder, or it cannot be fetched.
    """
    from siming_tasks.data import resolve_dataset
    from siming_tasks.study.results.discovery import dataset_folder as named_folder

    if dir is not None:
        if not dir:
            raise OptionsError("DIR '' must not be empty.")
        return resolve_dataset(replace(options, data=dir), "DIR")
    if not options.data and (folder := named_folder(runs)):
        say(f"Data set: {folder}, as the run states.", error=True)
        return folder
    return resolve_dataset(options, "--data" if given("data") else "SIMING_DATA")


def open_dataset(
    options: Options,
    runs: Sequence[RunSource] = (),
    *,
    dir: str | None = None,
    labels: Path | None = None,
    media: bool = False,
    reference: bool = False,
) -> Dataset:
    """The data set in :func:`dataset_folder`, with the labels of ``--labels``; of a split the part that is asked for.

    Args:
        options: of the command.
        runs: the runs that the command reads.
        dir: the command's word DIR.
        labels: the command's label file.
        media: whether the videos must be there and match the recorded digest.
        reference: whether the command needs the points of ``options.rater``.

    Raises:
        DataError: no usable data set, a label file of another one, no such split, or (``reference``) no points of the
            rater.
    """
    from siming_tasks import data
    from siming_tasks.data.splits import take_part

    dataset = data.open_dataset(dataset_folder(options, runs, dir), media=media)
    if media:
        data.verify_media(dataset, options.cache_dir)
    if labels:
        dataset = data.with_labels(dataset, labels)
    parts = {source.part for source in runs}
    named = parts.pop() if len(parts) == 1 else ""
    if named and not options.split:
        say(f"Split: {named}, as the run states.", error=True)
    dataset = take_part(dataset, options.split or named)
    if reference:
        data.check_reference(dataset, options.rater)
    return dataset


def given(name: str) -> bool:
    """True if the command line has the flag of this parameter."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
