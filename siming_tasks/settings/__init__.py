"""The settings of the benchmark: what a model is shown and asked."""

from siming_tasks.settings.setting import SETTINGS, Setting

__all__ = ["SETTINGS", "Setting"]
