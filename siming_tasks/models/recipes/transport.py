"""Retries of the model classes that ask a service: how often a request that is never answered is sent.

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
    """Tries of one class, of ``timeout`` seconds each; ``transport.yaml`` explains the rest.

    Example: three tries of the client in each of the class's two:
        >>> Transport("chat.mine", tries=2, client=3).most_tries
        6
    """

    name: str
    tries: int
    timeout: float = 600.0
    arguments: bool = False
    client: int = 1
    host: str = ""

    def with_arguments(self, given: Mapping[str, Any]) -> Transport:
        """As it is with these arguments of the class.

        Raises:
            OptionsError: one of them is not a number, or a time-out would end every request at once.
        """
        changed: dict[str, Any] = {}
        if given.get("timeout") is not None:
            changed["timeout"] = _number("timeout", given["timeout"])
            if not changed["timeout"] > 0:
                raise OptionsError(f"timeout={given['timeout']}: it must be more than 0 seconds.")
        if self.arguments and given.get("max_retries") is not None:
            changed["tries"] = int(_number("max_retries", given["max_retries"]))
        return replace(self, **changed)

    @property
    def most_tries(self) -> int:
        """Times that a request which is never answered reaches the service; each may be billed."""
        return self.tries * self.client


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise OptionsError(f"{name}={value}: it is not a finite number.")
    return number


@cache
def transports() -> Mapping[str, Transport]:
    """Every class that asks a service, by its name in the table of backends."""
    rows = read_yaml(Path(str(resources.files("siming_tasks.models.recipes").joinpath("transport.yaml"))))
    return MappingProxyType({name: Transport(name, **row) for name, row in rows.items()})


def transport_of_class(model_class: type) -> Transport | None:
    """Row of a class of lmms-eval, by the modules of it and its bases; None for one that asks no service."""
    names = (".".join(base.__module__.split(".")[-2:]) for base in model_class.__mro__)
    return next((transports()[name] for name in names if name in transports()), None)
