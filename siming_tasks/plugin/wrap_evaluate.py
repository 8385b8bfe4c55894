"""Wrappers around lmms-eval's ``simple_evaluate`` and ``evaluate`` for runs with tasks of this suite.

``simple_evaluate`` knows all arguments of a run before a model is loaded: what cannot work is refused there, and the
model's class gets the arguments that it needs. ``evaluate`` knows the model itself, however it was made (by name, or as
an object handed to ``simple_evaluate``): its class decides what it is shown, and its replies are counted and kept.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import SimingError
from siming_tasks.media import Backend, MediaMode, backend_of
from siming_tasks.plugin import compat
from siming_tasks.plugin.hooks.image_encoding import stored_images_sent
from siming_tasks.plugin.hooks.results import RECORD, process_results
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.plugin.payload_limits import check_request_sizes
from siming_tasks.plugin.preflight import (
    RunArguments,
    backend_with_arguments,
    check_data,
    check_run_arguments,
    is_siming_task,
)
from siming_tasks.plugin.response_cache.cache import host_cache_for_other_tasks, replies_kept
from siming_tasks.plugin.response_cache.key import arguments_of
from siming_tasks.tasks import TASKS

__all__ = ["install"]

logger = logging.getLogger(__name__)

_LOADED_BY_NAME: ContextVar[bool] = ContextVar("_LOADED_BY_NAME", default=False)
"""True within a ``simple_evaluate`` that loaded the model with the arguments of ``backends.yaml``."""


def install() -> None:
    """Replace ``simple_evaluate`` and ``evaluate`` of lmms-eval. Does nothing the second time."""
    compat.replace("lmms_eval.evaluator:simple_evaluate", _wrap_simple_evaluate)
    compat.replace("lmms_eval.evaluator:evaluate", _wrap_evaluate)


def _wrap_simple_evaluate(simple_evaluate: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(simple_evaluate)

    def checked_simple_evaluate(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind_partial(*args, **kwargs).arguments
        tasks = bound.get("tasks") or []
        ours = [task for task in ([tasks] if isinstance(tasks, str) else tasks) if is_siming_task(task)]
        model = bound.get("model")
        if not ours or not isinstance(model, str):  # of an object, evaluate knows more
            return simple_evaluate(*args, **kwargs)
        with _one_message(bound.get("cli_args") is not None):
            specs = check_data(ours)
            arguments = _arguments_of_command(model, bound)
            mode = check_run_arguments(arguments, RUN.policy, specs)
        added = _missing_arguments(arguments.backend, mode, arguments.model_arguments)

        def wrap_get_model(get_model: Callable[..., Any]) -> Callable[..., Any]:
            def get_model_with_arguments(model_name: str, force_simple: bool = False) -> Any:
                model_class = get_model(model_name, force_simple)
                return _WithArguments(model_class, added) if added and model_name == model else model_class

            return get_model_with_arguments

        if added:
            listed = ", ".join(f"{key}={value}" for key, value in added.items())
            logger.warning("siming-tasks: %s is given %s (%s).", model, listed, see("models"))
        token = _LOADED_BY_NAME.set(True)
        try:
            with compat.replaced({"lmms_eval.models:get_model": wrap_get_model}):
                return simple_evaluate(*args, **kwargs)
        finally:
            _LOADED_BY_NAME.reset(token)

    return checked_simple_evaluate


def _wrap_evaluate(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    def checked_evaluate(lm: Any, task_dict: Any, *args: Any, **kwargs: Any) -> Any:
        tasks = _our_tasks(task_dict)
        if not tasks:
            return evaluate(lm, task_dict, *args, **kwargs)
        for task in tasks.values():
            _record_with_predict_only(task)
        modality, size = getattr(lm, "modality", None), getattr(lm, "batch_size", 1)
        backend = backend_with_arguments(
            backend_of(base.__module__ for base in type(lm).__mro__),
            {"pass_video_url": getattr(lm, "pass_video_url", "")},
        )
        arguments = RunArguments(
            type(lm).__name__, backend, {"modality": modality}, size if isinstance(size, int) else 1,
            system_instruction=kwargs.get("system_instruction"),
        )  # fmt: skip
        command_line = kwargs.get("cli_args") is not None
        with (
            _one_message(command_line), RUN.evaluating(backend, modality), replies_kept(lm), stored_images_sent(),
        ):  # fmt: skip
            specs = [spec for spec in TASKS.values() if spec.task_name in tasks]
            mode = check_run_arguments(arguments, RUN.policy, specs)
            compat.refuse_if_changed()
            if not _LOADED_BY_NAME.get():
                _warn_of_missing_arguments(lm, backend, mode)
            check_request_sizes(lm, tasks.values())
            if "response_cache" in kwargs:
                kwargs["response_cache"] = host_cache_for_other_tasks(kwargs["response_cache"], lm)
            return evaluate(lm, task_dict, *args, **kwargs)

    return checked_evaluate


@contextmanager
def _one_message(command_line: bool) -> Iterator[None]:
    """On the command line, end with one message and exit code 1: lmms-eval would print a traceback and exit 0."""
    try:
        yield
    except SimingError as error:
        if command_line:
            raise SystemExit(f"siming-tasks: {error}") from None
        raise


def _arguments_of_command(model: str, arguments: Mapping[str, Any]) -> RunArguments:
    """Arguments of ``simple_evaluate`` that matter here, with the row of the model's class."""
    try:
        path = compat.fetch("lmms_eval.models:MODEL_REGISTRY_V2.resolve")(
            model, force_simple=bool(arguments.get("force_simple"))
        ).class_path
    except ValueError:
        path = ""  # there is no such model: lmms-eval lists those that there are
    model_args = arguments.get("model_args") or {}
    if isinstance(model_args, str):
        model_args = compat.fetch("lmms_eval.utils:simple_parse_args_string")(model_args)
    batch_size = str(arguments.get("batch_size") or model_args.get("batch_size") or 1)
    return RunArguments(
        model,
        backend_with_arguments(backend_of([path.rpartition(".")[0]]), model_args),
        model_args,
        int(batch_size) if batch_size.isdecimal() else 1,
        arguments.get("system_instruction"),
        bool(arguments.get("apply_chat_template")),
        arguments.get("num_fewshot"),
    )


def _missing_arguments(backend: Backend, mode: MediaMode, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that ``backends.yaml`` gives a class in this mode and the user does not."""
    wanted = mode.arguments(backend)
    frames = RUN.options.frames
    return {key: frames if value == "frames" else value for key, value in wanted.items() if key not in arguments}


def _warn_of_missing_arguments(lm: Any, backend: Backend, mode: MediaMode) -> None:
    """Say what a model object was made without; it is used as it is."""
    arguments = arguments_of(lm)
    missing = _missing_arguments(backend, mode, arguments) if arguments is not None else {}
    if missing:
        listed = ", ".join(f"{key}={value}" for key, value in missing.items())
        logger.warning(
            "siming-tasks: this %s was made without %s, which it would be given by its name. Results may differ (%s).",
            type(lm).__name__, listed, see("models"),
        )  # fmt: skip


def _our_tasks(task_dict: Mapping[Any, Any]) -> dict[str, Any]:
    """Tasks of ours by name, in a dictionary of tasks and groups."""
    tasks: dict[str, Any] = {}
    for name, task in task_dict.items():
        if isinstance(task, dict):
            tasks |= _our_tasks(task)
        elif is_siming_task(name):
            tasks[name] = task[1] if isinstance(task, tuple) else task
    return tasks


def _record_with_predict_only(task: Any) -> None:
    """Write records with ``--predict_only`` too, so that they can be scored later: lmms-eval drops process_results."""
    if "bypass" in getattr(task, "_metric_fn_list", {}) and task.config.process_results is None:
        task.config.process_results = lambda doc, results: {
            "bypass": 999,
            RECORD: process_results(doc, results)[RECORD],
        }


class _WithArguments:
    """Class of lmms-eval that is made with more arguments than the user gave."""

    def __init__(self, model_class: Any, arguments: Mapping[str, Any]) -> None:
        self.model_class, self.arguments = model_class, dict(arguments)

    def create_from_arg_string(self, arg_string: str, additional_config: Mapping[str, Any] | None = None) -> Any:
        """As ``lmms.create_from_arg_string``."""
        return self.model_class.create_from_arg_string(arg_string, {**(additional_config or {}), **self.arguments})
