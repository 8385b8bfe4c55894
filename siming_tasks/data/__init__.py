"""Dataset folders: open, build, check, withhold. Knows no framework and no run."""

from siming_tasks.data.builder.make import Built, build_dataset
from siming_tasks.data.builder.plan import BuildOptions
from siming_tasks.data.builder.ratings import UseRatings
from siming_tasks.data.check.report import CheckReport, check_dataset
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.resolve import is_hub_name, resolve_dataset
from siming_tasks.data.restate import restate
from siming_tasks.data.verify import verify_media
from siming_tasks.data.withheld import check_reference, with_labels, withhold

__all__ = [
    "BuildOptions",
    "Built",
    "CheckReport",
    "Dataset",
    "UseRatings",
    "build_dataset",
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
