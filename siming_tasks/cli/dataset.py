"""The data set that a command is about, named in one way by all of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from siming_tasks.cli.flags import add_options
from siming_tasks.cli.terminal import say

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.options import Options
    from siming_tasks.results.discovery import RunSource

__all__ = ["add_data", "folder_of", "open_chosen"]


def add_data(command: argparse.ArgumentParser, *, word: bool = False, labels: bool = False) -> None:
    """Let a command take ``--data``, if wanted also the word DIR for it, and a file of labels that are withheld."""
    if word:
        command.add_argument("dir", nargs="?", metavar="DIR", help="the data set, as with --data")
    add_options(command, "data")
    if labels:
        command.add_argument(
            "--labels", type=Path, metavar="FILE", help="label file of a data set whose labels are withheld"
        )


def folder_of(
    arguments: argparse.Namespace, options: Options, runs: Sequence[RunSource] = (), *, must_exist: bool = True
) -> Path:
    """The folder of the data set: DIR or ``--data``, else SIMING_DATA, else what the runs name, else the demo.

    Args:
        arguments: of a command with :func:`add_data`.
        options: from them and the environment.
        runs: what the command is about.
        must_exist: False returns a named path although nothing is there, for a command that reports this itself.

    Raises:
        OptionsError: DIR and ``--data`` are both given.
        DataError: there is no such folder, or it cannot be fetched.
    """
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.data import is_hub_name, resolve_dataset
    from siming_tasks.results.discovery import dataset_folder

    given = {"DIR": getattr(arguments, "dir", None), "--data": arguments.data}
    given = {name: text for name, text in given.items() if text is not None}
    if len(given) == 2:
        raise OptionsError(f"DIR {given['DIR']!r} and --data {given['--data']!r} both name the data set; give one.")
    for named, text in given.items():
        if not text:
            raise OptionsError(f"{named} '' must not be empty.")
        if not must_exist and not is_hub_name(text):
            return Path(text).expanduser()
        return resolve_dataset(replace(options, data=text), named)
    if options.data:
        return resolve_dataset(options)
    if folder := dataset_folder(runs):
        say(f"Data set: {folder}, which the run names.", error=True)
        return folder
    return resolve_dataset(options)


def open_chosen(
    arguments: argparse.Namespace,
    options: Options,
    runs: Sequence[RunSource] = (),
    *,
    media: bool = False,
    reference: bool = False,
) -> Dataset:
    """The data set of :func:`folder_of`, with the labels of ``--labels``.

    Args:
        arguments: of a command with :func:`add_data`.
        options: from them and the environment.
        runs: as in :func:`folder_of`.
        media: whether the videos must be there, and be those that the digest was taken of.
        reference: whether the command needs the points of ``options.rater``.

    Raises:
        DataError: no usable data set, a label file of another one, or (``reference``) no points of the rater.
    """
    from siming_tasks.data import check_reference, open_dataset, verify_media, with_labels

    dataset = open_dataset(folder_of(arguments, options, runs), media=media)
    if media:
        verify_media(dataset, options.cache_dir)
    if getattr(arguments, "labels", None):
        dataset = with_labels(dataset, arguments.labels)
    if reference:
        check_reference(dataset, options.rater)
    return dataset
