"""The tasks of SiMing-Bench are registered, whole, and say what they need."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

import lmms_eval.tasks
from lmms_eval.tasks import TaskManager
from lmms_eval.utils import load_yaml_config

FOLDER = Path(lmms_eval.tasks.__file__).parent / "siming"
TASKS = ["siming_full_score", "siming_full_error", "siming_clip_score", "siming_clip_error"]
GROUPS = {"siming": ["siming_full", "siming_clip"], "siming_full": TASKS[:2], "siming_clip": TASKS[2:]}


def _utils() -> ModuleType:
    """The module beside the task files, loaded anew as lmms-eval does."""
    spec = importlib.util.spec_from_file_location("siming_utils", FOLDER / "utils.py")
    assert spec is not None and spec.loader is not None
    utils = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(utils)
    return utils


@pytest.fixture(scope="module")
def manager() -> TaskManager:
    return TaskManager(include_path=str(FOLDER), include_defaults=False)


def test_tasks_and_groups_are_registered(manager: TaskManager) -> None:
    assert set(manager.all_subtasks) == set(TASKS)
    assert set(manager.all_groups) == set(GROUPS)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_holds_its_tasks(group: str) -> None:
    assert load_yaml_config(str(FOLDER / f"{group}.yaml"), mode="simple")["task"] == GROUPS[group]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_its_metrics(task: str) -> None:
    kind = task.rpartition("_")[2]
    assert load_yaml_config(str(FOLDER / f"{task}.yaml"), mode="simple")["output_type"] == "generate_until"
    names = {metric["metric"] for metric in load_yaml_config(str(FOLDER / f"_{kind}_template_yaml"), mode="simple")["metric_list"]}
    assert names >= {"score": {"qwk", "plcc", "srcc", "coverage"}, "error": {"mcc", "precision", "recall", "f1", "coverage"}}[kind]


def test_the_hooks_are_those_of_the_package() -> None:
    hooks = pytest.importorskip("siming_tasks.plugin.hooks")
    utils = _utils()
    for name in ("doc_to_messages", "doc_to_visual", "doc_to_text", "doc_to_target", "process_results", "evaluation"):
        assert getattr(utils, name) is getattr(hooks, name)
    assert all(callable(getattr(utils, metric)) for metric in ("qwk", "plcc", "srcc", "mcc", "f1", "coverage"))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "siming_tasks.plugin.hooks", None)
    utils = _utils()
    with pytest.raises(ImportError, match="pip install siming-tasks"):
        utils.process_results
