from __future__ import annotations

import pytest

from siming_tasks.parsing.step_matching import StepNames, number_in, words
from siming_tasks.rubrics import Criteria, RubricStep, default_rubric


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cpr_01", ("cpr", "1")),
        (" CPR-01: ", ("cpr", "1")),
        ("ｃｐｒ　０１", ("cpr", "1")),
        ("cpr1", ("cpr", "1")),
        ("a_1_1", ("a", "1", "1")),
        ("a_11", ("a", "11")),
        ("00", ("0",)),
        ("第3步", ("第", "3", "步")),
        ("", ()),
        ("9" * 10_000, ()),
    ],
)
def test_words(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("cpr_01", "cpr_01"),
        ("CPR-1", "cpr_01"),
        ("cpr 001", "cpr_01"),
        ("step cpr_01", "cpr_01"),
        ("Scene safety", "cpr_01"),
        ("环境安全", "cpr_01"),
        ("cpr_01: Scene Safety", "cpr_01"),
        ("Scene safety (cpr_01)", "cpr_01"),
        ("1. Scene safety", "cpr_01"),
        ("cpr_01_score", "cpr_01"),
        ("Step 3", "cpr_03"),
        ("#3", "cpr_03"),
        ("第3步", "cpr_03"),
        ("1", None),
        ("Step 1", None),
        ("步骤 3", "cpr_03"),
        ("4", "aed_01"),
        ("Step 4: Power on", "aed_01"),
        ("AED_02", "aed_02"),
        ("5", "aed_02"),
        ("cpr_04", None),
        ("cpr_01_max", None),
        ("cpr", None),
        ("cpr_01 Pad placement", None),
        ("0", None),
        ("6", None),
        ("-", None),
        ("", None),
        ("9" * 5000, None),
        ("[cpr_01] Scene safety (maximum 2 points)", "cpr_01"),
        ("cpr_01（满分2分）", "cpr_01"),
        ("[cpr_01] Scene safety (maximum 10 points)", None),
        ("Step 2 (CPR)", "cpr_02"),
        ("Step 2 (AED)", "aed_02"),
        ("cpr_01 环境安全 Scene safety", "cpr_01"),
        ("Step 7: Scene safety", None),
        ("cpr\u200b_01\u0000", "cpr_01"),
        ("cpr_01 and cpr_02", None),
    ],
)
def test_find(steps: tuple[RubricStep, ...], key: str, expected: str | None) -> None:
    match = StepNames(steps).find(key)
    assert (match and match.id) == expected


def test_numbers_are_places_if_all_steps_are_numbered(steps: tuple[RubricStep, ...]) -> None:
    names = StepNames(steps, {"1", "2", "3", "4", "5"})
    assert [names.find(key) for key in ("1", "Step 2", "第3步", "04", "5")] == list(steps)
    some = StepNames(steps, {"1", "2"})  # of which skill?
    assert [some.find("1"), some.find("2")] == [None, None]


@pytest.mark.parametrize(
    ("skill", "key", "expected"),
    [("AED", "1", "aed_01"), ("aed", "Step 2", "aed_02"), ("cpr", "02", "cpr_02"), ("aed", "cpr_02", "cpr_02")],
)
def test_find_in_a_skill(steps: tuple[RubricStep, ...], skill: str, key: str, expected: str) -> None:
    match = StepNames(steps).find(key, skill, by_number=False)
    assert match is not None and match.id == expected


def test_numbers_in_an_unknown_part_mean_nothing(steps: tuple[RubricStep, ...]) -> None:
    assert StepNames(steps).find("3", "overview", by_number=False) is None
    assert StepNames(steps).find("aed_01", "overview", by_number=False) is steps[3]


def test_a_number_that_is_one_step_by_place_and_another_by_id_means_none(steps: tuple[RubricStep, ...]) -> None:
    names = StepNames((steps[0], steps[2], steps[1]), {"1", "2", "3"})  # cpr_01, cpr_03, cpr_02
    assert [names.find(key) for key in ("1", "2", "3", "cpr_02")] == [steps[0], None, None, steps[1]]


def test_a_number_of_one_clip_is_its_place_or_its_id(steps: tuple[RubricStep, ...]) -> None:
    names = StepNames(steps[2:3])
    assert (names.find("1"), names.find("3"), names.find("2")) == (steps[2], steps[2], None)


def test_numbers_from_zero_mean_nothing(steps: tuple[RubricStep, ...]) -> None:
    names = StepNames(steps, {"0", "1", "2", "3", "4"})
    assert [names.find(key, "cpr") for key in ("1", "Step 3", "03")] == [None, None, None]
    assert [names.find(key) for key in ("cpr_01", "1. Scene safety")] == [steps[0], steps[0]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("3", "3"), ("Step 03", "3"), ("第3步", "3"), ("no. 0", "0"), ("cpr_3", None), ("3. Depth", "3")],
)
def test_number_in(name: str, expected: str | None) -> None:
    assert number_in(name) == expected


def test_a_shared_name_means_none() -> None:
    criteria = Criteria(full="f", partial="p", fail="n")
    minimal_pairs = [
        RubricStep(id=i, name="Same", requirement="r", max_score=1, criteria=criteria) for i in ("a_1_1", "a_11")
    ]
    names = StepNames(minimal_pairs)
    assert names.find("same") is None
    assert (names.find("a_11"), names.find("a-1-1")) == (minimal_pairs[1], minimal_pairs[0])


def test_every_step_of_the_default_rubric_has_its_names() -> None:
    steps = default_rubric().steps
    names = StepNames(steps, {str(place) for place in range(1, 34)})
    for place, step in enumerate(steps, start=1):
        for key in (step.id, step.id.upper().replace("_", "-"), f"{step.id}: {step.name}", f"Step {place}"):
            assert names.find(key) is step, key
        assert sum(other.name == step.name for other in steps) > 1 or names.find(step.name) is step
    assert [len(names.group(key) or ()) for key in ("CPR", "aed", "bmv", "ecg")] == [19, 9, 5, 0]


def test_a_name_keeps_the_words_that_stand_for_step() -> None:
    steps = default_rubric().steps
    assert StepNames(steps).find("Step 3: Call for help, emergency number and AED") is steps[2]


def test_every_header_of_the_prompt_is_a_name() -> None:
    steps = default_rubric().steps
    names = StepNames(steps)
    for step in steps:
        points = "point" if step.max_score == 1 else "points"
        assert names.find(f"[{step.id}] {step.name} (maximum {step.max_score:g} {points})") is step


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Checks whether the patient responds", True),
        ("Check depth", False),
        ("responsiveness check", True),
        ("", False),
    ],
)
def test_a_paraphrase_has_every_word_of_the_name(steps: tuple[RubricStep, ...], text: str, expected: bool) -> None:
    assert StepNames(steps[1:2]).paraphrases(text) is expected
