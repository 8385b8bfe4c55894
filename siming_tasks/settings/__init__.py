"""The settings: what a model is shown and asked, each described once."""

from siming_tasks.settings.known import BENCHMARK, PLAIN, SETTINGS, benchmark_setting
from siming_tasks.settings.setting import Setting

__all__ = ["BENCHMARK", "PLAIN", "SETTINGS", "Setting", "benchmark_setting"]
