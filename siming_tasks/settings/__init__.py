"""The settings: what a model is shown and asked, each described once."""

from siming_tasks.settings.known import BENCHMARK, PLAIN, PROBED, SETTINGS, UNALTERED, benchmark_setting
from siming_tasks.settings.probe import PROBES, Probe
from siming_tasks.settings.setting import Setting

__all__ = [
    "BENCHMARK",
    "PLAIN",
    "PROBED",
    "PROBES",
    "SETTINGS",
    "UNALTERED",
    "Probe",
    "Setting",
    "benchmark_setting",
]
