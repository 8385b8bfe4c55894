from dataclasses import replace
from typing import Any

from siming_tasks.benchmark.tasks import TaskSpec
from siming_tasks.benchmark.tasks.prompt import template_hash


def own_hash(task: TaskSpec, **options: Any) -> str:
    """The hash of one task alone, also of the benchmark's, which share theirs."""
    return template_hash(replace(task, is_benchmark=False), **options)
