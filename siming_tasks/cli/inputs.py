"""Words and flags that name inputs: what stands in the wrong place is named before anything is read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.input_kinds import kind_of, way_out, with_article


class Input(click.ParamType[Any]):
    """Path that a command reads; one that is recognised as another kind than ``kinds`` is refused.

    Attributes:
        kinds: what may be there, the wanted one first; it need not be one that can be recognised.
        as_path: False hands on the text, which may be ``NAME=PATH``.
    """

    def __init__(self, *kinds: str, as_path: bool = True) -> None:
        self.kinds, self.as_path = kinds, as_path
        self.name = kinds[0]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of a text; whether it fits is known when all words are read (:func:`refuse_misplaced`)."""
        return Path(value) if self.as_path and isinstance(value, str) else value

    def accepts(self, kind: str | None) -> bool:
        """True if something of this kind may stand here."""
        return kind is None or kind in self.kinds


RUN, RUNS, DATASET = Input("run"), Input("run", as_path=False), Input("data set", as_path=False)
RUN_ON_DATA = Input("run", "data set")  # words of a run, behind those of the data set
REPORT, VIDEOS, RUBRIC = Input("report"), Input("folder of videos", "data set"), Input("rubric", "YAML file")


def refuse_misplaced(command: str, params: Sequence[click.Parameter], values: Mapping[str, Any]) -> None:
    """Refuse words that hold something else than they should (OptionsError: names both, and the right order).

    Args:
        command: the command's words, ``siming score``.
        params: its words and flags.
        values: what was given, by name.
    """
    given = [(param, _path(text)) for param in params for text in _texts(values.get(str(param.name)))
             if isinstance(param, click.Argument) or isinstance(param.type, Input) or param.name == "data"]  # fmt: skip
    inputs = [(param, _input(param), path) for param, path in given if _input(param)]
    kinds = {path: kind_of(path) for param, path in given if _input(param) or isinstance(param, click.Argument)}
    for param, wanted, path in inputs:
        assert wanted is not None
        there = Path(path).expanduser().exists()
        if there and wanted.accepts(kinds[path]):
            continue
        if other := next((each for each in _misplaced(given, kinds, param, path) if kinds[each] in wanted.kinds), None):
            swapped = {path: other, other: path}
            words = [swapped.get(each, each) for word, each in given if isinstance(word, click.Argument)]
            kind = kinds[path]
            what = with_article(kind) if kind else "something else" if there else "not there"
            right = shlex.join([*command.split(), *words])
            raise OptionsError(f"{other} is {with_article(str(kinds[other]))} and {path} is {what}. Swap them: {right}")
        if there:
            kind = str(kinds[path])
            here = param.opts[0] if isinstance(param, click.Option) else str(param.metavar).strip("[].")
            between = (kind, wanted.name) != ("data set", "run") or any(each.name == "dir" for each in params)
            what = f"{here} {path} is {with_article(kind)}, and {with_article(wanted.name)} is wanted."
            raise OptionsError(f"{what} {way_out(kind, wanted.name, path, between=between)}".rstrip())
        if (spelled := _other_spelling(path)) and isinstance(param, click.Argument):
            raise OptionsError(f"{path}: no such file or folder. Did you mean {spelled}?")


def _input(param: click.Parameter) -> Input | None:
    """The kind of input of a word or flag; ``--data`` is a data set."""
    return param.type if isinstance(param.type, Input) else DATASET if param.name == "data" else None


def _texts(value: Any) -> Iterator[str]:
    """The texts of a value: none, one, or several."""
    for each in value if isinstance(value, tuple | list) else () if value is None else (value,):
        yield str(each)


def _path(text: str) -> str:
    """The path of ``NAME=PATH`` or ``PATH``."""
    name, _, path = text.rpartition("=")
    return path if name and not Path(text).exists() else text


def _misplaced(
    given: Sequence[tuple[click.Parameter, str]], kinds: Mapping[str, str | None], here: click.Parameter, path: str
) -> Iterator[str]:
    """Other words whose place does not want what is there: one of them may be meant here."""
    for param, text in given:
        taken = _input(param)
        alone = isinstance(param, click.Argument) and isinstance(here, click.Argument)
        if alone and param is not here and text != path and not (taken and taken.accepts(kinds[text])):
            yield text


def _other_spelling(path: str) -> str | None:
    """The same path with slashes, if that is there: a path of Windows on another system."""
    drive, below = re.fullmatch(r"(?:([A-Za-z]):)?(.*)", path, re.DOTALL).groups()  # type: ignore[union-attr]
    spelled = (f"/mnt/{drive.lower()}" if drive else "") + below.replace("\\", "/")
    return spelled if spelled != path and Path(spelled).exists() else None
