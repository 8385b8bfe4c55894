"""Numbers that can be trusted: metrics with intervals, comparisons, the human ceiling, what the video contributed."""

from siming_tasks.metrics.align import Run
from siming_tasks.metrics.ceiling import RaterTable, rater_table
from siming_tasks.metrics.compare import Comparison, compare
from siming_tasks.metrics.contribution import Contribution, contribution
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import Evaluation, evaluate
from siming_tasks.metrics.labels import ordinal_labels
from siming_tasks.metrics.panel import Panel
from siming_tasks.metrics.ratio import human_ratio
from siming_tasks.metrics.twoway import two_way

__all__ = [
    "Comparison",
    "Contribution",
    "Estimate",
    "Evaluation",
    "Panel",
    "RaterTable",
    "Run",
    "compare",
    "contribution",
    "evaluate",
    "human_ratio",
    "ordinal_labels",
    "rater_table",
    "two_way",
]
