"""Numbers that can be trusted: a matrix of judgments in, estimates with intervals out. NumPy and SciPy only."""

from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.evaluate import evaluate
from siming_tasks.benchmark.metrics.jackknife import difference, estimate, jackknife
from siming_tasks.benchmark.metrics.labels import ordinal_labels
from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix

__all__ = ["Estimate", "Rows", "ScoreMatrix", "difference", "estimate", "evaluate", "jackknife", "ordinal_labels"]
