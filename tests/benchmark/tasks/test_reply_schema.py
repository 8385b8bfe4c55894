"""JSON schemas of replies: what they allow, by an independent validator, against what the reader reads."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from siming_tasks.benchmark.parsing import format_answers
from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.benchmark.rubrics.rubric import RubricStep, allowed_points
from siming_tasks.benchmark.tasks import TASKS, TaskSpec
from tests.records import sample

RUBRIC = default_rubric()
NAMED = sorted({(task.scope, task.answer, task.answer_format.name) for task in TASKS.values()})


def task_of(scope: str, answer: str, form: str) -> TaskSpec:
    return next(
        task for task in TASKS.values() if (task.scope, task.answer, task.answer_format.name) == (scope, answer, form)
    )


def valid(schema: dict[str, Any], reply: Any) -> bool:
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema).is_valid(reply)


def test_points_are_listed_and_half_points_are_numbers() -> None:
    (schema,) = TASKS["clip_score"].reply_schema(RUBRIC.steps[1:2])["properties"].values()
    assert schema == {"type": "integer", "enum": [0, 1, 2, 3]}
    stated = RUBRIC.steps[0].model_dump(by_alias=True, exclude_none=True)
    halves = RubricStep.model_validate({**stated, "errors": [], "max_score": 1.5, "score_increment": 0.5})
    (schema,) = TASKS["clip_score"].reply_schema([halves])["properties"].values()
    assert schema == {"type": "number", "enum": [0.0, 0.5, 1.0, 1.5]}


@pytest.mark.parametrize(("scope", "answer", "form"), NAMED)
def test_the_schema_allows_what_is_read_and_nothing_else(scope: str, answer: str, form: str) -> None:
    task = task_of(scope, answer, form)
    steps = RUBRIC.steps[:6] if scope == "full" else RUBRIC.steps[:1]
    schema = task.reply_schema(steps)
    keys = task.answer_format.reply_keys.values()
    for worst in (True, False):
        points = {s.id: float(worst) if answer == "error" else allowed_points(s)[0 if worst else -1] for s in steps}
        errors = {s.id: [error.id for error in s.errors[:1]] if worst else [] for s in steps}  # "correct" has none
        stated = {s.id: task.answer_format.step_schema(s, task.answer) for s in steps}
        details: dict[str, Any] = {key: {s.id: sample(stated[s.id][key]) for s in steps} for key in keys}
        details |= {"errors": errors} if "errors" in details else {}
        reply = json.loads(format_answers(points, steps, task.answer, details=details or None))
        assert valid(schema, reply), reply
        parsed = task.answer_format.parse(json.dumps(reply), steps, task.answer)
        assert parsed.status == "ok" and dict(parsed.answers) == points

    # one more key, one key less, a value that is none: each is refused at each level
    inner = reply[task.field] if scope == "full" else reply
    key = steps[0].id if scope == "full" else task.field

    def allows(value: Any) -> bool:
        changed = {**inner, key: value}
        return valid(schema, {**reply, task.field: changed} if scope == "full" else changed)

    assert not valid(schema, {**reply, "comment": "x"})
    assert not any(map(allows, (-1, steps[0].max_score + 1, 0.25, "maybe", None, {})))
    if form in ("", "abstain"):
        assert allows("not visible") == (form == "abstain")
    left_out = {name: value for name, value in inner.items() if name != key}
    assert not valid(schema, {**reply, task.field: left_out} if scope == "full" else left_out)
