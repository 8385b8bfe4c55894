"""The dataset that a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.options import Options

__all__ = ["open_chosen"]


def open_chosen(settings: Options) -> Dataset:
    """What the settings name: a folder, a hub dataset, or the demo."""
    from siming_tasks.data import open_dataset, resolve_dataset

    return open_dataset(resolve_dataset(settings))
