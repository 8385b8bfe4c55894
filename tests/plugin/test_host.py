"""Where this package touches lmms-eval: tested versions, names that are there, and hosts that are left as they are."""

from __future__ import annotations

import importlib
import sys
import types
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import OptionsError
from siming_tasks.plugin import host, register, saved_run
from siming_tasks.plugin.hooks.messages import stored_images_sent
from siming_tasks.plugin.preflight import check_data, tasks_path
from tests.lmms_eval_runs import environment

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", host.TOUCH_POINTS)
def test_the_installed_lmms_eval_has_this_name(name: str) -> None:
    try:
        importlib.import_module(name.partition(":")[0])
    except ImportError as error:
        pytest.skip(str(error))
    assert host.fetch(name) is not None


def test_a_version_that_was_not_tested_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, short_demo: Path
) -> None:
    monkeypatch.setenv("SIMING_DATA", str(short_demo))
    assert metadata.version("lmms_eval") in host.TESTED
    check_data(["siming_full_score"])
    monkeypatch.setattr(metadata, "version", lambda _: "0.8.0")
    with pytest.raises(OptionsError) as caught:
        check_data(["siming_full_score"])
    assert str(caught.value) == (
        "lmms-eval 0.8.0 was not tested with these tasks (tested: 0.7.3): pip install lmms-eval==0.7.3, "
        "or set SIMING_LMMS_EVAL=any and look at what it does."
    )
    monkeypatch.setenv("SIMING_LMMS_EVAL", "any")
    check_data(["siming_full_score"])


def present(names: Any) -> dict[str, Any]:
    return {name: host.fetch(name) for name in names if host.is_imported(name.partition(":")[0])}


def test_nothing_but_the_doors_is_replaced_unless_a_task_of_ours_is_chosen(
    monkeypatch: pytest.MonkeyPatch, short_demo: Path
) -> None:
    tasks, evaluator = (importlib.import_module(f"lmms_eval.{name}") for name in ("tasks", "evaluator"))
    monkeypatch.setenv("SIMING_DATA", str(short_demo))
    before = present(host.DURING_A_RUN)
    assert len(before) > 5 and not any(hasattr(value, host._MARK) for value in before.values())
    assert all(hasattr(host.fetch(name), host._MARK) for name in host.DOORS), "lmms-eval has called the entry point"
    manager = tasks.TaskManager(include_defaults=False, include_path=tasks_path())
    manager.match_tasks(["nothing"])
    assert present(host.DURING_A_RUN) == before
    manager.match_tasks(["siming_full_score"])
    changed = {name for name, value in present(host.DURING_A_RUN).items() if value is not before[name]}
    assert changed == set(saved_run.SAVERS)  # the command saves when everything else is over
    manager.match_tasks(["nothing"])
    assert present(host.DURING_A_RUN) == before
    with stored_images_sent():
        assert present(host.DURING_A_RUN) != before
    assert present(host.DURING_A_RUN) == before
    assert evaluator.evaluate.__wrapped__ is not evaluator.evaluate  # a door


def test_a_door_is_replaced_once_and_an_inherited_method_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("stand_in")
    module.evaluate = lambda: "host's"
    module.Child = type("Child", (type("Base", (), {"save": lambda self: "base's"}),), {})
    monkeypatch.setitem(sys.modules, "stand_in", module)
    names = {"stand_in:evaluate": "", "stand_in:Child.save": ""}
    for table in ("DOORS", "DURING_A_RUN", "TOUCH_POINTS"):
        monkeypatch.setattr(host, table, names)
    for _ in range(2):
        host.replace("stand_in:evaluate", lambda original: f"{original()} through a door")
    assert module.evaluate() == "host's through a door"
    with host.replaced({"stand_in:Child.save": lambda original, self: f"not the {original(self)}"}):
        assert module.Child().save() == "not the base's"
    assert module.Child().save() == "base's" and "save" not in vars(module.Child)


def test_a_module_that_is_being_imported_is_replaced_when_it_is_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """As ``from lmms_eval.evaluator import simple_evaluate`` uses it."""
    module: Any = types.ModuleType("stand_in")
    module.evaluate, module.__spec__ = "evaluate", types.SimpleNamespace(_initializing=True)
    monkeypatch.setitem(sys.modules, "stand_in", module)
    calls: list[str] = []
    host.after_import("stand_in", lambda: calls.append("install"))
    assert module.evaluate and not calls  # while it is being imported
    module.__spec__._initializing = False
    assert module.evaluate and module.evaluate
    assert calls == ["install"] and type(module) is types.ModuleType


def test_simple_evaluate_is_replaced_before_a_program_takes_it_out(warm: Any, tmp_path: Path) -> None:
    (script := tmp_path / "early.py").write_text(
        "from lmms_eval.evaluator import simple_evaluate\n"
        "from siming_tasks.plugin import host\n"
        "assert getattr(simple_evaluate, host._MARK)\n"
    )
    assert warm.run([], tmp_path, environment(), tmp_path / "log", script=str(script)) == 0


def test_the_entry_point_never_raises(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(host, "replace", lambda *_: 1 / 0)
    assert register.manifests() == []
    assert 'use --include_path "$(siming --tasks-path)"' in caplog.text


def test_lmms_eval_lists_our_models(warm: Any, tmp_path: Path) -> None:
    assert warm.run(["models"], tmp_path, environment(), tmp_path / "log") == 0
    assert "siming_reference" in (tmp_path / "log").read_text()
