"""The public sets by name: a module of this folder for each of ``PUBLIC_SETS``, with ``PUBLISHED`` and ``read``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from siming_tasks.options import PUBLIC_SETS
from siming_tasks.tools.public_sets.public_set import PublicSet, Published


@dataclass(frozen=True)
class Source:
    """Published place of a set's annotations, and the function that reads them."""

    published: Published
    read: Callable[[Path], PublicSet]


SETS = {
    name: Source(module.PUBLISHED, module.read)
    for name, module in ((name, import_module(f"{__package__}.{name}")) for name in PUBLIC_SETS)
}
"""By the name that ``siming data fetch`` and ``SIMING_DATA`` know."""
