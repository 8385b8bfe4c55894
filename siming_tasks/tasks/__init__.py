"""The settings: what a model is shown and asked, each described once."""

from siming_tasks.tasks.ablations import INPUT_ABLATIONS, InputAblation
from siming_tasks.tasks.registry import (
    ABLATION_TASKS,
    BENCHMARK_TASKS,
    NON_ABLATION_TASKS,
    PLAIN_TASKS,
    TASKS,
    benchmark_task,
)
from siming_tasks.tasks.task_spec import TaskSpec

__all__ = [
    "ABLATION_TASKS",
    "BENCHMARK_TASKS",
    "INPUT_ABLATIONS",
    "NON_ABLATION_TASKS",
    "PLAIN_TASKS",
    "TASKS",
    "InputAblation",
    "TaskSpec",
    "benchmark_task",
]
