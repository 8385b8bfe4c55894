"""The descriptions of the settings, and what follows from them."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import siming_tasks
from siming_tasks.common.schema import ANSWERS, SCOPES, StepLabel, Video
from siming_tasks.parsing import parse_reply
from siming_tasks.rubrics import default_rubric
from siming_tasks.tasks import (
    ABLATION_TASKS,
    BENCHMARK_TASKS,
    INPUT_ABLATIONS,
    NON_ABLATION_TASKS,
    TASKS,
    benchmark_task,
)
from siming_tasks.tasks.expected_requests import expected_requests, record_id, step_spans, steps_of
from siming_tasks.tasks.prompt import own_hash

VIDEO = Video("v1", "v1.mp4", 30.0, (StepLabel("a", 1.0, 2.0), StepLabel("b"), StepLabel("c", 3.0, 4.0, {}, False)))


def test_the_benchmark_is_the_papers_four() -> None:
    assert BENCHMARK_TASKS == ("full_score", "full_error", "clip_score", "clip_error")
    assert list(TASKS)[:4] == list(BENCHMARK_TASKS)
    for scope in SCOPES:
        for answer in ANSWERS:
            assert benchmark_task(scope, answer).name == f"{scope}_{answer}"


def test_names_and_titles_are_not_shared() -> None:
    for part in ("title", "question", "task_name"):
        assert len({getattr(setting, part) for setting in TASKS.values()}) == len(TASKS)
    assert all(name == setting.name for name, setting in TASKS.items())


@pytest.mark.parametrize("name", TASKS)
def test_the_field_of_a_prediction_is_the_key_that_the_prompt_asks_for(name: str) -> None:
    setting = TASKS[name]
    two = setting.evidence and setting.scope == "clip"
    assert (f'two keys: "{setting.field}"' if two else f'the single key "{setting.field}"') in setting.reply
    steps = default_rubric().steps[:2] if setting.scope == "full" else default_rubric().steps[:1]
    value = 1 if setting.answer == "score" else "incorrect"
    said = {step.id: value for step in steps} if setting.scope == "full" else value
    parsed = parse_reply(json.dumps({setting.field: said}), steps, setting.answer)
    assert parsed.answers == dict.fromkeys([step.id for step in steps], 1.0)


def test_requests() -> None:
    full, timed, clip = (TASKS[name] for name in ("full_score", "full_timed_score", "clip_score"))
    assert expected_requests(full, [VIDEO]) == expected_requests(timed, [VIDEO]) == [("v1", None)]
    assert expected_requests(clip, [VIDEO]) == [("v1", "a")]
    assert record_id("full_timed_score", "v1") == "full_timed_score/v1"
    assert steps_of(timed, VIDEO, None) == ("a", "b")
    assert steps_of(clip, VIDEO, "a") == ("a",)
    assert step_spans(full, VIDEO, ("a", "b")) is None
    assert step_spans(timed, VIDEO, ("a", "b")) == ((1.0, 2.0), None)


def test_no_other_room_lists_the_settings() -> None:
    """Whoever needs them reads the descriptions; a name in quotes elsewhere is a place that a new one would miss."""
    root = Path(siming_tasks.__file__).parent
    for path in root.rglob("*.py"):
        if path.parent.name != "tasks":
            words = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
            assert not TASKS.keys() & {word for word in words if isinstance(word, str)}, path
    for path in [*root.rglob("*.html"), *root.rglob("*.js")]:
        text = path.read_text()
        assert not any(f"{name}" in text for name in TASKS), path


def test_a_probe_asks_the_benchmarks_questions_outside_of_it() -> None:
    assert (
        tuple(f"ablation_{ablation}_{name}" for ablation in INPUT_ABLATIONS for name in BENCHMARK_TASKS)
        == ABLATION_TASKS
    )
    assert set(ABLATION_TASKS) | set(NON_ABLATION_TASKS) == set(TASKS) and not set(ABLATION_TASKS) & (
        set(NON_ABLATION_TASKS) | set(BENCHMARK_TASKS)
    )
    for name in ABLATION_TASKS:
        setting, plain = TASKS[name], TASKS[TASKS[name].plain]
        assert not setting.benchmark and setting.group == "siming_ablations"
        told = ("scope", "answer", "task", "reply", "halves", "step_times")
        assert [getattr(setting, part) for part in told] == [getattr(plain, part) for part in told]
        assert setting.ablation is not None and (setting.role == plain.role) == setting.ablation.media
        assert expected_requests(setting, [VIDEO]) == expected_requests(plain, [VIDEO])
        assert len({own_hash(TASKS[other]) for other in (name, plain.name)}) == 2


def test_without_a_video_the_prompt_speaks_of_none() -> None:
    for scope in SCOPES:
        role = TASKS[f"ablation_no_video_{scope}_score"].role
        assert "No video of it is shown." in role and "The video shows" not in role and "clip is cut" not in role
