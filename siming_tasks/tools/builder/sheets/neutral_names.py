"""Names that raters have in a dataset: letters, so that nobody learns which physician was how severe."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Iterable, Iterator

from siming_tasks.common.schema import CONSENSUS
from siming_tasks.tools.builder.sheets.labels import LabelRow

__all__ = ["rater_names"]

_NEUTRAL = re.compile(r"rater_(?:[a-z]|[0-9]{1,3})")
"""Names that tell nothing; ``rater_li`` may be somebody."""


def rater_names(rows: Iterable[LabelRow], keep: bool = False) -> dict[str, str]:
    """The name in the dataset by the sheet's name, in order of appearance; the consensus is no rater.

    Names that are letters or numbers already stay; the others get the letters that are left. ``keep``: all stay.
    """
    names = list(dict.fromkeys(name for row in rows for name in row.scores if name != CONSENSUS))
    if keep:
        return {name: name for name in names}
    taken = {name for name in names if _NEUTRAL.fullmatch(name)}
    letters = (f"rater_{letter}" for letter in _letters() if f"rater_{letter}" not in taken)
    return {name: name if name in taken else next(letters) for name in names}


def _letters() -> Iterator[str]:
    """a, b, ... z, aa, ab, ..."""
    for length in itertools.count(1):
        yield from map("".join, itertools.product(string.ascii_lowercase, repeat=length))
