"""Documents as the host's table that is read row by row, as fast as a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import datasets

__all__ = ["Documents"]

ROWS = 1000
"""Rows that are taken out of the table at a time: one by one, each costs as much as making a request of it."""


class Documents(datasets.Dataset):  # type: ignore[misc]
    """A ``datasets.Dataset`` in every way; only going through all its rows is quicker."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The same rows in the same order as without this class."""
        if self.format["type"] is not None:
            yield from super().__iter__()
            return
        for columns in self.iter(ROWS):
            for row in zip(*columns.values(), strict=True):
                yield dict(zip(columns, row, strict=True))
