"""Points by hand for chosen logs."""

import pytest

from siming_tasks.rubrics import default_rubric, rubric_from
from siming_tasks.tools.simulator import compute_true_scores, effective_points

RUBRIC = default_rubric()


def full_marks() -> dict[str, float]:
    return {step.id: step.max_score for step in RUBRIC.steps}


def points(**errors: str) -> dict[str, float]:
    made = {step: tuple(names.split()) for step, names in errors.items()}
    return {step: truth.points for step, truth in compute_true_scores(RUBRIC, made).items()}


def test_a_flawless_exam_has_all_100_points():
    assert sum(points().values()) == 100
    assert effective_points(RUBRIC, full_marks()) == full_marks()


@pytest.mark.parametrize(
    ("errors", "step", "expected"),
    [
        ({"cpr_10": "fingers_on_chest"}, "cpr_10", 3),  # 4 - 1
        ({"cpr_10": "fingers_on_chest elbows_bent"}, "cpr_10", 1),  # 4 - 1 - 2
        ({"cpr_17": "neither_effective leak"}, "cpr_17", 0),  # 5 - 4 - 2 < 0
        ({"aed_07": "omitted"}, "aed_07", 0),
        ({"aed_07": "omitted"}, "aed_08", 0),  # void: shocked without clearing
        ({"aed_07": "omitted"}, "aed_09", 1),  # cap 1, because aed_08 is now failed
        ({"aed_07": "contact_overlooked"}, "aed_08", 3),  # 1 of 4 points left: not failed, no effect
        ({"cpr_05": "omitted"}, "cpr_09", 3),  # cap 3 of 4
        ({"cpr_05": "omitted", "cpr_09": "wrong_zone"}, "cpr_09", 1),  # below the cap already
        ({"cpr_05": "omitted"}, "aed_01", 2),  # context only
        ({"cpr_09": "omitted"}, "cpr_11", 2),  # cap 2 of 5
        ({"cpr_14": "omitted"}, "cpr_18", 0),  # void
        ({"cpr_14": "omitted"}, "cpr_19", 1),  # cap 1: cpr_18 failed through cpr_14
        ({"bmv_02": "omitted"}, "bmv_04", 1),  # caps 3 and 1: the lower one
        ({"aed_03": "omitted"}, "aed_05", 0),  # aed_03 -> aed_04 -> aed_05, void each time
        ({"aed_03": "omitted"}, "aed_06", 1),  # cap 1 through aed_05
        ({"aed_03": "omitted"}, "aed_08", 0),
    ],
)
def test_points_equal_hand_calculation(errors, step, expected):
    assert points(**errors)[step] == expected


def test_losses_name_every_reason_and_add_up():
    truth = compute_true_scores(RUBRIC, {"aed_07": ("omitted",), "aed_08": ("delayed",)})["aed_08"]
    assert (truth.raw, truth.points) == (2, 0)
    assert [(loss.kind, loss.cause, loss.points) for loss in truth.losses] == [
        ("error", "aed_08.delayed", 1),
        ("void", "aed_07", 2),
    ]
    for step, result in compute_true_scores(
        RUBRIC, {s.id: tuple(e.name for e in s.errors) for s in RUBRIC.steps}
    ).items():
        assert sum(loss.points for loss in result.losses) == RUBRIC.by_id[step].max_score - result.points


def test_effective_points_agree_with_judge():
    errors = {"cpr_05": ("omitted",), "cpr_14": ("large_miscount", "silent"), "bmv_03": ("omitted",)}
    truth = compute_true_scores(RUBRIC, errors)
    raw = {step: result.raw for step, result in truth.items()}
    assert effective_points(RUBRIC, raw) == {step: result.points for step, result in truth.items()}


def test_effective_points_of_another_rubric():
    text = {"full": "a", "partial": "b", "fail": "c"}
    step = {"name": "n", "requirement": "r", "criteria": text}
    rubric = rubric_from(
        {
            "schema_version": 1,
            "rubric_id": "mine",
            "version": "1",
            "skills": [
                {
                    "id": "s",
                    "name": "S",
                    "steps": [
                        {**step, "id": "one", "max_score": 2},
                        {
                            **step,
                            "id": "two",
                            "max_score": 10,
                            "requires": [{"id": "one", "effect": "cap", "cap": 0.5}],
                        },
                    ],
                }
            ],
        }
    )
    assert effective_points(rubric, {"one": 0, "two": 7}) == {"one": 0, "two": 0.5}
    assert effective_points(rubric, {"one": 0.5, "two": 7}) == {"one": 0.5, "two": 7}


def test_unknown_names_and_missing_steps_are_refused():
    with pytest.raises(KeyError, match="cpr_01 has no error 'levitates'"):
        compute_true_scores(RUBRIC, {"cpr_01": ("levitates",)})
    with pytest.raises(KeyError):
        effective_points(RUBRIC, {"cpr_01": 2})
