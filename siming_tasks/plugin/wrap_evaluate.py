"""How a model is asked: between lmms-eval and the class of the model, for the time of one run.

Two functions of lmms-eval are wrapped. ``get_model`` is where a model's name is first known: what cannot work is
refused there, before anything is loaded. ``evaluate`` is where the model itself is known, however it was made (by name,
or as an object handed to ``simple_evaluate``): its class decides what it is shown, and its replies are counted.
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import SimingError
from siming_tasks.media import Backend, Mode, backend_of
from siming_tasks.plugin.hooks.results import RECORD, process_results
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.plugin.payload_limits import refuse_what_does_not_fit
from siming_tasks.plugin.preflight import Told, as_told, is_ours, refuse
from siming_tasks.plugin.response_cache.cache import beside, keeping
from siming_tasks.tasks import TASKS, TaskSpec

__all__ = ["guard"]

logger = logging.getLogger(__name__)

_SIGNATURES = {"get_model": ["model_name", "force_simple"], "evaluate": ["lm", "task_dict"]}


def guard(models: Any, evaluator: Any, preflight: Callable[[Sequence[Any]], Sequence[TaskSpec]]) -> None:
    """Wrap ``lmms_eval.models.get_model`` and ``lmms_eval.evaluator.evaluate``. Does nothing twice.

    Args:
        models: the module ``lmms_eval.models``.
        evaluator: the module ``lmms_eval.evaluator``.
        preflight: checks the data of these tasks (SimingError), and says what they ask.

    Raises:
        RuntimeError: they are not those of lmms-eval 0.7.3; nothing is changed then.
    """
    if getattr(evaluator, "_siming_guarded", False):
        return
    get_model, evaluate = models.get_model, evaluator.evaluate
    for name, function in (("get_model", get_model), ("evaluate", evaluate)):
        found = list(inspect.signature(function).parameters)[:2]
        if found != _SIGNATURES[name]:
            raise RuntimeError(f"{name} takes {found}, expected {_SIGNATURES[name]}")

    @functools.wraps(get_model)
    def guarded_get_model(model_name: str, force_simple: bool = False) -> Any:
        caller = _caller()
        tasks = caller.get("tasks") or []
        ours = [task for task in ([tasks] if isinstance(tasks, str) else tasks) if is_ours(task)]
        if not ours:
            return get_model(model_name, force_simple)
        told = _told(models, model_name, force_simple, caller)
        with _one_message(told):
            mode = refuse(told, RUN.policy, preflight(ours))
        return _Given.to(get_model(model_name, force_simple), told, mode)

    @functools.wraps(evaluate)
    def guarded_evaluate(lm: Any, task_dict: Any, *args: Any, **kwargs: Any) -> Any:
        ours = _tasks(task_dict)
        if not ours:
            return evaluate(lm, task_dict, *args, **kwargs)
        for task in ours.values():
            _keep_records(task)
        modality = getattr(lm, "modality", None)
        backend = as_told(_backend(type(lm)), {"pass_video_url": getattr(lm, "pass_video_url", "")})
        rest = {"system_instruction": kwargs.get("system_instruction")}
        size = getattr(lm, "batch_size", 1)
        told = Told(
            type(lm).__name__, backend, {"modality": modality}, size if isinstance(size, int) else 1, rest,
            kwargs.get("cli_args") is not None,
        )  # fmt: skip
        with _one_message(told), RUN.evaluating(backend, modality), keeping(lm):
            refuse(told, RUN.policy, [each for each in TASKS.values() if each.task_name in ours])
            refuse_what_does_not_fit(lm, ours.values())
            if "response_cache" in kwargs:
                kwargs["response_cache"] = beside(kwargs["response_cache"], lm)
            return evaluate(lm, task_dict, *args, **kwargs)

    models.get_model, evaluator.evaluate, evaluator._siming_guarded = guarded_get_model, guarded_evaluate, True


def _caller() -> Mapping[str, Any]:
    """What ``simple_evaluate`` was told: it hands ``get_model`` the name alone. Empty if somebody else calls."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(4):  # other wrappers may stand between
        if frame is None or frame.f_code.co_name == "simple_evaluate":
            break
        frame = frame.f_back
    return frame.f_locals if frame is not None and frame.f_code.co_name == "simple_evaluate" else {}


@contextmanager
def _one_message(told: Told) -> Iterator[None]:
    """On the command line our errors are one message and exit code 1: the host would print a traceback and exit 0."""
    try:
        yield
    except SimingError as error:
        if told.command_line:
            raise SystemExit(f"siming-tasks: {error}") from None
        raise


def _told(models: Any, name: str, force_simple: bool, caller: Mapping[str, Any]) -> Told:
    from lmms_eval.utils import simple_parse_args_string

    try:
        path = models.MODEL_REGISTRY_V2.resolve(name, force_simple=force_simple).class_path
    except ValueError:
        path = ""  # the host says which names there are
    given = caller.get("model_args") or {}
    arguments = simple_parse_args_string(given) if isinstance(given, str) else given
    size = str(caller.get("batch_size") or arguments.get("batch_size") or 1)
    backend = as_told(backend_of([path.rpartition(".")[0]]), arguments)
    return Told(
        name, backend, arguments, int(size) if size.isdecimal() else 1, caller,
        caller.get("cli_args") is not None,
    )  # fmt: skip


def _backend(kind: type) -> Backend:
    return backend_of(base.__module__ for base in kind.__mro__)


def _tasks(task_dict: Mapping[Any, Any]) -> dict[str, Any]:
    """The tasks of ours, by name, in a dictionary of tasks and groups."""
    found: dict[str, Any] = {}
    for name, task in task_dict.items():
        if isinstance(task, dict):
            found |= _tasks(task)
        elif is_ours(name):
            found[name] = task[1] if isinstance(task, tuple) else task
    return found


def _keep_records(task: Any) -> None:
    """With ``--predict_only`` lmms-eval drops what reads the replies: keep the records, which can be scored later."""
    if "bypass" in getattr(task, "_metric_fn_list", {}) and task.config.process_results is None:
        task.config.process_results = lambda doc, results: {
            "bypass": 999,
            RECORD: process_results(doc, results)[RECORD],
        }


class _Given:
    """A class of the host that is given the arguments of our table on top of the user's."""

    def __init__(self, kind: Any, arguments: Mapping[str, Any]) -> None:
        self.kind, self.arguments = kind, dict(arguments)

    @classmethod
    def to(cls, kind: Any, told: Told, mode: Mode) -> Any:
        """The class itself where nothing is to be added, because the table says nothing or the user said it all."""
        frames, ours = RUN.options.frames, told.backend.frames if mode == "frames" else told.backend.arguments
        wanted = {key: frames if value == "frames" else value for key, value in ours.items()}
        added = {key: value for key, value in wanted.items() if key not in told.arguments}
        if not added:
            return kind
        said = ", ".join(f"{key}={value}" for key, value in added.items())
        logger.warning("siming-tasks: %s is given %s (%s).", told.name, said, see("models"))
        return cls(kind, added)

    def create_from_arg_string(self, arguments: str, more: Mapping[str, Any] | None = None) -> Any:
        """As ``lmms.create_from_arg_string``."""
        return self.kind.create_from_arg_string(arguments, {**(more or {}), **self.arguments})
