"""What the task files of lmms-eval name with ``!function``: adapters, no logic.

Values that depend on the data set (its path, the alias in the printed table, digests) are module attributes made when
a task is loaded, not when this module is imported (PEP 562): ``!function`` fetches any attribute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from siming_tasks.hooks.docs import CONFIG, docs_for, run_settings
from siming_tasks.hooks.messages import doc_to_messages, doc_to_target, doc_to_text, doc_to_visual
from siming_tasks.hooks.results import aggregator, evaluation, process_results
from siming_tasks.settings import SETTINGS

__all__ = ["doc_to_messages", "doc_to_target", "doc_to_text", "doc_to_visual", "evaluation", "process_results"]


def __getattr__(name: str) -> Any:
    """``docs_<setting>``, ``alias_<setting>``, ``<metric>``, ``<metric>_stderr`` and the values of ``CONFIG``."""
    kind, _, rest = name.partition("_")
    if name in CONFIG or rest in SETTINGS:
        run_settings.cache_clear()  # a task is being loaded
    if kind == "docs" and rest in SETTINGS:
        return docs_for(SETTINGS[rest])
    if kind == "alias" and rest in SETTINGS:
        return CONFIG["alias"]().format(name=f"siming_{rest}")
    if name in CONFIG:
        return CONFIG[name]()
    found: Callable[..., Any] | None = aggregator(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
