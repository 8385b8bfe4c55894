"""Dataset folders: open, build, check, withhold, score. Knows no framework."""

from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.resolve import resolve_dataset

__all__ = ["Dataset", "open_dataset", "resolve_dataset"]
