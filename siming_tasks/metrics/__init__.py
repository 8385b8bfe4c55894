"""Numbers that can be trusted: a panel of judgments in, estimates with intervals out. NumPy and SciPy only."""

from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import Evaluation, evaluate
from siming_tasks.metrics.kappa import ordinal_labels
from siming_tasks.metrics.score_matrix import ScoreMatrix

__all__ = ["Estimate", "Evaluation", "ScoreMatrix", "evaluate", "ordinal_labels"]
