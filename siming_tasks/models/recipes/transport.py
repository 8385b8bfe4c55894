"""Retries of the model classes that ask a service: how long a request that is never answered takes.

During a run of our tasks every try ends after ``timeout`` seconds, whatever the class tells its client.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pydantic

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.files import read_yaml


@pydantic.dataclasses.dataclass(frozen=True, config={"extra": "forbid"})
class Transport:
    """Waiting (``timeout``: seconds of a try) and asking again of one class; ``transport.yaml`` explains the rest.

    Example: three tries of the client in each of the class's two, at a service that never answers:
        >>> one = Transport("chat.mine", tries=2, timeout=10, pause=1, client=3, client_pauses=(0.5, 1))
        >>> one.most_tries, one.worst_seconds
        (6, 64.0)
    """

    name: str
    tries: int
    timeout: float = 600.0
    pause: float = 0.0
    growing: bool = False
    arguments: bool = False
    client: int = 1
    client_pauses: tuple[float, ...] = ()
    host: str = ""

    def with_arguments(self, given: Mapping[str, Any]) -> Transport:
        """As it is with these arguments of the class.

        Raises:
            OptionsError: one of them is no number, or a time-out that ends every request at once.
        """
        changed: dict[str, Any] = {}
        if given.get("timeout") is not None:
            changed["timeout"] = _number("timeout", given["timeout"])
            if not changed["timeout"] > 0:
                raise OptionsError(f"timeout={given['timeout']}: it must be more than 0 seconds.")
        if self.arguments:
            if given.get("max_retries") is not None:
                changed["tries"] = int(_number("max_retries", given["max_retries"]))
            if given.get("retry_backoff_s") is not None:
                changed["pause"] = max(0.0, _number("retry_backoff_s", given["retry_backoff_s"]))
        return replace(self, **changed)

    @property
    def most_tries(self) -> int:
        """Times that a request which is never answered reaches the service; each may be billed."""
        return self.tries * self.client

    @property
    def worst_seconds(self) -> float:
        """Seconds until a request that is never answered has failed."""
        between = range(1, self.tries)
        pauses = sum(self.pause * (number if self.growing else 1) for number in between)
        return self.most_tries * self.timeout + self.tries * sum(self.client_pauses) + pauses


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise OptionsError(f"{name}={value}: it is no number.") from None
    if not math.isfinite(number):
        raise OptionsError(f"{name}={value}: it is not finite.")
    return number


@cache
def transports() -> Mapping[str, Transport]:
    """Every class that asks a service, by its name in the table of backends."""
    rows = read_yaml(Path(str(resources.files("siming_tasks.models.recipes").joinpath("transport.yaml"))))
    return MappingProxyType({name: Transport(name, **row) for name, row in rows.items()})


def transport_of(model: str) -> Transport | None:
    """Row of a ``--model`` of lmms-eval (its chat class, where it has one); None for a model that asks no service."""
    return transports().get(f"chat.{model}") or transports().get(f"simple.{model}")


def transport_of_class(model_class: type) -> Transport | None:
    """Row of a class of lmms-eval, by the modules of it and its bases; None for one that asks no service."""
    names = (".".join(base.__module__.split(".")[-2:]) for base in model_class.__mro__)
    return next((transports()[name] for name in names if name in transports()), None)
