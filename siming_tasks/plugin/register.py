"""Entry point by which lmms-eval finds our tasks and models after ``pip install``, and the checks around a run.

lmms-eval 0.7 has an entry-point group for models (``lmms_eval.models``) and none for tasks. Its payload may be a
callable, called while lmms-eval is being imported and before any task is indexed; ours hands over our models and adds
our folder to those that ``TaskManager`` indexes. What cannot work is refused in ``simple_evaluate``; in ``evaluate``
the class of the model decides what it is shown.
"""

from __future__ import annotations

import difflib
import inspect
import logging
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

from siming_tasks.benchmark.tasks import TASKS, TaskSpec
from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import OptionsError, SimingError
from siming_tasks.common.sanitize import one_line
from siming_tasks.media import backend_of
from siming_tasks.options import Options
from siming_tasks.plugin import host, saved_run
from siming_tasks.plugin.hooks.docs import BY_TASK
from siming_tasks.plugin.hooks.messages import stored_images_sent
from siming_tasks.plugin.hooks.results import RECORD, process_results
from siming_tasks.plugin.preflight import (
    RunArguments,
    backend_with_arguments,
    check_names,
    is_siming_task,
    plan,
    recipient_of,
    tasks_path,
)
from siming_tasks.plugin.response_cache.cache import replies_kept
from siming_tasks.plugin.response_cache.key import arguments_of, remember_arguments
from siming_tasks.plugin.run_context import current_run, running, threads_inherit

logger = logging.getLogger(__name__)

MODELS = {
    "siming_reference": "siming_tasks.plugin.reference_model.SimingReference",
    "siming_nano": "siming_tasks.models.nano.chat_model.SimingNano",
}


def manifests() -> list[Any]:
    """Payload of the entry point: registers the task folder and returns our models. Never raises."""
    with _or_say('SiMing tasks are not registered (%s); use --include_path "$(siming --tasks-path)".'):
        host.replace("lmms_eval.tasks:TaskManager.initialize_tasks", _index_our_folder)
        host.replace("lmms_eval.tasks:TaskManager.match_tasks", _check_chosen_tasks)
        host.replace("lmms_eval.api.model:lmms.__new__", remember_arguments)
        host.after_import("lmms_eval.evaluator", wrap_evaluation)
    found: list[Any] = []
    with _or_say(f"There is no {' and no '.join(MODELS)} (%s); other models are not affected."):
        manifest = host.fetch("lmms_eval.models.registry_v2:ModelManifest")
        found += [manifest(model_id=name, chat_class_path=path) for name, path in MODELS.items()]
        with _or_say(f"`lmms-eval models` does not list {' and '.join(MODELS)} (%s), but --model accepts them."):
            host.fetch("lmms_eval.models:AVAILABLE_CHAT_TEMPLATE_MODELS").update(MODELS)
    return found


@contextmanager
def _or_say(missing: str) -> Iterator[None]:
    """Run one part of the registration; where it fails, say what is missing: other evaluations must go on."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever another lmms-eval has changed
        logger.warning(missing, error)


def wrap_evaluation() -> None:
    """Replace ``simple_evaluate`` and ``evaluate`` of lmms-eval. Does nothing the second time."""
    host.replace("lmms_eval.evaluator:simple_evaluate", _checked_simple_evaluate)
    host.replace("lmms_eval.evaluator:evaluate", _checked_evaluate)


def _index_our_folder(initialize_tasks: Any, self: Any, include_path: Any = None, include_defaults: bool = True) -> Any:
    paths = [include_path] if isinstance(include_path, str) else list(include_path or [])
    if include_defaults and tasks_path() not in paths:
        paths.append(tasks_path())
    if host.is_imported("lmms_eval.evaluator"):
        wrap_evaluation()
    return initialize_tasks(self, include_path=paths or None, include_defaults=include_defaults)


_SAVING = ExitStack()
"""Replaced savers of the command's present run; the command saves after ``simple_evaluate`` has returned."""


def _check_chosen_tasks(match_tasks: Any, self: Any, task_list: Any) -> Any:
    names = match_tasks(self, task_list)
    _SAVING.close()
    with _one_message(True):  # the command line is the only caller
        check_names(task_list, names, getattr(self, "all_tasks", ()))
        if any(map(is_siming_task, names)):
            wrap_evaluation()
            plan(Options.from_env(), names)
            _SAVING.enter_context(host.replaced(saved_run.SAVERS))
    return names


def _checked_simple_evaluate(simple_evaluate: Any, *args: Any, **kwargs: Any) -> Any:
    call = inspect.signature(simple_evaluate).bind_partial(*args, **kwargs)
    bound = call.arguments
    tasks, model = bound.get("tasks") or [], bound.get("model")
    ours = [task for task in ([tasks] if isinstance(tasks, str) else tasks) if is_siming_task(task)]
    if not ours:
        return simple_evaluate(*args, **kwargs)
    command_line = bound.get("cli_args") is not None
    with _one_message(command_line):
        arguments = arguments_of_command(model, bound) if isinstance(model, str) else None  # an object: see evaluate
        planned = plan(Options.from_env(), ours, arguments)
    if added := planned.added:
        logger.warning("siming-tasks: %s is given %s (%s).", model, _listed(added), see("models"))
        bound["model_args"] = ",".join(filter(None, [bound.get("model_args"), _listed(added)]))
    uncounted = host.swapped("datasets.config:HF_UPDATE_DOWNLOAD_COUNTS", import_module("datasets.config"), False)
    run = replace(planned.run, named=isinstance(model, str))
    with _one_message(command_line), running(run), host.replaced(host.shields()), uncounted:
        return simple_evaluate(*call.args, **call.kwargs)


def arguments_of_command(model: str, arguments: Mapping[str, Any]) -> RunArguments:
    """Arguments of ``simple_evaluate`` that matter here, with the row of the model's class (OptionsError: no such)."""
    try:
        path = host.fetch("lmms_eval.models:MODEL_REGISTRY_V2.resolve")(
            model, force_simple=bool(arguments.get("force_simple"))
        ).class_path
    except ValueError:
        near = difflib.get_close_matches(model, host.fetch("lmms_eval.models:MODEL_REGISTRY_V2.list_model_names")(), 1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise OptionsError(
            f"--model {model}: lmms-eval has no such model. {meant}`lmms-eval models` lists all."
        ) from None
    model_args = arguments.get("model_args") or {}
    if isinstance(model_args, str):
        model_args = host.fetch("lmms_eval.utils:simple_parse_args_string")(model_args)
    alike = ("system_instruction", "apply_chat_template", "num_fewshot", "use_cache", "limit")
    batch_size = str(arguments.get("batch_size") or model_args.get("batch_size") or 1)
    return RunArguments(
        model,
        backend_with_arguments(backend_of([path.rpartition(".")[0]]), model_args),
        model_args,
        int(batch_size) if batch_size.isdecimal() else 1,
        output_path=getattr(arguments.get("cli_args"), "output_path", None),
        **{name: arguments[name] for name in alike if name in arguments},
    )


def _listed(arguments: Mapping[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in arguments.items())


def _checked_evaluate(evaluate: Any, lm: Any, task_dict: Any, *args: Any, **kwargs: Any) -> Any:
    if not (tasks := _our_tasks(task_dict)):
        return evaluate(lm, task_dict, *args, **kwargs)
    for task in tasks.values():
        _record_with_predict_only(task)
    modality, size, given = getattr(lm, "modality", None), getattr(lm, "batch_size", 1), arguments_of(lm) or {}
    backend = backend_with_arguments(
        backend_of(base.__module__ for base in type(lm).__mro__),
        {name: getattr(lm, name, "") for name in ("pass_video_url", "init_audio")},
    )
    recipient = recipient_of(lm, backend, given)
    arguments = RunArguments(
        type(lm).__name__, backend, {**given, "modality": modality}, size if isinstance(size, int) else 1,
        system_instruction=kwargs.get("system_instruction"), use_cache=kwargs.get("response_cache"),
        recipient=recipient,
    )  # fmt: skip
    with _one_message(kwargs.get("cli_args") is not None):
        run = current_run()
        with running(run):
            for spec in TASKS.values():
                if spec.task_name in tasks:
                    _check_loaded_now(spec, tasks[spec.task_name])
        planned = plan(run.options, tasks, arguments)
        if planned.added:
            logger.warning(
                "siming-tasks: this %s was made without %s, which it would get if it were made "
                "by name. Results may differ (%s).", type(lm).__name__, _listed(planned.added), see("models"),
            )  # fmt: skip
        run = run.asking(backend, recipient, modality)
        with running(run), threads_inherit(), replies_kept(lm), stored_images_sent(lm, backend):
            return evaluate(lm, task_dict, *args, **kwargs)


def _check_loaded_now(spec: TaskSpec, task: Any) -> None:
    """Refuse a task object that was loaded under other options or data than those of now (OptionsError).

    Its prompts and documents would be those of then, and what is shown that of now.
    """
    metadata = task.config.metadata
    loaded, now = metadata if isinstance(metadata, dict) else {}, BY_TASK["metadata"](spec)
    for name in ("siming_options", "siming_prompt", "siming_digest", "shard"):
        if loaded.get(name) != now.get(name):
            raise OptionsError(
                f"{spec.task_name} was loaded with {name} {loaded.get(name)}, and now it is {now.get(name)}. Load the "
                "task again after a change of options or data: give its name to simple_evaluate."
            )


@contextmanager
def _one_message(command_line: bool) -> Iterator[None]:
    """On the command line, end with a message and exit code 1: lmms-eval would print a traceback and exit 0."""
    try:
        yield
    except Exception as error:
        if not command_line:
            raise
        if isinstance(error, SimingError):
            raise SystemExit(f"siming-tasks: {error}") from None
        traceback.print_exc()
        named = one_line(f"{type(error).__name__}: {error}", 300)
        raise SystemExit(f"siming-tasks: the run ended with the error above. Saved replies are kept. {named}") from None


def _our_tasks(task_dict: Mapping[Any, Any]) -> dict[str, Any]:
    """Tasks of ours by name, in a dictionary of tasks and groups."""
    tasks: dict[str, Any] = {}
    for name, task in task_dict.items():
        task = task[1] if isinstance(task, tuple) else task
        if isinstance(task, dict):
            tasks |= _our_tasks(task)
        elif is_siming_task(name) or is_siming_task(task):
            tasks[name] = task
    return tasks


def _record_with_predict_only(task: Any) -> None:
    """Write records with ``--predict_only`` too, so that they can be scored later: lmms-eval drops process_results."""
    if "bypass" in getattr(task, "_metric_fn_list", {}) and task.config.process_results is None:
        task.config.process_results = lambda doc, results: {
            "bypass": 999,
            RECORD: process_results(doc, results)[RECORD],
        }
