"""Numbers that can be trusted: metrics with intervals, comparisons, the human ceiling, what the video contributed."""

from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import Evaluation, evaluate
from siming_tasks.metrics.labels import ordinal_labels
from siming_tasks.metrics.panel import Panel

__all__ = ["Estimate", "Evaluation", "Panel", "evaluate", "ordinal_labels"]
