"""Every touch point with lmms-eval: renamed or changed in a stand-in, it gives the sentence of the table."""

from __future__ import annotations

import ast
import importlib
import logging
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import siming_tasks
from siming_tasks.common.errors import SimingError
from siming_tasks.plugin import compat, register, verify_output
from siming_tasks.plugin.compat import INHERITED, TOUCH_POINTS, TouchPoint
from siming_tasks.plugin.hooks.messages import stored_images_sent
from siming_tasks.plugin.preflight import check_data, tasks_path

LOAD_TASKS = "lmms_eval.tasks:TaskManager.load_task_or_group"
SIMPLE_EVALUATE = "lmms_eval.evaluator:simple_evaluate"
ESSENTIAL = [name for name, point in TOUCH_POINTS.items() if point.essential]


def function(name: str, signature: str) -> Callable[..., Any]:
    """A function with these parameters that returns its own name."""
    scope: dict[str, Any] = {}
    parameters = ", ".join("more=None" if part == "..." else f"{part}=None" for part in signature.split(", "))
    exec(f"def {name}({parameters}): return {name!r}", scope)
    return scope[name]  # type: ignore[no-any-return]


def owner_of(point: TouchPoint) -> tuple[Any, str]:
    *path, attribute = point.name.partition(":")[2].split(".")
    owner: Any = sys.modules[point.module]
    for part in path:
        owner = getattr(owner, part)
    return owner, attribute


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules with the names and signatures of the table in place of lmms-eval."""
    monkeypatch.setattr(compat, "_differences", {})
    for point in TOUCH_POINTS.values():
        if point.module not in sys.modules or not hasattr(sys.modules[point.module], "stand_in"):
            module = types.ModuleType(point.module)
            module.stand_in = True  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, point.module, module)
    for point in TOUCH_POINTS.values():
        *path, attribute = point.name.partition(":")[2].split(".")
        owner: Any = sys.modules[point.module]
        for part in path:
            if not hasattr(owner, part):
                setattr(owner, part, type(part, (), {}))
            owner = getattr(owner, part)
        if point.signature == INHERITED:
            continue
        if point.name == "lmms_eval.api.model:lmms":
            owner.lmms = getattr(owner, "lmms", type("lmms", (), {}))
            continue
        value: Any = function(attribute, point.signature) if point.signature else {}
        if point.name.endswith("resolve"):  # of an object, not of its class
            value = staticmethod(value)
        if point.name == "lmms_eval.tasks:eval_logger":
            value = logging.getLogger("stand-in")
        setattr(owner, attribute, value)
    yield


def install_everything() -> None:
    """Changes that this package makes to lmms-eval, from its entry point to a run."""
    register.manifests()
    register.wrap_evaluation()
    verify_output.install()
    with (
        compat.replaced({"lmms_eval.models:get_model": lambda get_model, *_: get_model()}),
        stored_images_sent(),
    ):
        pass
    for name, point in TOUCH_POINTS.items():
        if point.use == "read" and not point.essential:
            compat.fetch(name)


def test_at_most_eight_functions_are_replaced_for_good() -> None:
    assert sum(point.use == "replaced" for point in TOUCH_POINTS.values()) <= 8


def test_every_touch_point_states_its_reason_and_its_loss() -> None:
    assert len(TOUCH_POINTS) > 20
    for point in TOUCH_POINTS.values():
        assert len(point.reason) > 20, point.name
        assert point.loss[0].isupper() or point.loss[0] in "`-", point.name
        assert point.loss.endswith("."), point.name
        assert ("do not run" in point.loss) == point.essential, point.name


def test_lmms_eval_is_imported_through_the_table_alone() -> None:
    """But for the two models of our own, whose classes need a base."""
    package = Path(siming_tasks.__file__).parent
    importing = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if any(name.split(".")[0] == "lmms_eval" for name in names):
                importing.add(str(path.relative_to(package)))
    assert importing == {"plugin/reference_model.py", "models/nano/chat_model.py"}


def test_nothing_is_reported_where_nothing_differs(stand_in: None, caplog: pytest.LogCaptureFixture) -> None:
    install_everything()
    compat.refuse_if_changed()
    assert not caplog.records
    for point in TOUCH_POINTS.values():
        if point.use == "replaced":
            owner, attribute = owner_of(point)
            assert getattr(getattr(owner, attribute), compat._MARK), point.name


@pytest.mark.parametrize("name", TOUCH_POINTS)
def test_a_renamed_touch_point_gives_the_sentence_of_the_table(
    stand_in: None, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    point = TOUCH_POINTS[name]
    owner, attribute = owner_of(point)
    if point.signature == INHERITED:
        owner.__new__ = lambda cls, *_, **__: object.__new__(cls)
        sentence = point.sentence("is defined by the class itself")
    else:
        delattr(owner, attribute)
        sentence = point.sentence("is not there")
    assert point.loss in sentence and point.name in sentence
    install_everything()  # never raises
    if point.essential:
        with pytest.raises(SimingError) as caught:
            check_data(["siming_full_score"])
        assert str(caught.value).startswith(sentence)
    assert [record.message for record in caplog.records].count(f"siming-tasks: {sentence}") == 1


@pytest.mark.parametrize("name", [name for name, point in TOUCH_POINTS.items() if " " in point.signature])
def test_a_touch_point_with_other_parameters_is_left_alone_and_named(
    stand_in: None, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    point = TOUCH_POINTS[name]
    if point.signature == INHERITED:
        return
    owner, attribute = owner_of(point)
    changed = function(attribute, "other")
    setattr(owner, attribute, staticmethod(changed) if name.endswith("resolve") else changed)
    install_everything()
    sentence = point.sentence(f"takes (other), expected ({point.signature})")
    if point.essential:
        with pytest.raises(SimingError) as caught:
            compat.refuse_if_changed()
        assert str(caught.value).startswith(sentence)
    assert f"siming-tasks: {sentence}" in [record.message for record in caplog.records]
    assert getattr(owner, attribute) is changed


@pytest.mark.parametrize("name", ESSENTIAL)
def test_no_task_is_loaded_where_a_number_could_be_wrong(stand_in: None, name: str) -> None:
    owner, attribute = owner_of(TOUCH_POINTS[name])
    register.manifests()
    delattr(owner, attribute)
    load = sys.modules["lmms_eval.tasks"].TaskManager.load_task_or_group
    with pytest.raises(SimingError, match="do not run"):
        load(None, ["siming_full_score"])
    assert load(None, ["mme"]) == "load_task_or_group"  # tasks of others run as ever


def test_of_functions_that_belong_together_none_is_replaced_if_one_differs(stand_in: None) -> None:
    """An image that one function leaves out must be put in by the other."""
    messages = sys.modules["lmms_eval.protocol"].ChatMessages  # type: ignore[attr-defined]
    before = messages.encode_image
    with stored_images_sent():
        assert messages.encode_image is not before
    assert messages.encode_image is before
    del messages.to_openai_messages
    with stored_images_sent():
        assert messages.encode_image is before


def test_one_saver_without_the_other_is_not_replaced(stand_in: None) -> None:
    tracker = sys.modules["lmms_eval.loggers"].EvaluationTracker  # type: ignore[attr-defined]
    before = tracker.save_results_aggregated
    del tracker.save_results_samples
    verify_output.install()
    assert tracker.save_results_aggregated is before


def test_installing_twice_replaces_once(stand_in: None) -> None:
    install_everything()
    load = sys.modules["lmms_eval.tasks"].TaskManager.load_task_or_group
    install_everything()
    assert sys.modules["lmms_eval.tasks"].TaskManager.load_task_or_group is load


def test_a_module_that_is_being_imported_is_replaced_when_it_is_first_used(stand_in: None) -> None:
    """As ``from lmms_eval.evaluator import simple_evaluate`` uses it."""
    module: Any = sys.modules["lmms_eval.evaluator"]
    module.__spec__ = types.SimpleNamespace(_initializing=True)
    calls: list[str] = []
    compat.after_import("lmms_eval.evaluator", lambda: calls.append("install"))
    assert module.evaluate and not calls  # while it is being imported
    module.__spec__._initializing = False
    assert module.simple_evaluate and module.evaluate
    assert calls == ["install"] and type(module) is types.ModuleType


def test_the_entry_point_never_raises(
    stand_in: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compat, "replace", lambda *_: 1 / 0)
    assert register.manifests() == []
    assert 'use --include_path "$(siming tasks-path)"' in caplog.text


def test_registration_adds_our_folder_once(stand_in: None) -> None:
    manager: Any = sys.modules["lmms_eval.tasks"].TaskManager  # type: ignore[attr-defined]

    def initialize_tasks(self: Any, include_path: Any = None, include_defaults: bool = True) -> Any:
        return include_path

    manager.initialize_tasks = initialize_tasks
    register.manifests()
    register.manifests()
    assert manager().initialize_tasks() == [tasks_path()]
    assert manager().initialize_tasks("mine") == ["mine", tasks_path()]
    assert manager().initialize_tasks([tasks_path()]) == [tasks_path()]
    assert manager().initialize_tasks(include_defaults=False) is None


@pytest.mark.host
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TOUCH_POINTS)
def test_the_installed_lmms_eval_has_this_touch_point(name: str) -> None:
    module = TOUCH_POINTS[name].module
    try:
        importlib.import_module(module)
    except ImportError as error:
        pytest.skip(str(error))
    assert isinstance(compat._find(TOUCH_POINTS[name]), tuple)


@pytest.mark.host
def test_simple_evaluate_is_replaced_before_a_program_takes_it_out(warm: Any, tmp_path: Path) -> None:
    from tests.lmms_eval_runs import environment

    script = tmp_path / "early.py"
    script.write_text(
        "from lmms_eval.evaluator import simple_evaluate\n"
        "from siming_tasks.plugin import compat\n"
        "assert getattr(simple_evaluate, compat._MARK)\n"
    )
    assert warm.run([], tmp_path, environment(), tmp_path / "log", script=str(script)) == 0


@pytest.mark.host
def test_concurrent_classes_are_those_that_use_threads_or_coroutines() -> None:
    """A class of a new version is found here; the table says it (``concurrent``)."""
    import re

    from siming_tasks.media import backends

    models = Path(importlib.import_module("lmms_eval.models").__file__ or "").parent
    checked = 0
    for name, row in backends().items():
        path = models / f"{name.replace('.', '/')}.py"
        if path.is_file() and row.media:
            checked += 1
            text = path.read_text(encoding="utf-8")
            assert row.concurrent == bool(re.search(r"\b(?:threading|ThreadPool|asyncio)\b", text)), name
    assert checked > 50
