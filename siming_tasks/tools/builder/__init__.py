"""Building data sets: from score sheets, from annotation files, and by editing the videos of another data set."""

from siming_tasks.tools.builder.build_folder import Built, build_dataset
from siming_tasks.tools.builder.build_plan import BuildOptions
from siming_tasks.tools.builder.event_log_sheet import UseRatings

__all__ = ["BuildOptions", "Built", "UseRatings", "build_dataset"]
