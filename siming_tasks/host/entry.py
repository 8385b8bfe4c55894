"""How lmms-eval finds this package right after ``pip install``: one entry point, no flag.

lmms-eval 0.7 has an entry-point group for models (``lmms_eval.models``) and none for tasks. Its payload may be a
callable, which it calls while it is being imported and before any task is indexed. That callable hands over our
reference model and also adds our folder to those that ``TaskManager`` walks. If a later lmms-eval changes that method,
nothing is patched, a warning says so, and ``--include_path "$(siming tasks-path)"`` still works.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from siming_tasks.errors import SimingError
from siming_tasks.files import read_yaml
from siming_tasks.host.saved import check_what_is_saved
from siming_tasks.settings import SETTINGS, Setting

__all__ = ["manifests", "tasks_path"]

logger = logging.getLogger(__name__)

_SIGNATURE = ["self", "include_path", "include_defaults"]


def tasks_path() -> str:
    """The folder of our task files."""
    return str(resources.files("siming_tasks.yaml_tasks"))


def manifests() -> list[Any]:
    """Payload of the entry point: registers the task folder, returns the reference models. Never raises."""
    from lmms_eval.models.registry_v2 import ModelManifest

    try:
        from lmms_eval.tasks import TaskManager

        _extend(TaskManager)
    except Exception as error:  # noqa: BLE001 - a host that changed must not break anybody's other evaluations
        logger.warning('SiMing tasks are not registered (%s); use --include_path "$(siming tasks-path)".', error)
    return [ModelManifest(model_id="siming_reference", chat_class_path="siming_tasks.reference.model.SimingReference")]


def _extend(manager: Any) -> None:
    """Make ``manager`` index our folder, and check our data when one of our tasks is selected. Does nothing twice."""
    if getattr(manager, "_siming_tasks", False):
        return
    found = list(inspect.signature(manager.initialize_tasks).parameters)
    if found != _SIGNATURE:
        raise RuntimeError(f"TaskManager.initialize_tasks takes {found}, expected {_SIGNATURE}")
    initialize, match = manager.initialize_tasks, manager.match_tasks

    @functools.wraps(initialize)
    def initialize_tasks(self: Any, include_path: Any = None, include_defaults: bool = True) -> Any:
        paths = [include_path] if isinstance(include_path, str) else list(include_path or [])
        if include_defaults and tasks_path() not in paths:
            paths.append(tasks_path())
        return initialize(self, include_path=paths or None, include_defaults=include_defaults)

    @functools.wraps(match)
    def match_tasks(self: Any, task_list: Any) -> Any:
        names = match(self, task_list)
        if any(str(name).startswith("siming") for name in names):
            _preflight(names)
            _check_what_is_saved()
        return names

    manager.initialize_tasks, manager.match_tasks, manager._siming_tasks = initialize_tasks, match_tasks, True


def _settings(names: Iterable[str]) -> Iterator[Setting]:
    """The settings that our tasks and groups of these names run, as the group files say."""
    own = {setting.task_name: setting for setting in SETTINGS.values()}
    for name in names:
        group = Path(tasks_path(), f"{name}.yaml")
        if name in own:
            yield own[name]
        elif str(name).startswith("siming") and group.is_file():
            yield from _settings(read_yaml(group)["task"])


def _check_what_is_saved() -> None:
    from lmms_eval.loggers import EvaluationTracker

    try:
        check_what_is_saved(EvaluationTracker)
    except RuntimeError as error:
        logger.warning("Whether the files of this run are whole is not checked (%s).", error)


def _preflight(names: Iterable[str] = ()) -> None:
    """Open the data set before lmms-eval loads a model: wrong data should cost seconds, not a model's start.

    Tasks (of the names of tasks and groups) that would have no document are refused as well: lmms-eval loads the model,
    ends with an ``IndexError`` and loses what the other tasks found.

    The command line is the only caller of ``match_tasks``. An ordinary exception there is printed with a traceback and
    the run *exits 0*; ``SystemExit`` gives the one message and exit code 1 that a script can see.
    """
    from siming_tasks.hooks.docs import refuse_empty
    from siming_tasks.hooks.session import SESSION

    try:
        SESSION.begin()
        refuse_empty(dict.fromkeys(_settings(names)), SESSION.current())
    except SimingError as error:
        raise SystemExit(f"siming-tasks: {error}") from None
