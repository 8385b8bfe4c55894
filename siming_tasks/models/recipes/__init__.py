"""Recipes to run the paper's models and their successors, and limits of services: dated facts, kept as data."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import pydantic

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.files import read_yaml
from siming_tasks.media import PAPER_FRAMES

BASE64 = 4 / 3
"""Characters a byte."""

OVERHEAD = 100_000
"""Bytes of a request other than images: the prompt, the times, names of fields."""


@pydantic.dataclasses.dataclass(frozen=True, config={"extra": "forbid"})
class Recipe:
    """Recipe to run one model.

    Attributes:
        title: of the model.
        where: its id on the Hugging Face hub, or its name at the service.
        checked: when the facts were looked up.
        how: of its command: ``run`` (to its end, by a test), ``read`` (in the code of its class) or ``none``.
        facts: of everything else: ``read`` (in pages and code) or ``unconfirmed``.
        paper: its name in the paper's table 6; empty for a model that is not in the paper.
        successor_of: recipe of the paper's model that it comes after.
        model: backend of lmms-eval; empty if none takes it.
        variables: environment of the run besides SIMING_FRAMES.
        frames: of a full video, where the paper's table does not say.
        server: command that serves it, for backends that ask a server.
        context: tokens that the server must allow.
        memory: memory that the weights need, as text.
        service: entry of :func:`services` whose limits apply.
        retired: since when, or from when on, the service does not answer (any more).
        undone: why the command cannot be run without the model itself; empty if it was run.
    """

    name: str
    title: str
    where: str
    checked: date
    how: Literal["run", "read", "none"]
    facts: Literal["read", "unconfirmed"]
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


@dataclass(frozen=True)
class Weight:
    """Contents of one request: images, bytes of all and of the largest (before base64), the longest side in pixels."""

    images: int
    total: int
    largest: int
    side: int

    @property
    def request(self) -> float:
        """Bytes of the request."""
        return self.total * BASE64 + OVERHEAD


@pydantic.dataclasses.dataclass(frozen=True, config={"extra": "forbid"})
class Service:
    """One service's limits on a request.

    Attributes:
        title: of the service.
        checked: when the limits were looked up.
        source: source of the limits, as text.
        request_mb: megabytes (10^6 bytes) of the whole request.
        images: number of images.
        image_mb: megabytes of one image; None: not stated.
        side_above_20_images: pixels of a side if there are more than 20 images; None: no such rule.
    """

    name: str
    title: str
    checked: date
    source: str
    request_mb: float
    images: int
    image_mb: float | None = None
    side_above_20_images: int | None = None
    note: str = ""

    def refuses(self, weight: Weight) -> list[str]:
        """Reasons to refuse a request, with the number of images that would fit; empty if it is accepted."""
        reasons, largest, side = [], weight.largest * BASE64 / 1e6, self.side_above_20_images
        if weight.images > self.images:
            reasons.append(f"{weight.images} images; the limit is {self.images}")
        if weight.request > self.request_mb * 1e6:
            size = f"{weight.request / 1e6:.1f} MB; the limit is {self.request_mb:g} MB"
            reasons.append(f"{size} ({self.fitting(weight)} such images)")
        if self.image_mb and weight.largest * BASE64 > self.image_mb * 1e6:
            reasons.append(f"an image of {largest:.1f} MB; the limit is {self.image_mb:g} MB")
        if side and weight.images > 20 and weight.side > side:
            reasons.append(f"more than 20 images with a side above {side} pixels")
        return reasons

    def fitting(self, weight: Weight) -> int:
        """Number of images of this kind that fit into a request."""
        mean = weight.total / max(1, weight.images)
        return min(self.images, int((self.request_mb * 1e6 - OVERHEAD) / (mean * BASE64))) if mean else self.images


def _rows(file: str) -> dict[str, dict[str, Any]]:
    """Rows of a file of this package by name."""
    rows: dict[str, dict[str, Any]] = read_yaml(Path(str(resources.files("siming_tasks.models.recipes") / file)))
    return rows


@cache
def recipes() -> dict[str, Recipe]:
    """Every recipe by name: the paper's models in the order of its tables, then their successors."""
    return {name: Recipe(name, **row) for name, row in _rows("recipes.yaml").items()}


@cache
def services() -> dict[str, Service]:
    """Every service whose limits are known, by name."""
    return {name: Service(name, **row) for name, row in _rows("services.yaml").items()}


def recipe(name: str) -> Recipe:
    """One recipe by name, title or the paper's name (of two sizes the first); only letters and digits matter, not case.

    Raises:
        OptionsError: there is none of that name; names all.
    """

    def letters(text: str) -> str:
        return "".join(letter for letter in text.casefold() if letter.isalnum())

    known = {letters(entry.paper): entry for entry in reversed(recipes().values()) if entry.paper}
    known |= {letters(word): entry for key, entry in recipes().items() for word in (entry.title, key)}
    if letters(name) not in known:
        raise OptionsError(f"There is no recipe {name!r}. The recipes are {', '.join(recipes())}.")
    return known[letters(name)]
