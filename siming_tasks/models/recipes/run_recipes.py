"""Recipes: which model, by which backend, with which arguments, and what is not known about the paper's own run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.files import read_yaml
from siming_tasks.media import PAPER_FRAMES

__all__ = ["Recipe", "recipe", "recipes"]

CHECKED = ("run", "read", "not verified")


@dataclass(frozen=True)
class Recipe:
    """Recipe to run one model.

    Attributes:
        name: of the recipe.
        title: of the model.
        where: its id on the Hugging Face hub, or its name at the service.
        checked: when the facts were looked up.
        how: of its command: ``run`` (to its end, by a test), ``read`` (in the code of its class) or ``not verified``.
        facts: of everything else: ``read`` (in pages and code) or ``not verified``.
        paper: its name in the paper's table 6; empty for a model that is not in the paper.
        successor_of: recipe of the paper's model that it comes after.
        model: backend of lmms-eval; empty if none takes it.
        model_args: its arguments.
        variables: environment of the run besides SIMING_FRAMES.
        frames: of a full video, where the paper's table does not say.
        server: command that serves it, for backends that ask a server.
        context: tokens that the server must allow.
        memory: what the weights need, in words.
        licence: and gate.
        service: entry of :func:`~siming_tasks.models.recipes.services.services` whose limits hold.
        retired: since when, or from when on, the service does not answer (any more); and what is known of it.
        undone: why the command cannot be run without the model itself; empty if it was run.
        notes: what to know.
    """

    name: str
    title: str
    where: str
    checked: date
    how: str
    facts: str
    licence: str
    paper: str = ""
    successor_of: str = ""
    model: str = ""
    model_args: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    frames: int | None = None
    server: str = ""
    context: int | None = None
    memory: str = ""
    service: str = ""
    retired: date | None = None
    undone: str = ""
    notes: tuple[str, ...] = ()

    @property
    def full_frames(self) -> int:
        """Frames of a full video: the paper's table 6, if the model is in it."""
        return PAPER_FRAMES[self.paper] if self.paper else self.frames or 64

    def command(self, tasks: str = "siming", output: str = "") -> str:
        """The lmms-eval command; empty if no backend takes the model."""
        if not self.model:
            return ""
        variables = {"SIMING_FRAMES": self.full_frames, **self.variables}
        words = ["lmms-eval", "--model", self.model]
        words += ["--model_args", ",".join(f"{key}={value}" for key, value in self.model_args.items())]
        words += ["--tasks", tasks, "--log_samples", "--output_path", output or f"runs/{self.name}"]
        return " ".join([*(f"{key}={shlex.quote(str(value))}" for key, value in variables.items()), shlex.join(words)])


@lru_cache(maxsize=1)
def recipes() -> dict[str, Recipe]:
    """Every recipe by name: the paper's models in the order of its tables, then their successors."""
    path = Path(str(resources.files("siming_tasks.models.recipes") / "recipes.yaml"))
    rows: dict[str, dict[str, Any]] = read_yaml(path)
    by_name = {}
    for name, row in rows.items():
        try:
            by_name[name] = entry = Recipe(name=name, **{**row, "notes": tuple(row.get("notes", ()))})
        except TypeError as error:
            raise DataError(f"{path}: {name}: {error}.") from None
        if {entry.how, entry.facts} - set(CHECKED) or (entry.paper and entry.paper not in PAPER_FRAMES):
            raise DataError(f"{path}: {name}: `how`, `facts` or `paper` is none of the known words.")
    return by_name


def recipe(name: str) -> Recipe:
    """One recipe by its name; case, spaces, dashes and dots do not matter.

    Raises:
        OptionsError: there is none of that name; names all.
    """
    known = {_plain(key): entry for key, entry in recipes().items()}
    if _plain(name) not in known:
        raise OptionsError(f"There is no recipe {name!r}. There are {', '.join(recipes())}.")
    return known[_plain(name)]


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
