"""Functions that the task files of lmms-eval name with ``!function``: adapters without logic.

Values that depend on the data set (its path, the alias in the printed table, digests) are module attributes made when
a task is loaded, not when this module is imported (PEP 562): ``!function`` fetches any attribute.
"""

from __future__ import annotations

from typing import Any

from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.plugin.hooks import docs
from siming_tasks.plugin.hooks.messages import doc_to_messages, doc_to_target, doc_to_text, doc_to_visual
from siming_tasks.plugin.hooks.results import aggregator, evaluation, metric_list, process_results
from siming_tasks.plugin.run_context import current_run

__all__ = ["doc_to_messages", "doc_to_target", "doc_to_text", "doc_to_visual", "evaluation", "process_results"]


def __getattr__(name: str) -> Any:
    """Attributes computed when a task is loaded: ``dataset_kwargs``, ``docs_<task>``, ``<metric>[_stderr]`` ..."""
    kind, _, rest = name.partition("_")
    if name == "dataset_kwargs":  # with which lmms-eval loads the list of videos
        return {"data_files": {"test": str(current_run().dataset.root / "videos.jsonl")}}
    if name == "generation_kwargs":
        return docs.generation_kwargs(current_run())
    if kind == "metrics" and rest in TASKS:
        return metric_list(TASKS[rest])
    if kind in docs.BY_TASK and rest in TASKS:
        return docs.BY_TASK[kind](TASKS[rest])
    if aggregate := aggregator(name):
        return aggregate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
