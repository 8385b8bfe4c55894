"""What the task files of lmms-eval name with ``!function``: adapters, no logic.

Values that depend on the data set (its path, the alias in the printed table, digests) are module attributes made when
a task is loaded, not when this module is imported (PEP 562): ``!function`` fetches any attribute. Each of them begins
a :class:`~siming_tasks.plugin.hooks.run_context.RunContext` anew; fetching anything else does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from siming_tasks.plugin.hooks.docs import OF_SETTING, generation, where
from siming_tasks.plugin.hooks.messages import doc_to_messages, doc_to_target, doc_to_text, doc_to_visual
from siming_tasks.plugin.hooks.results import aggregator, evaluation, metric_list, process_results
from siming_tasks.tasks import TASKS

__all__ = ["doc_to_messages", "doc_to_target", "doc_to_text", "doc_to_visual", "evaluation", "process_results"]


def __getattr__(name: str) -> Any:
    """``dataset_kwargs``, ``docs_<setting>`` (also ``alias_``, ``metadata_``, ``metrics_``), ``<metric>[_stderr]``."""
    kind, _, rest = name.partition("_")
    if name == "dataset_kwargs":
        return where()
    if name == "generation_kwargs":
        return generation()
    if kind == "metrics" and rest in TASKS:
        return metric_list(TASKS[rest])
    if kind in OF_SETTING and rest in TASKS:
        return OF_SETTING[kind](TASKS[rest])
    found: Callable[..., Any] | None = aggregator(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
