"""The registry of tasks, and what follows from the descriptions in it."""

import ast
import json
import re
from pathlib import Path

import siming_tasks
from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.parsing import parse_reply
from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.benchmark.tasks import (
    ABLATION_TASKS,
    ANSWER_FORMATS,
    BENCHMARK_TASKS,
    INPUT_ABLATIONS,
    TASK_GROUPS,
    TASKS,
    UNALTERED_TASKS,
    benchmark_task,
    tasks_of,
)
from siming_tasks.benchmark.tasks.expected_requests import expected_requests
from siming_tasks.benchmark.types import ANSWERS, SCOPES
from tests.benchmark.tasks.conftest import own_hash

VIDEO = Video("v1", "v1.mp4", 30.0, (StepLabel("a", 1.0, 2.0), StepLabel("b"), StepLabel("c", 3.0, 4.0, {}, False)))


def test_the_benchmark_is_the_papers_four_and_no_name_or_title_is_shared() -> None:
    assert BENCHMARK_TASKS == ("full_score", "full_error", "clip_score", "clip_error") == tuple(TASKS)[:4]
    for scope in SCOPES:
        for answer in ANSWERS:
            assert benchmark_task(scope, answer).name == f"{scope}_{answer}"
    for part in ("title", "description", "task_name"):
        assert len({getattr(setting, part) for setting in TASKS.values()}) == len(TASKS)
    assert all(name == setting.name for name, setting in TASKS.items())


def test_the_field_of_a_prediction_is_the_key_that_the_prompt_asks_for() -> None:
    for name, setting in TASKS.items():
        details = len(setting.answer_format.reply_keys) if setting.scope == "clip" else 0
        assert f'{("the single key", "two keys:", "three keys:")[details]} "{setting.field}"' in setting.reply, name
        steps = default_rubric().steps[: 2 if setting.scope == "full" else 1]
        value = 1 if setting.answer == "score" else "incorrect"
        answers = {step.id: value for step in steps} if setting.scope == "full" else value
        parsed = parse_reply(json.dumps({setting.field: answers}), steps, setting.answer)
        assert parsed.answers == dict.fromkeys([step.id for step in steps], 1.0), name


def test_no_other_folder_lists_the_tasks_or_compares_the_name_of_a_format_or_an_ablation() -> None:
    """A task's name in quotes elsewhere is a place that a new task would miss; the objects are asked instead."""
    root = Path(siming_tasks.__file__).parent
    for path in root.rglob("*.py"):
        text = path.read_text()
        likely = ".name" in text and ("ablation" in text or "answer_format" in text)
        if path.is_relative_to(root / "benchmark" / "tasks") or not (likely or any(name in text for name in TASKS)):
            continue
        for node in ast.walk(ast.parse(text)):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in TASKS), path
            for side in [node.left, *node.comparators] if isinstance(node, ast.Compare) else ():
                by_name = isinstance(side, ast.Attribute) and side.attr == "name" and ast.unparse(side.value)
                assert not by_name or not re.search("ablation|answer_format", by_name), (path, by_name)
    for path in [*root.rglob("*.html"), *root.rglob("*.js")]:
        assert not any(name in path.read_text() for name in TASKS), path


def test_every_field_of_a_record_belongs_to_one_format() -> None:
    """Logs of a task are refused where they hold a field of another format: a shared name would refuse every log."""
    for fields in ("record_fields", "reply_keys"):
        names = [name for form in ANSWER_FORMATS.values() for name in getattr(form, fields)]
        assert len(names) >= 3 and len(set(names)) == len(names)
    assert all(set(form.field_types()) == set(form.record_fields) for form in ANSWER_FORMATS.values())


def test_the_members_of_groups_are_tasks_and_every_task_is_in_one() -> None:
    assert tasks_of("siming") == tuple(TASKS[name] for name in BENCHMARK_TASKS)
    assert [task.name for task in tasks_of("siming_clip_error")] == ["clip_error"]
    assert tasks_of("clip_error") == tasks_of("siming_toy") == tasks_of("") == ()
    members = [task.name for group in TASK_GROUPS if group != "siming" for task in tasks_of(group)]
    assert sorted(members) == sorted(TASKS)


def test_an_ablation_asks_the_benchmarks_questions_outside_of_the_benchmark() -> None:
    names = tuple(f"ablation_{ablation}_{name}" for ablation in INPUT_ABLATIONS for name in BENCHMARK_TASKS)
    assert names == ABLATION_TASKS and sorted(names + UNALTERED_TASKS) == sorted(TASKS)
    for name in ABLATION_TASKS:
        setting, plain = TASKS[name], TASKS[TASKS[name].base_task]
        assert not setting.is_benchmark and setting.group == "siming_ablations"
        shared = ("scope", "answer", "question", "reply", "half_point_texts", "shows_step_times", "answer_format")
        assert [getattr(setting, part) for part in shared] == [getattr(plain, part) for part in shared]
        assert setting.ablation and (setting.role == plain.role) == setting.ablation.shows_media
        assert expected_requests(setting, [VIDEO]) == expected_requests(plain, [VIDEO])
        assert len({own_hash(TASKS[other]) for other in (name, plain.name)}) == 2
