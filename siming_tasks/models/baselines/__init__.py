"""Reference rows: judges whose answers are known, as models that lmms-eval runs like any other."""

from siming_tasks.models.baselines.judges import KINDS, judge

__all__ = ["KINDS", "judge"]
