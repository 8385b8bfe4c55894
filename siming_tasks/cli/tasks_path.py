"""``siming tasks-path``: where the task files are, for ``lmms-eval --include_path``."""

from __future__ import annotations

from importlib import resources

from siming_tasks.cli.parameters import command

__all__ = ["tasks_path"]


@command()
def tasks_path() -> None:
    """Print the folder."""
    print(resources.files("siming_tasks.yaml_tasks"))
