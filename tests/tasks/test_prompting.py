"""Prompt options: styles of the reply and parts of an exam."""

from __future__ import annotations

from itertools import product

import pytest

from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.options import Options
from siming_tasks.rubrics import default_rubric
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS, UNALTERED_TASKS
from siming_tasks.tasks.prompt import build_prompt, template_hash
from siming_tasks.tasks.prompting import DEFAULT_PROMPTING, PromptOptions, steps_in_part
from tests.tasks.conftest import own_hash

RUBRIC = default_rubric()
SKILL = {"a": "one", "b": "two", "c": "one", "d": "two"}
VIDEO = Video("v1", "v1.mp4", 30.0, (*(StepLabel(name, 1.0, 2.0) for name in "abc"), StepLabel("d", 3, 4, {}, False)))


@pytest.mark.parametrize("schema", ["off", "json"])
@pytest.mark.parametrize(("style", "unit"), list(product(("plain", "reasoned"), ("all", "skill", "step"))))
def test_the_label_gives_the_options_back(style: str, unit: str, schema: str) -> None:
    if (style, schema) == ("reasoned", "json"):
        return  # these exclude each other
    asking = PromptOptions.from_options(Options(prompt=style, ask=unit, schema=schema))  # type: ignore[arg-type]
    assert (asking.style, asking.unit, asking.schema) == (style, unit, schema)
    assert PromptOptions.from_label(asking.label) == asking
    assert asking.changed_options() == {
        **({"prompt": style} if style != "plain" else {}), **({"ask": unit} if unit != "all" else {}),
        **({"schema": schema} if schema != "off" else {}),
    }  # fmt: skip
    assert bool(asking.label) == bool(asking.title_suffix) == (asking != DEFAULT_PROMPTING)


@pytest.mark.parametrize("words", ["aloud", "step skill", "plain", "all", "reasoned reasoned", "step:cpr_01"])
def test_a_label_of_other_words_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match="is no way of asking"):
        PromptOptions.from_label(words)


def test_questions_are_asked_by_exam_by_skill_or_by_step() -> None:
    full, clip = TASKS["full_score"], TASKS["clip_score"]

    def parts(unit: str) -> list[tuple[str, tuple[str, ...]]]:
        return [
            (question.part, question.steps) for question in PromptOptions(unit=unit).questions(full, [VIDEO], SKILL)
        ]

    assert parts("all") == [("", ("a", "b", "c"))]
    assert parts("skill") == [("skill:one", ("a", "c")), ("skill:two", ("b",))]
    assert parts("step") == [("step:a", ("a",)), ("step:b", ("b",)), ("step:c", ("c",))]
    for unit in ("all", "skill", "step"):
        questions = list(PromptOptions(unit=unit).questions(clip, [VIDEO], SKILL))
        assert [(question.step_id, question.part, question.steps) for question in questions] == [
            (name, "", (name,)) for name in "abc"
        ]
        assert all(steps_in_part(part, ("a", "b", "c"), SKILL) == steps for part, steps in parts(unit))


@pytest.mark.parametrize("name", UNALTERED_TASKS)
def test_a_reasoned_prompt_differs_in_one_sentence(name: str) -> None:
    setting = TASKS[name]
    steps = RUBRIC.steps if setting.scope == "full" else RUBRIC.steps[:1]
    spans = [None] * len(steps) if setting.shows_step_times else None
    plain, other = (build_prompt(setting, steps, spans, style=style) for style in ("plain", "reasoned"))
    assert plain == build_prompt(setting, steps, spans)
    first = "Answer with one JSON object and nothing else."
    before, _, after = plain.partition(first)
    assert other.startswith(before) and other.endswith(after) and first not in other
    added = other.removeprefix(before).removesuffix(after)
    assert added.startswith("First think step by step") and added.endswith("one JSON object and nothing after it.")
    assert own_hash(setting, style="reasoned") != own_hash(setting) == own_hash(setting, style="plain")


def test_the_template_of_a_style_is_one_for_the_benchmark() -> None:
    assert (
        {template_hash(TASKS[name], style="reasoned") for name in BENCHMARK_TASKS}
        == {template_hash(style="reasoned")}
        != {template_hash()}
    )
