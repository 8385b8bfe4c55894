"""Functions that the task files of lmms-eval name with ``!function``: adapters without logic.

Values that depend on the data set (its path, the alias in the printed table, digests) are module attributes made when
a task is loaded, not when this module is imported (PEP 562): ``!function`` fetches any attribute. Each of them begins
a :class:`~siming_tasks.plugin.hooks.run_context.RunContext` anew; fetching anything else does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from siming_tasks.plugin.hooks.docs import BY_TASK, data_files, generation_at_loading
from siming_tasks.plugin.hooks.messages import doc_to_messages, doc_to_target, doc_to_text, doc_to_visual
from siming_tasks.plugin.hooks.results import aggregator, evaluation, metric_list, process_results
from siming_tasks.tasks import TASKS

__all__ = ["doc_to_messages", "doc_to_target", "doc_to_text", "doc_to_visual", "evaluation", "process_results"]


def __getattr__(name: str) -> Any:
    """Attributes computed when a task is loaded: ``dataset_kwargs``, ``docs_<task>``, ``<metric>[_stderr]`` ..."""
    kind, _, rest = name.partition("_")
    if name == "dataset_kwargs":
        return data_files()
    if name == "generation_kwargs":
        return generation_at_loading()
    if kind == "metrics" and rest in TASKS:
        return metric_list(TASKS[rest])
    if kind in BY_TASK and rest in TASKS:
        return BY_TASK[kind](TASKS[rest])
    aggregate: Callable[..., Any] | None = aggregator(name)
    if aggregate is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return aggregate
