"""Tasks: the registry of what a model is shown and asked, answer formats, input ablations and prompts."""

from siming_tasks.benchmark.tasks.ablations import INPUT_ABLATIONS, InputAblation
from siming_tasks.benchmark.tasks.answer_formats import ANSWER_FORMATS, RECORD_FIELDS
from siming_tasks.benchmark.tasks.registry import (
    ABLATION_TASKS,
    BENCHMARK_TASKS,
    SOUND_TASKS,
    STANDARD_TASKS,
    TASK_GROUPS,
    TASKS,
    UNALTERED_TASKS,
    TaskSpec,
    benchmark_task,
    list_tasks,
    setting_named,
    tasks_of,
)

__all__ = [
    "ABLATION_TASKS",
    "ANSWER_FORMATS",
    "BENCHMARK_TASKS",
    "INPUT_ABLATIONS",
    "RECORD_FIELDS",
    "SOUND_TASKS",
    "STANDARD_TASKS",
    "TASKS",
    "TASK_GROUPS",
    "UNALTERED_TASKS",
    "InputAblation",
    "TaskSpec",
    "benchmark_task",
    "list_tasks",
    "setting_named",
    "tasks_of",
]
