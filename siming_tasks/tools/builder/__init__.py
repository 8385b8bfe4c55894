"""Building data sets: from a table of labels, a rubric and videos."""

from siming_tasks.tools.builder.build_folder import Built, build_dataset
from siming_tasks.tools.builder.build_plan import BuildOptions
from siming_tasks.tools.builder.event_log_sheet import UseRatings

__all__ = ["BuildOptions", "Built", "UseRatings", "build_dataset"]
