"""Dataset folders: open, build, check, withhold, score. Knows no framework."""

from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.predictions import Predictions, load_predictions, read_records, write_predictions
from siming_tasks.data.resolve import resolve_dataset

__all__ = [
    "Dataset",
    "Predictions",
    "load_predictions",
    "open_dataset",
    "read_records",
    "resolve_dataset",
    "write_predictions",
]
