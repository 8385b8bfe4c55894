"""Dataset folders: open, verify, check and withhold. Knows no framework and no run."""

from siming_tasks.data.check.report import CheckReport, check_dataset
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.resolve import as_dataset, is_hub_name, resolve_dataset
from siming_tasks.data.verify_media import restate, verify_media
from siming_tasks.data.withholding import check_reference, with_labels, withhold

__all__ = [
    "CheckReport",
    "Dataset",
    "as_dataset",
    "check_dataset",
    "check_reference",
    "is_hub_name",
    "open_dataset",
    "resolve_dataset",
    "restate",
    "verify_media",
    "with_labels",
    "withhold",
]
