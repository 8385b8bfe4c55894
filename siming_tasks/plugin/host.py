"""The one place where this package touches lmms-eval: versions that were tested, names that are replaced or read.

lmms-eval 0.7 has no entry point for tasks and no place for a task's own checks, so some of its functions are replaced:
a few for good, which notice that one of our tasks is chosen and pass everything else through (:data:`DOORS`); the
others while one of our tasks runs (:data:`DURING_A_RUN`, :data:`OF_A_RUN`). Its behaviour is tested for each version of
:data:`TESTED`; another one is refused.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from typing import Any, NamedTuple

from siming_tasks.common.errors import OptionsError

TESTED = ("0.7.3",)
"""Versions of lmms-eval with which all tests of this package have passed."""

Wrap = Callable[..., Any]
"""Replacement of a function, which gets that function before its arguments."""

_MODELS = "lmms_eval.models"
FILELOCK_GUARD = "lmms_eval.evaluator:_enable_reentrant_filelocks"


class Touch(NamedTuple):
    """Reason why a name is touched, and the change of lmms-eval (by its number in ``utils/upstream``) that ends it."""

    why: str
    until: str


_TASKS = "008, task entry points"
_CHECKS = "a place for a task's own checks of a run"
_SAVES = "006, a failed run says so"
_CACHE = "005, a cache of replies"
_SENDS = "images that a class sends as they are stored"

DOORS: Mapping[str, Touch] = {
    "lmms_eval.tasks:TaskManager.initialize_tasks": Touch("our folder of task files is indexed, too", _TASKS),
    "lmms_eval.tasks:TaskManager.match_tasks": Touch(
        "wrong data end the command line as soon as tasks are known", _CHECKS
    ),
    "lmms_eval.evaluator:simple_evaluate": Touch("all arguments of a run are known, and no model is loaded", _CHECKS),
    "lmms_eval.evaluator:evaluate": Touch("the model object is known, however it was made", _CHECKS),
    "lmms_eval.api.model:lmms.__new__": Touch("models remember their arguments, for the key of a kept reply", _CACHE),
}
"""Functions that are replaced for good; without one of our tasks they behave as before."""

DURING_A_RUN: Mapping[str, Touch] = {
    FILELOCK_GUARD: Touch("filelock 4.3 and later lack filelock._api, which it imports", "lmms-eval declares filelock"),
    "lmms_eval.loggers:EvaluationTracker.save_results_aggregated": Touch(
        "a file that is not whole ends the run", _SAVES
    ),
    "lmms_eval.loggers:EvaluationTracker.save_results_samples": Touch("so does a log of samples", _SAVES),
    **{
        name: Touch("stored frames are sent as they are, not as PNG, and under their own media type", _SENDS)
        for name in (
            "lmms_eval.protocol:ChatMessages.encode_image",
            "lmms_eval.protocol:ChatMessages.to_openai_messages",
            "lmms_eval.protocol:ChatMessages.to_qwen3_vl_openai_messages",
            f"{_MODELS}.chat.gemini:_image_to_bytes",
            f"{_MODELS}.chat.gemini:_chat_messages_to_gemini_contents",
            f"{_MODELS}.simple.claude:Claude.get_image_size",
            f"{_MODELS}.simple.gpt4v:GPT4V.encode_image",
            f"{_MODELS}.simple.openai:OpenAICompatible.encode_image",
            f"{_MODELS}.simple.reka:Reka.encode_image",
        )
    },
    f"{_MODELS}.simple.internvl2:load_image": Touch(
        "an image is one tile, as a frame of a video", "an argument for tiles"
    ),
    f"{_MODELS}.simple.video_llava:read_video": Touch("it gives by place what its reader takes by name", "it names it"),
}
"""Functions that are replaced while one of our tasks runs."""

OF_A_RUN: Mapping[str, Touch] = {
    "model:generate_until": Touch("kept replies are found, and new ones kept as they come", _CACHE),
    "model:client": Touch("an asynchronous client is used in one event loop only", "a client for each loop"),
    "model:maybe_forward_with_tool": Touch("a reply of async_openai is seen when it comes", _CACHE),
    "model:_build_sampling_params_dict": Touch("vLLM is given the schema of the reply", "an argument for schemas"),
    "module:reader": Touch(
        "an error of a reader of media is heard, which its class swallows", "a class that says what it could not read"
    ),
    "module:log_usage": Touch("a count that is not a whole number breaks lmms-eval's sums", "counts are checked there"),
    "module:tqdm": Touch("one progress bar is shown instead of one per call", "one reply per call"),
    "client:chat.completions.create": Touch("images get their media type, replies their schema", "the same two"),
    "client:models.generate_content": Touch("Gemini is given the schema of the reply", "an argument for schemas"),
    "client:send": Touch("what is sent to a service is entered in the ledger", "the usage of each answer"),
    "concurrent.futures:ThreadPoolExecutor.submit": Touch(
        "a thread knows for which request it sends", "the usage of each answer"
    ),
    "datasets.config:HF_UPDATE_DOWNLOAD_COUNTS": Touch(
        "reading the list of exams is not counted at s3.amazonaws.com", "a task that reads no file"
    ),
}
"""Attributes of the objects of a run, and of other libraries, that are replaced while it asks."""

READ: Mapping[str, Touch] = {
    "lmms_eval.api.model:lmms": Touch("base class of our own models", ""),
    f"{_MODELS}.registry_v2:ModelManifest": Touch("our own models are registered with it", ""),
    f"{_MODELS}:AVAILABLE_CHAT_TEMPLATE_MODELS": Touch("`lmms-eval models` lists this dictionary", ""),
    f"{_MODELS}:MODEL_REGISTRY_V2.resolve": Touch("the class of a model is looked up before it is imported", ""),
    f"{_MODELS}:MODEL_REGISTRY_V2.list_model_names": Touch("a misspelled --model gets the nearest name", ""),
    "lmms_eval.utils:simple_parse_args_string": Touch("--model_args is read as lmms-eval reads it", ""),
    "lmms_eval.tasks:eval_logger": Touch("messages appear in lmms-eval's own log", ""),
    "lmms_eval.api.instance:unwrap_generation_output": Touch("replies are taken out of what a class returns", ""),
    "lmms_eval.api.instance:GenerationResult": Touch("kept replies are handed back as a class returned them", ""),
    "lmms_eval.api.instance:TokenCounts": Touch("the same for their token counts", ""),
    f"{_MODELS}.model_utils.usage_metrics:is_budget_exceeded": Touch("a run ends where --max_tokens is used up", ""),
}
"""Names that are read, public ones of lmms-eval."""

TOUCH_POINTS: Mapping[str, Touch] = {**DOORS, **DURING_A_RUN, **READ}
"""Every name of lmms-eval that this package touches (``module:Class.method``)."""

_MARK = "_siming_replacement"


def refuse_untested(wanted: str) -> None:
    """Refuse an lmms-eval that was not tested (OptionsError), unless ``SIMING_LMMS_EVAL`` (``wanted``) is ``any``."""
    try:
        version = metadata.version("lmms_eval")
    except metadata.PackageNotFoundError:  # a source tree on the path
        version = "of unknown version"
    if version not in TESTED and wanted != "any":
        raise OptionsError(
            f"lmms-eval {version} was not tested with these tasks (tested: {', '.join(TESTED)}): "
            f"pip install lmms-eval=={TESTED[-1]}, or set SIMING_LMMS_EVAL=any and check the results."
        )


def fetch(name: str) -> Any:
    """Object of lmms-eval that a key of :data:`TOUCH_POINTS` names (ImportError, AttributeError: there is none)."""
    assert name in TOUCH_POINTS, name
    return pkgutil.resolve_name(name)


def replace(name: str, wrap: Wrap) -> None:
    """Replace a function of :data:`DOORS` for the rest of the process; does nothing the second time."""
    assert name in DOORS, name
    if not getattr(fetch(name), _MARK, False):
        _set(name, wrap)


@contextmanager
def replaced(wraps: Mapping[str, Wrap]) -> Iterator[None]:
    """While the block runs, functions of :data:`DURING_A_RUN` are replaced, those of modules that are imported."""
    assert wraps.keys() <= DURING_A_RUN.keys(), wraps
    undo = [_set(name, wrap) for name, wrap in wraps.items() if is_imported(name.partition(":")[0])]
    try:
        yield
    finally:
        for restore in reversed(undo):
            restore()


@contextmanager
def swapped(name: str, owner: Any, value: Any, attribute: str = "") -> Iterator[None]:
    """While the block runs, an attribute of ``owner`` is ``value``: the last part of a name of :data:`OF_A_RUN`."""
    assert name in OF_A_RUN, name
    restore = _put(owner, attribute or re.split("[.:]", name)[-1], value)
    try:
        yield
    finally:
        restore()


def shields() -> Mapping[str, Wrap]:
    """Replacements without which lmms-eval cannot run with the installed libraries."""
    return {} if importlib.util.find_spec("filelock._api") else {FILELOCK_GUARD: lambda enable: None}


def _set(name: str, wrap: Wrap) -> Callable[[], None]:
    """Replace a function; returns what puts it back."""
    module, _, path = name.partition(":")
    place, _, attribute = path.rpartition(".")
    owner, original = pkgutil.resolve_name(f"{module}:{place}"), fetch(name)

    def replacement(*args: Any, **kwargs: Any) -> Any:
        return wrap(original, *args, **kwargs)

    if inspect.isfunction(original):  # inspect.signature() of a class must not come to object.__new__
        functools.update_wrapper(replacement, original)
    setattr(replacement, _MARK, True)
    return _put(owner, attribute, replacement)


def _put(owner: Any, attribute: str, value: Any) -> Callable[[], None]:
    """Set an attribute; returns what puts the former one back, or takes the new one away where there was none."""
    own = attribute in getattr(owner, "__dict__", {})
    before = getattr(owner, attribute, None)
    setattr(owner, attribute, value)
    return lambda: setattr(owner, attribute, before) if own else delattr(owner, attribute)


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
