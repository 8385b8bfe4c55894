"""The settings: what a model is shown and asked, each described once."""

from siming_tasks.tasks.ablations import PROBES, Probe
from siming_tasks.tasks.registry import BENCHMARK, PLAIN, PROBED, SETTINGS, UNALTERED, benchmark_setting
from siming_tasks.tasks.setting import Setting

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
