"""The one place where this package touches lmms-eval: versions that were tested, names that are replaced or read.

lmms-eval 0.7 has no entry point for tasks and no place for a task's own checks, so some of its functions are replaced:
a few for good, by which we learn that a task of ours is chosen, and which hand everything else on as it came
(:data:`DOORS`); the others while a task of ours runs (:data:`DURING_A_RUN`). Its behaviour is tested for each version
of :data:`TESTED`; another one is refused.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from siming_tasks.common.errors import OptionsError

TESTED = ("0.7.3",)
"""Versions of lmms-eval with which all tests of this package have passed."""

Wrap = Callable[..., Any]
"""Replacement of a function, which gets that function before its arguments."""

_MODELS = "lmms_eval.models"
FILELOCK_GUARD = "lmms_eval.evaluator:_enable_reentrant_filelocks"

DOORS: Mapping[str, str] = {
    "lmms_eval.tasks:TaskManager.initialize_tasks": "our folder of task files is added to those that are indexed",
    "lmms_eval.tasks:TaskManager.match_tasks": "the command line chooses tasks here: wrong data end it at once",
    "lmms_eval.evaluator:simple_evaluate": "all arguments of a run are known here, before a model is loaded",
    "lmms_eval.evaluator:evaluate": "the model object is known here, however it was made",
    "lmms_eval.api.model:lmms.__new__": "models remember their arguments, which are part of the key of a kept reply",
}
"""Functions that are replaced for good and why; without a task of ours they do what they always did."""

DURING_A_RUN: Mapping[str, str] = {
    FILELOCK_GUARD: "it imports filelock._api, which filelock 4.3 and later lack, and would end every run there",
    f"{_MODELS}:get_model": "the class is given the arguments of backends.yaml beside the user's",
    "lmms_eval.loggers:EvaluationTracker.save_results_aggregated": "a results file that is not whole ends the run",
    "lmms_eval.loggers:EvaluationTracker.save_results_samples": "so does a log of samples",
    "lmms_eval.protocol:ChatMessages.encode_image": "stored frames are sent as they are, not as PNG",
    "lmms_eval.protocol:ChatMessages.to_openai_messages": "and under their own media type",
    "lmms_eval.protocol:ChatMessages.to_qwen3_vl_openai_messages": "the same",
    f"{_MODELS}.chat.gemini:_image_to_bytes": "stored frames are sent as they are, not as PNG",
    f"{_MODELS}.chat.gemini:_chat_messages_to_gemini_contents": "and under their own media type",
    f"{_MODELS}.simple.claude:Claude.get_image_size": "the size of what is sent counts, not that of a PNG",
    f"{_MODELS}.simple.gpt4v:GPT4V.encode_image": "stored frames are sent as they are, not as PNG",
    f"{_MODELS}.simple.openai:OpenAICompatible.encode_image": "the same",
    f"{_MODELS}.simple.reka:Reka.encode_image": "the same",
    f"{_MODELS}.simple.internvl2:load_image": "an image is one tile, as a frame of its videos is",
    f"{_MODELS}.simple.video_llava:read_video": "the class gives by place what its reader takes by name",
}
"""Functions that are replaced while a task of ours runs, and why."""

READ: Mapping[str, str] = {
    "lmms_eval.api.model:lmms": "base class of our own models",
    f"{_MODELS}.registry_v2:ModelManifest": "our own models are registered with it",
    f"{_MODELS}:AVAILABLE_CHAT_TEMPLATE_MODELS": "`lmms-eval models` lists this dictionary",
    f"{_MODELS}:MODEL_REGISTRY_V2.resolve": "the class of a model is looked up before it is imported",
    "lmms_eval.utils:simple_parse_args_string": "--model_args is read as lmms-eval reads it",
    "lmms_eval.tasks:eval_logger": "messages appear in lmms-eval's own log",
    "lmms_eval.api.instance:unwrap_generation_output": "replies are taken out of what a class returns",
    "lmms_eval.api.instance:GenerationResult": "kept replies are handed back as a class returned them",
    "lmms_eval.api.instance:TokenCounts": "the same for their token counts",
    f"{_MODELS}.model_utils.usage_metrics:is_budget_exceeded": "a run ends where --max_tokens is used up",
}
"""Names that are read, and why."""

TOUCH_POINTS: Mapping[str, str] = {**DOORS, **DURING_A_RUN, **READ}
"""Every name of lmms-eval that this package touches (``module:Class.method``), and why."""

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
            f"pip install lmms-eval=={TESTED[-1]}, or set SIMING_LMMS_EVAL=any and look at what it does."
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


def shields() -> Mapping[str, Wrap]:
    """Replacements without which lmms-eval cannot run beside the libraries that are installed."""
    return {} if importlib.util.find_spec("filelock._api") else {FILELOCK_GUARD: lambda enable: None}


def _set(name: str, wrap: Wrap) -> Callable[[], None]:
    """Replace a function; returns what puts it back."""
    module, _, path = name.partition(":")
    place, _, attribute = path.rpartition(".")
    owner, original = pkgutil.resolve_name(f"{module}:{place}"), fetch(name)
    own = attribute in vars(owner)

    def replacement(*args: Any, **kwargs: Any) -> Any:
        return wrap(original, *args, **kwargs)

    if inspect.isfunction(original):  # inspect.signature() of a class must not come to object.__new__
        functools.update_wrapper(replacement, original)
    setattr(replacement, _MARK, True)
    setattr(owner, attribute, replacement)
    return lambda: setattr(owner, attribute, original) if own else delattr(owner, attribute)


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
