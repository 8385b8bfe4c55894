"""Dataset folders: open, build, check, withhold, score. Knows no framework."""

from siming_tasks.data.build import Built, build_dataset
from siming_tasks.data.check import CheckReport, check_dataset
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.plan import BuildOptions
from siming_tasks.data.predictions import Predictions, load_predictions, read_records, write_predictions
from siming_tasks.data.resolve import resolve_dataset
from siming_tasks.data.score import Scores, score_predictions, validate_predictions
from siming_tasks.data.withheld import with_labels, withhold

__all__ = [
    "BuildOptions",
    "Built",
    "CheckReport",
    "Dataset",
    "Predictions",
    "Scores",
    "build_dataset",
    "check_dataset",
    "load_predictions",
    "open_dataset",
    "read_records",
    "resolve_dataset",
    "score_predictions",
    "validate_predictions",
    "with_labels",
    "withhold",
    "write_predictions",
]
