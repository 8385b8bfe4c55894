"""The public sets by name; a further set is a module with ``PUBLISHED`` and ``read``, and a row here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from siming_tasks.tools.public_sets import assembly101, captaincook4d, egoems, egooops
from siming_tasks.tools.public_sets.public_set import PublicSet, Published


@dataclass(frozen=True)
class Source:
    """Published place of a set's annotations, and the function that reads them."""

    published: Published
    read: Callable[[Path], PublicSet]


SETS = {
    module.__name__.rpartition(".")[2]: Source(module.PUBLISHED, module.read)
    for module in (egooops, captaincook4d, egoems, assembly101)
}
"""By the name that ``siming data fetch`` and ``SIMING_DATA`` know."""
