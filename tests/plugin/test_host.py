"""Where this package touches lmms-eval: tested versions, names that are there, and hosts that are left as they are."""

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options
from siming_tasks.plugin import host, register, saved_run
from siming_tasks.plugin.hooks.messages import stored_images_sent
from siming_tasks.plugin.host import FILELOCK_GUARD, shields
from siming_tasks.plugin.preflight import plan, tasks_path
from tests.lmms_eval_runs import ROOT, environment
from tests.plugin.test_saved_run import ORACLE

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]


def test_the_installed_lmms_eval_has_every_name_that_is_touched() -> None:
    found = []
    for name in host.TOUCH_POINTS:
        with suppress(ImportError):  # a class whose package is not installed
            importlib.import_module(name.partition(":")[0])
            found.append(host.fetch(name))
    assert None not in found and len(found) > 20


REPLACES = {"patch", "setattr", "delattr"}
PLACES = {
    "common/outgoing.py": "the gate, whose table is `LIBRARIES` there",
    "plugin/host.py": "by its tables",
    "plugin/response_cache/dispatch.py": "of a copy of a model, and of an answer's counts",
}
"""Modules that set attributes of what is not theirs, and of what."""


def replacements(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Places of a module that set an attribute of something else: calls, and assignments to imported modules' names."""
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in REPLACES:
            yield node.lineno, ast.unparse(node)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Attribute) and ast.unparse(target.value).partition(".")[0] in imported:
                    yield node.lineno, ast.unparse(node)


def test_whatever_is_replaced_is_replaced_by_a_row() -> None:
    package = Path(host.__file__).parents[1]
    texts = {path.relative_to(package).as_posix(): path.read_text("utf-8") for path in package.rglob("*.py")}
    assert {name for name, text in texts.items() if any(replacements(ast.parse(text)))} == PLACES.keys()
    found = "import os\nimport lmms_eval.utils as u\nu.a.b = 1\nos.environ['x'] = 2\nsetattr(u, 'c', 3)\nsuper().d = 4"
    assert [line for line, _ in replacements(ast.parse(found))] == [3, 5]
    source = {name: text for name, text in texts.items() if name != "plugin/host.py"}
    assert not [name for name, text in source.items() if re.search(r"\bunittest\b", text)]
    for name, touch in {**host.DOORS, **host.DURING_A_RUN, **host.OF_A_RUN}.items():
        assert name == FILELOCK_GUARD or any(f'"{name}"' in text for text in source.values()), name
        assert touch.why and touch.until, name
        number = re.match(r"\d{3}", touch.until)
        assert not number or list((ROOT / "utils" / "upstream").glob(f"{number[0]}-*.patch")), name


def test_a_version_that_was_not_tested_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, short_demo: Path
) -> None:
    monkeypatch.setenv("SIMING_DATA", str(short_demo))
    assert metadata.version("lmms_eval") in host.TESTED
    plan(Options.from_env(), ["siming_full_score"])
    monkeypatch.setattr(metadata, "version", lambda _: "0.8.0")
    with pytest.raises(OptionsError, match=r"lmms-eval 0\.8\.0 was not tested .*, or set SIMING_LMMS_EVAL=any"):
        plan(Options.from_env(), ["siming_full_score"])
    monkeypatch.setenv("SIMING_LMMS_EVAL", "any")
    plan(Options.from_env(), ["siming_full_score"])


def present(names: Any) -> dict[str, Any]:
    return {name: host.fetch(name) for name in names if host.is_imported(name.partition(":")[0])}


def test_nothing_but_the_doors_is_replaced_unless_a_task_of_ours_is_chosen(
    monkeypatch: pytest.MonkeyPatch, short_demo: Path
) -> None:
    tasks, evaluator = (importlib.import_module(f"lmms_eval.{name}") for name in ("tasks", "evaluator"))
    monkeypatch.setenv("SIMING_DATA", str(short_demo))
    before = present(host.DURING_A_RUN)
    assert len(before) > 5 and not any(hasattr(value, host._MARK) for value in before.values())
    manager = tasks.TaskManager(include_defaults=False, include_path=tasks_path())
    assert all(hasattr(host.fetch(name), host._MARK) for name in host.DOORS), "lmms-eval has called the entry point"
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


def test_simple_evaluate_is_replaced_before_a_program_takes_it_out(warm: Any, tmp_path: Path) -> None:
    (script := tmp_path / "early.py").write_text(
        "from lmms_eval.evaluator import simple_evaluate\n"
        "from lmms_eval.models import AVAILABLE_CHAT_TEMPLATE_MODELS\n"
        "from siming_tasks.plugin import host\n"
        "assert getattr(simple_evaluate, host._MARK)\n"
        "assert 'siming_reference' in AVAILABLE_CHAT_TEMPLATE_MODELS\n"  # which `lmms-eval models` lists
    )
    assert warm.run([], tmp_path, environment(), tmp_path / "log", script=str(script)) == 0


@pytest.mark.parametrize(
    ("broken", "models", "said"),
    [
        (
            *("lmms_eval.tasks:TaskManager.match_tasks", [*register.MODELS]),
            'SiMing tasks are not registered (gone); use --include_path "$(siming --tasks-path)".',
        ),
        (
            *("lmms_eval.models.registry_v2:ModelManifest", []),
            "There is no siming_reference and no siming_nano (gone); other models are not affected.",
        ),
        (
            *("lmms_eval.models:AVAILABLE_CHAT_TEMPLATE_MODELS", [*register.MODELS]),
            "`lmms-eval models` does not list siming_reference and siming_nano (gone), but --model accepts them.",
        ),
    ],
)
def test_the_entry_point_never_raises_and_says_what_is_missing_and_what_is_not(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: str, models: list[str], said: str
) -> None:
    importlib.import_module("lmms_eval.evaluator")  # whose import calls the entry point
    fetch = host.fetch

    def missing(name: str) -> Any:
        if name == broken:
            raise AttributeError("gone")
        return fetch(name)

    monkeypatch.setattr(host, "fetch", missing)
    assert [one.model_id for one in register.manifests()] == models
    assert [record.getMessage() for record in caplog.records] == [said]


WITHOUT = """
import sys
sys.modules["filelock._api"] = None  # its import fails from here on, as with filelock 4.3
from lmms_eval.cli.dispatch import main
main()
"""


def test_a_run_needs_no_private_module_of_filelock_and_keeps_its_guard_where_it_can(
    host: Any, short_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (script := tmp_path / "without.py").write_text(WITHOUT)
    run = host(*ORACLE, "siming_clip_error", "--limit", "2", data=short_demo, script=str(script))
    assert run.code == 0 and run.task("clip_error")["coverage"] == 1.0
    assert shields() == {}, "the installed filelock has the module"
    monkeypatch.setitem(sys.modules, "filelock._api", None)
    assert shields().keys() == {FILELOCK_GUARD}
