"""Entry point by which lmms-eval finds our tasks and models right after ``pip install``, without a flag.

lmms-eval 0.7 has an entry-point group for models (``lmms_eval.models``) and none for tasks. The payload may be a
callable, which lmms-eval calls while it is being imported and before any task is indexed. This callable hands over our
models and adds our folder to those that ``TaskManager`` indexes. If a later lmms-eval changes that method, it is left
as it is, a warning says so, and ``--include_path "$(siming tasks-path)"`` still works.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from siming_tasks.common.errors import SimingError
from siming_tasks.plugin import compat, verify_output, wrap_evaluate
from siming_tasks.plugin.preflight import check_data, is_siming_task, tasks_path
from siming_tasks.plugin.response_cache.key import remember_arguments

__all__ = ["manifests", "tasks_path"]

logger = logging.getLogger(__name__)

MODELS = {
    "siming_reference": "siming_tasks.plugin.reference_model.SimingReference",
    "siming_nano": "siming_tasks.models.nano.chat_model.SimingNano",
}


def manifests() -> list[Any]:
    """Payload of the entry point: registers the task folder and returns our models. Never raises."""
    try:
        compat.replace("lmms_eval.tasks:TaskManager.initialize_tasks", _index_our_folder)
        compat.replace("lmms_eval.tasks:TaskManager.match_tasks", _check_chosen_tasks)
        compat.replace("lmms_eval.tasks:TaskManager.load_task_or_group", _check_loaded_tasks)
        compat.replace("lmms_eval.api.model:lmms.__new__", remember_arguments)
        compat.after_import("lmms_eval.evaluator", wrap_evaluate.install)
        # lmms_eval.models is being imported; `lmms-eval models` lists this dictionary
        listed = compat.fetch("lmms_eval.models:AVAILABLE_CHAT_TEMPLATE_MODELS")
        for name, path in MODELS.items() if listed is not None else ():
            listed.setdefault(name, path)
        manifest = compat.fetch("lmms_eval.models.registry_v2:ModelManifest")
        return [manifest(model_id=name, chat_class_path=path) for name, path in MODELS.items()] if manifest else []
    except Exception as error:  # noqa: BLE001 - a changed lmms-eval must not break anybody's other evaluations
        logger.warning('SiMing tasks are not registered (%s); use --include_path "$(siming tasks-path)".', error)
        return []


def _index_our_folder(initialize_tasks: Callable[..., Any]) -> Callable[..., Any]:
    def index_with_our_folder(self: Any, include_path: Any = None, include_defaults: bool = True) -> Any:
        paths = [include_path] if isinstance(include_path, str) else list(include_path or [])
        if include_defaults and tasks_path() not in paths:
            paths.append(tasks_path())
        if compat.is_imported("lmms_eval.evaluator"):
            wrap_evaluate.install()
        return initialize_tasks(self, include_path=paths or None, include_defaults=include_defaults)

    return index_with_our_folder


def _check_chosen_tasks(match_tasks: Callable[..., Any]) -> Callable[..., Any]:
    def match_and_check(self: Any, task_list: Any) -> Any:
        names = match_tasks(self, task_list)
        if any(map(is_siming_task, names)):
            wrap_evaluate.install()
            try:
                check_data(names)
            except SimingError as error:
                # The command line is the only caller. It prints any ordinary exception with a traceback and *exits 0*.
                raise SystemExit(f"siming-tasks: {error}") from None
            verify_output.install()
        return names

    return match_and_check


def _check_loaded_tasks(load_task_or_group: Callable[..., Any]) -> Callable[..., Any]:
    def check_and_load(self: Any, task_list: Any = None, *args: Any, **kwargs: Any) -> Any:
        names = [task_list] if isinstance(task_list, str) else list(task_list or [])
        if any(map(is_siming_task, names)):
            wrap_evaluate.install()
            check_data(names)
        return load_task_or_group(self, task_list, *args, **kwargs)

    return check_and_load
