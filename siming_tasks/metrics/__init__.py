"""Numbers that can be trusted: a panel of judgments in, estimates with intervals out. NumPy and SciPy only."""

from siming_tasks.metrics.agreement.labels import ordinal_labels
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import Evaluation, evaluate
from siming_tasks.metrics.panel import Panel

__all__ = ["Estimate", "Evaluation", "Panel", "evaluate", "ordinal_labels"]
