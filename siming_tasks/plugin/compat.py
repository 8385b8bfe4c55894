"""Every place where this package touches lmms-eval, and the one routine that replaces, checks and warns.

:data:`TOUCH_POINTS` is written for lmms-eval 0.7.3. Where another version has renamed a function or takes other
arguments, that function is left as it is and one sentence says what is lost. Where results could be wrong without it,
tasks of this package refuse to run. A new version of lmms-eval needs changes here and in ``media/backends.yaml`` only.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import logging
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from siming_tasks.common.errors import SimingError

logger = logging.getLogger(__name__)

Use = Literal["replaced", "replaced during a run", "read"]
Wrap = Callable[..., Any]
"""Replacement of a function, which gets that function before its arguments."""

INHERITED = "inherited from object"
"""Signature of a method that the class must not define itself."""

_MARK = "_siming_replacement"


@dataclass(frozen=True)
class TouchPoint:
    """One name of lmms-eval that this package replaces or reads.

    Attributes:
        name: ``module:Class.method``, as entry points write it.
        use: ``replaced`` for the rest of the process, ``replaced during a run`` of a task of ours, or only ``read``.
        signature: names of its parameters; with ``...`` at the end it may take more. Empty: it is not called.
        reason: why this package touches it.
        loss: what does not work without it, as a sentence for the user.
        essential: results could be wrong without it, so that tasks of this package do not run.
    """

    name: str
    use: Use
    signature: str
    reason: str
    loss: str
    essential: bool = False

    @property
    def module(self) -> str:
        """Name of the module."""
        return self.name.partition(":")[0]

    def sentence(self, problem: str) -> str:
        """Message for a user whose lmms-eval differs at this point."""
        return f"lmms-eval differs from version 0.7.3: {self.name} {problem}. {self.loss}"


_UNLOADED = "Tasks of siming-tasks do not run, because models would be loaded without the arguments that they need."
_UNREADABLE = "Tasks of siming-tasks do not run, because replies could not be read."
_UNTRIED = "Tasks of siming-tasks do not run, because it could not be tried whether replies reach their documents."
_NO_MODELS = "--model siming_reference and --model siming_nano are not available."
_HEAVIER = "Images are sent as lmms-eval encodes them, which is correct and several times heavier."
_UNCHECKED = "Nothing checks that the files of this run are complete, so look at them before you rely on them."

_ROWS = (
    TouchPoint(
        "lmms_eval.tasks:TaskManager.initialize_tasks", "replaced", "self, include_path, include_defaults",
        "lmms-eval has no entry point for tasks: the folder of our task files is added to those that it indexes",
        'Tasks are not registered. Add --include_path "$(siming tasks-path)" to the command.',
    ),
    TouchPoint(
        "lmms_eval.tasks:TaskManager.match_tasks", "replaced", "self, task_list",
        "the command line chooses tasks here: wrong data stop it with one message and exit code 1",
        "Wrong data are reported later, and `lmms-eval power` skips the tasks with a warning.",
    ),
    TouchPoint(
        "lmms_eval.tasks:TaskManager.load_task_or_group", "replaced", "self, task_list, ...",
        "the data are checked before task files are read: an error within a task file becomes an ImportError",
        "Wrong data are reported as an ImportError of a task file.",
    ),
    TouchPoint(
        "lmms_eval.evaluator:simple_evaluate", "replaced",
        "model, model_args, tasks, num_fewshot, batch_size, system_instruction, apply_chat_template, cli_args, "
        "force_simple, ...",
        "all arguments of a run are known here before a model is loaded: what cannot work is refused, and the class "
        "gets the arguments of backends.yaml", _UNLOADED, essential=True,
    ),
    TouchPoint(
        "lmms_eval.evaluator:evaluate", "replaced", "lm, task_dict, ...",
        "the model object is known here: its class decides what it is shown, and each reply is kept with its request",
        "Tasks of siming-tasks do not run, because models would be shown the wrong media and replies could be "
        "attributed to the wrong request.", essential=True,
    ),
    TouchPoint(
        "lmms_eval.api.model:lmms.__new__", "replaced", INHERITED,
        "model objects remember the arguments of their class, which are part of the key of every kept reply",
        "Replies are not kept when they arrive, so that a run that is cut short starts again from the beginning.",
    ),
    TouchPoint(
        "lmms_eval.loggers:EvaluationTracker.save_results_aggregated", "replaced",
        "self, results, samples, datetime_str",
        "lmms-eval ignores a full disk: results are read back, and an incomplete run ends with an error", _UNCHECKED,
    ),
    TouchPoint(
        "lmms_eval.loggers:EvaluationTracker.save_results_samples", "replaced", "self, task_name, samples",
        "the same for the logs of samples", _UNCHECKED,
    ),
    TouchPoint(
        "lmms_eval.models:get_model", "replaced during a run", "model_name, force_simple",
        "the class of the model is given the arguments of backends.yaml on top of the user's", _UNLOADED,
        essential=True,
    ),
    TouchPoint(
        "lmms_eval.protocol:ChatMessages.encode_image", "replaced during a run",
        "self, image, cache, image_format, quality", "stored frames are not encoded a second time", _HEAVIER,
    ),
    TouchPoint(
        "lmms_eval.protocol:ChatMessages.to_openai_messages", "replaced during a run",
        "self, video_kwargs, pass_video_url", "stored frames are put into the message under their own media type",
        _HEAVIER,
    ),
    TouchPoint(
        "lmms_eval.protocol:ChatMessages.to_qwen3_vl_openai_messages", "replaced during a run", "self, video_kwargs",
        "the same for Qwen3-VL behind vLLM", _HEAVIER,
    ),
    TouchPoint(
        "lmms_eval.models.chat.gemini:_image_to_bytes", "replaced during a run", "img, fmt",
        "stored frames are not encoded as PNG", _HEAVIER,
    ),
    TouchPoint(
        "lmms_eval.models.chat.gemini:_chat_messages_to_gemini_contents", "replaced during a run",
        "chat_messages, upload_fn, system_parts", "stored frames are put into the request under their own media type",
        _HEAVIER,
    ),
    TouchPoint(
        "lmms_eval.models.simple.claude:Claude.get_image_size", "replaced during a run", "self, image",
        "the size of what is sent is compared with the limit of the service, not the size of a PNG", _HEAVIER,
    ),
    TouchPoint("lmms_eval.api.model:lmms", "read", "", "base class of our own models", _NO_MODELS),
    TouchPoint(
        "lmms_eval.models.registry_v2:ModelManifest", "read", "model_id, simple_class_path, chat_class_path, aliases",
        "our own models are registered with it", _NO_MODELS,
    ),
    *(
        TouchPoint(
            f"lmms_eval.models.simple.{name}.encode_image", "replaced during a run", "self, image",
            "stored frames are not encoded as PNG", _HEAVIER,
        )
        for name in ("gpt4v:GPT4V", "openai:OpenAICompatible", "reka:Reka")
    ),
    TouchPoint(
        "lmms_eval.models.simple.internvl2:load_image", "replaced during a run", "image, input_size, max_num",
        "an image is one tile of 448 x 448, as a frame of its videos is: 64 frames are then 16,384 tokens, not 49,152",
        "`internvl2` cuts each image in up to seven tiles, and many frames may not fit its context.",
    ),
    TouchPoint(
        "lmms_eval.models:AVAILABLE_CHAT_TEMPLATE_MODELS", "read", "", "`lmms-eval models` lists this dictionary",
        "`lmms-eval models` does not list siming_reference and siming_nano.",
    ),
    TouchPoint(
        "lmms_eval.models:MODEL_REGISTRY_V2.resolve", "read", "model_name, force_simple",
        "the class of a model is looked up before it is imported", _UNLOADED, essential=True,
    ),
    TouchPoint(
        "lmms_eval.utils:simple_parse_args_string", "read", "args_string",
        "--model_args is read as lmms-eval reads it",
        "Tasks of siming-tasks do not run, because --model_args could not be checked.", essential=True,
    ),
    TouchPoint(
        "lmms_eval.utils:make_table", "read", "result_dict, column, ...",
        "the table is printed before a run ends because a file is incomplete",
        "The table of a run whose files are incomplete is not printed.",
    ),
    TouchPoint(
        "lmms_eval.tasks:eval_logger", "read", "", "messages appear in lmms-eval's own log",
        "Messages about kept replies go to Python's logging, which shows only warnings unless it is configured.",
    ),
    TouchPoint(
        "lmms_eval.api.instance:Instance", "read", "request_type, arguments, idx, metadata, ...",
        "requests of a stand-in show how a class of models behaves", _UNTRIED, essential=True,
    ),
    TouchPoint(
        "lmms_eval.api.task:ConfigurableMessagesTask", "read", "",
        "tasks of a stand-in show how replies reach the scoring", _UNTRIED, essential=True,
    ),
    TouchPoint(
        "lmms_eval.api.instance:unwrap_generation_output", "read", "output",
        "replies are taken out of what a class of models returns", _UNREADABLE, essential=True,
    ),
    TouchPoint(
        "lmms_eval.models.model_utils.usage_metrics:is_budget_exceeded", "read", "",
        "a run ends with one message where the budget of --max_tokens is used up",
        "Where --max_tokens is used up, the requests that are left count as failed.",
    ),
    TouchPoint(
        "lmms_eval.api.instance:GenerationResult", "read", "text, token_counts",
        "kept replies are handed back as a class of models returned them", _UNREADABLE, essential=True,
    ),
    TouchPoint(
        "lmms_eval.api.instance:TokenCounts", "read", "input_tokens, output_tokens, reasoning_tokens",
        "the same for their token counts", _UNREADABLE, essential=True,
    ),
)  # fmt: skip

TOUCH_POINTS: Mapping[str, TouchPoint] = types.MappingProxyType({point.name: point for point in _ROWS})
"""Every name of lmms-eval that this package replaces or reads, by name."""

_Place = tuple[Any, str, Any]
"""Owner, attribute and present value of a touch point."""

_differences: dict[str, str] = {}


def replace(name: str, wrap: Wrap) -> None:
    """Replace a function of lmms-eval for the rest of the process. Never raises, and does nothing the second time.

    A function that differs from version 0.7.3 is left as it is, and a warning says what is lost.

    Args:
        name: a key of :data:`TOUCH_POINTS`.
        wrap: the replacement.
    """
    place = _checked(name)
    if place and not getattr(place[2], _MARK, False):
        _set(place, wrap)


@contextmanager
def replaced(wraps: Mapping[str, Wrap]) -> Iterator[None]:
    """While the block runs, these functions of lmms-eval are replaced: all of them, or none if one of them differs."""
    places = [place for name in wraps if (place := _checked(name))]
    complete = len(places) == len(wraps)
    for place, wrap in zip(places if complete else (), wraps.values(), strict=False):
        _set(place, wrap)
    try:
        yield
    finally:
        for owner, attribute, original in reversed(places if complete else ()):
            setattr(owner, attribute, original)


def fetch(name: str) -> Any:
    """An object of lmms-eval, checked; None if it differs from version 0.7.3 (a warning says what is lost).

    Raises:
        SimingError: it differs, and results could be wrong without it.
    """
    if place := _checked(name):
        return place[2]
    if TOUCH_POINTS[name].essential:
        raise SimingError(_differences[name])
    return None


def refuse_if_changed() -> None:
    """Check all essential touch points of modules that are imported.

    Raises:
        SimingError: one of them differs from version 0.7.3; says which, and what could go wrong.
    """
    for name, point in TOUCH_POINTS.items():
        if point.essential and is_imported(point.module) and not _checked(name):
            raise SimingError(f"{_differences[name]} Install lmms-eval 0.7.3: pip install lmms-eval==0.7.3")


def is_imported(module: str) -> bool:
    """Test whether a module has been imported to its end."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return module in sys.modules and not getattr(spec, "_initializing", False)


def after_import(name: str, call: Callable[[], object]) -> None:
    """Call a function once when a module that is being imported is first used; nothing if it is not being imported.

    lmms-eval calls our entry point in the middle of importing its evaluator. Its functions must be replaced before a
    program takes them out with ``from lmms_eval.evaluator import simple_evaluate``.
    """
    module = sys.modules.get(name)
    if module is None or is_imported(name):
        return
    before = type(module)

    class Importing(before):  # type: ignore[misc, valid-type]
        """The module until it is first used; a module's class may be changed (Python's data model, 3.3.2.1)."""

        def __getattribute__(self, attribute: str) -> Any:
            if not attribute.startswith("__") and is_imported(name):
                self.__class__ = before  # type: ignore[assignment]
                call()
            return before.__getattribute__(self, attribute)

    module.__class__ = Importing


def _checked(name: str) -> _Place | None:
    """Place of a touch point; None if it differs, of which a warning is given once."""
    point = TOUCH_POINTS[name]
    place = _find(point)
    if not isinstance(place, str):
        return place
    sentence = point.sentence(place)
    if _differences.get(name) != sentence:
        _differences[name] = sentence
        logger.warning("siming-tasks: %s", sentence)
    return None


def _find(point: TouchPoint) -> _Place | str:
    """Place of a touch point, or its difference from version 0.7.3."""
    *path, attribute = point.name.partition(":")[2].split(".")
    try:
        owner: Any = sys.modules.get(point.module) or importlib.import_module(point.module)
        for part in path:
            owner = getattr(owner, part)
        value = getattr(owner, attribute)
    except (ImportError, AttributeError):
        return "is not there"
    if point.signature == INHERITED:
        defined = attribute in vars(owner) and not getattr(value, _MARK, False)
        return "is defined by the class itself" if defined else (owner, attribute, value)
    if point.signature:
        try:
            parameters = list(inspect.signature(value).parameters)
        except (TypeError, ValueError):
            return "cannot be called"
        names = point.signature.split(", ")
        if not (set(names[:-1]) <= set(parameters) if names[-1] == "..." else names == parameters):
            return f"takes ({', '.join(parameters)}), expected ({point.signature})"
    return owner, attribute, value


def _set(place: _Place, wrap: Wrap) -> None:
    owner, attribute, original = place

    def replacement(*args: Any, **kwargs: Any) -> Any:
        return wrap(original, *args, **kwargs)

    if inspect.isfunction(original):  # inspect.signature() of a class must not come to object.__new__
        functools.update_wrapper(replacement, original)
    setattr(replacement, _MARK, True)
    setattr(owner, attribute, replacement)
