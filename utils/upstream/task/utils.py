"""SiMing-Bench: every hook of the task files is one of the package siming-tasks."""

from typing import Any

from lmms_eval.imports import optional_import

hooks, _has_siming_tasks = optional_import("siming_tasks.plugin.hooks")


def __getattr__(name: str) -> Any:
    """Return the hook or the value of this name, made when a task is loaded.

    Raises:
        ImportError: The package is not installed.
    """
    if not _has_siming_tasks:
        raise ImportError("SiMing-Bench reads its data and scores replies with a package of its own; please install it with: pip install siming-tasks")
    return getattr(hooks, name)
