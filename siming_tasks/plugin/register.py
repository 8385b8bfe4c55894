"""How lmms-eval finds this package right after ``pip install``: one entry point, no flag.

lmms-eval 0.7 has an entry-point group for models (``lmms_eval.models``) and none for tasks. Its payload may be a
callable, which it calls while it is being imported and before any task is indexed. That callable hands over our
models and also adds our folder to those that ``TaskManager`` walks. If a later lmms-eval changes that method,
nothing is patched, a warning says so, and ``--include_path "$(siming tasks-path)"`` still works.
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
from collections.abc import Iterable
from importlib import resources
from typing import Any

from siming_tasks.common.errors import SimingError
from siming_tasks.plugin.preflight import is_ours
from siming_tasks.plugin.response_cache.fingerprint import remember
from siming_tasks.plugin.verify_output import check_what_is_saved
from siming_tasks.plugin.wrap_evaluate import guard
from siming_tasks.tasks import TaskSpec, tasks_of

__all__ = ["manifests", "tasks_path"]

logger = logging.getLogger(__name__)

MODELS = {
    "siming_reference": "siming_tasks.plugin.reference_model.SimingReference",
    "siming_nano": "siming_tasks.models.nano.model.SimingNano",
}
_SIGNATURE = ["self", "include_path", "include_defaults"]


def tasks_path() -> str:
    """The folder of our task files."""
    return str(resources.files("siming_tasks.yaml_tasks"))


def manifests() -> list[Any]:
    """Payload of the entry point: registers the task folder, returns our models. Never raises."""
    from lmms_eval.models.registry_v2 import ModelManifest

    try:
        from lmms_eval.tasks import TaskManager

        _extend(TaskManager)
    except Exception as error:  # noqa: BLE001 - a host that changed must not break anybody's other evaluations
        logger.warning('SiMing tasks are not registered (%s); use --include_path "$(siming tasks-path)".', error)
    _remember()
    host: Any = sys.modules["lmms_eval.models"]  # being imported; `lmms-eval models` lists its dictionaries
    for name, path in MODELS.items():
        host.AVAILABLE_CHAT_TEMPLATE_MODELS.setdefault(name, path)
    return [ModelManifest(model_id=name, chat_class_path=path) for name, path in MODELS.items()]


def _extend(manager: Any) -> None:
    """Make ``manager`` index our folder and check our data when our tasks are chosen or loaded. Does nothing twice."""
    if getattr(manager, "_siming_tasks", False):
        return
    found = list(inspect.signature(manager.initialize_tasks).parameters)
    if found != _SIGNATURE:
        raise RuntimeError(f"TaskManager.initialize_tasks takes {found}, expected {_SIGNATURE}")
    initialize, match, load = manager.initialize_tasks, manager.match_tasks, manager.load_task_or_group

    @functools.wraps(initialize)
    def initialize_tasks(self: Any, include_path: Any = None, include_defaults: bool = True) -> Any:
        paths = [include_path] if isinstance(include_path, str) else list(include_path or [])
        if include_defaults and tasks_path() not in paths:
            paths.append(tasks_path())
        if hasattr(sys.modules.get("lmms_eval.evaluator"), "evaluate"):
            _guard()
        return initialize(self, include_path=paths or None, include_defaults=include_defaults)

    @functools.wraps(match)
    def match_tasks(self: Any, task_list: Any) -> Any:
        names = match(self, task_list)
        if any(map(is_ours, names)):
            _guard()
            try:
                preflight(names)
            except SimingError as error:
                # The command line is the only caller. It prints any ordinary exception with a traceback and *exits 0*.
                raise SystemExit(f"siming-tasks: {error}") from None
            _check_what_is_saved()
        return names

    @functools.wraps(load)
    def load_task_or_group(self: Any, task_list: Any = None, *args: Any, **kwargs: Any) -> Any:
        names = [task_list] if isinstance(task_list, str) else list(task_list or [])
        if any(map(is_ours, names)):
            _guard()
            preflight(names)  # the host turns an error while a task file is read into an ImportError
        return load(self, task_list, *args, **kwargs)

    manager.initialize_tasks, manager.match_tasks, manager.load_task_or_group = (
        initialize_tasks, match_tasks, load_task_or_group
    )  # fmt: skip
    manager._siming_tasks = True


def _guard() -> None:
    """Stand between lmms-eval and its models; a host that changed gets a warning, and every model gets frames."""
    from lmms_eval import evaluator, models

    try:
        guard(models, evaluator, preflight)
    except RuntimeError as error:
        logger.warning("What the models of this lmms-eval take is not known (%s): all get images.", error)


def _remember() -> None:
    try:
        from lmms_eval.api.model import lmms

        remember(lmms)
    except Exception as error:  # noqa: BLE001 - as above
        logger.warning("Replies of SiMing tasks are not kept when they arrive (%s).", error)


def _check_what_is_saved() -> None:
    from lmms_eval.loggers import EvaluationTracker

    try:
        check_what_is_saved(EvaluationTracker)
    except RuntimeError as error:
        logger.warning("Whether the files of this run are whole is not checked (%s).", error)


def preflight(names: Iterable[Any] = ()) -> tuple[TaskSpec, ...]:
    """Open the data set before lmms-eval loads a model: wrong data should cost seconds, not a model's start.

    Tasks (of the names of tasks and groups) that would have no document are refused as well: lmms-eval loads the model,
    ends with an ``IndexError`` and loses what the other tasks found.

    Returns:
        What the tasks ask.

    Raises:
        SimingError: the data are wrong, or there is nothing to ask.
    """
    from siming_tasks.plugin.hooks.docs import refuse_empty
    from siming_tasks.plugin.hooks.run_context import RUN
    from siming_tasks.results.prices import load_prices

    RUN.begin()
    if RUN.options.prices:
        load_prices(RUN.options.prices)
    asked = tuple(dict.fromkeys(task for name in names if isinstance(name, str) for task in tasks_of(name)))
    refuse_empty(asked, RUN.current_dataset())
    return asked
