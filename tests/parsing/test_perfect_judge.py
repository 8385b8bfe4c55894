"""A perfect judge's metric is exactly 1, or its coverage falls: no answer is read that it did not give.

Every pair of key and value form of a language is tried in two layouts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from forms import (
    FOREIGN,
    LAYOUTS,
    MUTATIONS,
    POINT_FORMS,
    POINT_KEYS,
    VERDICT_FORMS,
    VERDICT_KEYS,
    Form,
    draw_reply,
    written_values,
)

from siming_tasks.common.schema import Answer
from siming_tasks.parsing import parse_reply
from siming_tasks.rubrics import RubricStep, default_rubric

BY_ID = {step.id: step for step in default_rubric().steps}
STEPS = tuple(BY_ID[name] for name in ("cpr_01", "cpr_02", "cpr_03", "aed_01", "aed_02"))
VERDICTS = dict(zip((step.id for step in STEPS), (0.0, 1.0, 0.0, 1.0, 0.0), strict=True))
POINTS = dict(zip((step.id for step in STEPS), (2.0, 3.0, 1.0, 0.0, 2.0), strict=True))


def read(form: Form, layout: str, truth: dict[str, float], answer: Answer) -> dict[str, float]:
    return dict(
        parse_reply(LAYOUTS[layout](form.key, written_values(form, truth, STEPS), STEPS), STEPS, answer).answers
    )


def verdict_forms(kind: str, key: str) -> Iterator[Form]:
    for name, say in VERDICT_FORMS(kind):
        yield Form(key, name, lambda step, value, say=say: say(bool(value)))  # type: ignore[misc]


def two_layouts(number: int) -> list[str]:
    """The one that is asked for, and each of the others in turn."""
    return ["wrapped", sorted(LAYOUTS)[number % len(LAYOUTS)]]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", ["error", "correct", "plain"])
def test_verdicts_under_every_key(language: str, kind: str) -> None:
    pairs = [form for key in VERDICT_KEYS[language][kind] for form in verdict_forms(kind, key)]
    read_well = tried = 0
    for number, form in enumerate(pairs):
        for layout in two_layouts(number):
            if layout == "list" and form.name.startswith("yes"):
                continue
            answers = read(form, layout, VERDICTS, "error")
            assert answers.items() <= VERDICTS.items(), (form.key, form.name, layout)
            asks = kind != "plain" or not form.name.startswith("yes")
            assert asks or not answers, (form.key, form.name, layout, "a yes without a question")
            tried, read_well = tried + asks, read_well + (asks and answers == VERDICTS)
    assert read_well > 0.7 * tried, "and most of them are read"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_points_under_every_key(language: str) -> None:
    for key in POINT_KEYS[language]:
        for number, (name, say) in enumerate(POINT_FORMS.items()):
            form = Form(key, name, lambda step, value, say=say: say(int(value), int(step.max_score)))  # type: ignore[misc]
            for layout in two_layouts(number):
                assert read(form, layout, POINTS, "score") == POINTS, (key, name, layout)


@pytest.mark.parametrize("layout", sorted(set(LAYOUTS) - {"list"}))
def test_other_quantities_are_no_answers(layout: str) -> None:
    answers: Sequence[tuple[Answer, type]] = [("score", int), ("score", str), ("error", bool)]
    for key in (key for keys in FOREIGN.values() for key in keys):
        for answer, cast in answers:
            form = Form(key, "other", lambda step, value, cast=cast: cast(int(value)))  # type: ignore[misc]
            assert read(form, layout, POINTS, answer) == {}, (key, answer)


@pytest.mark.parametrize("mutation", sorted(MUTATIONS))
def test_harmless_mutations_change_no_parsed_answer(mutation: str) -> None:
    asks: list[tuple[RubricStep, ...]] = [STEPS, STEPS, (BY_ID["cpr_11"],)]
    whole = 0
    for number, layout in enumerate(sorted(LAYOUTS) * 10):
        rng = random.Random(f"{layout}/{mutation}/{number}")
        reply, truth, steps, answer = draw_reply(rng, rng.choice(asks), layout, mutation)
        answers = parse_reply(reply, steps, answer).answers
        assert answers.items() <= truth.items(), reply
        whole += answers == truth
    least = {"cut": 10, "cut in front": 30, "contradicted": 0, "unclosed thought": 0}  # of 150; others say as much
    assert whole >= least.get(mutation, 100)
