"""Points by hand for chosen errors."""

import pytest

from siming_tasks.tools.simulator import compute_true_scores


def points(*errors: str) -> dict[str, float]:
    truth = compute_true_scores({error[:6]: error for error in errors})
    return {step: result.points for step, result in truth.items()}


def test_a_flawless_exam_has_all_100_points():
    assert sum(points().values()) == 100


@pytest.mark.parametrize(
    ("errors", "step", "expected"),
    [
        ("cpr_10.elbows_bent", "cpr_10", 2),  # 4 - 2
        ("aed_07.omitted", "aed_07", 0),
        ("aed_07.omitted", "aed_08", 0),  # void: shocked without clearing
        ("aed_07.omitted", "aed_09", 1),  # cap 1, because aed_08 is now failed
        ("aed_07.contact_overlooked", "aed_08", 3),  # 1 of 4 points left: not failed, no effect
        ("cpr_05.omitted", "cpr_09", 3),  # cap 3 of 4
        ("cpr_05.omitted cpr_09.wrong_zone", "cpr_09", 1),  # below the cap already
        ("cpr_05.omitted", "aed_01", 2),  # context only
        ("cpr_09.omitted", "cpr_11", 2),  # cap 2 of 5
        ("cpr_14.omitted", "cpr_18", 0),  # void
        ("cpr_14.omitted", "cpr_19", 1),  # cap 1: cpr_18 failed through cpr_14
        ("bmv_02.omitted", "bmv_04", 1),  # caps 3 and 1: the lower one
        ("aed_03.omitted", "aed_05", 0),  # aed_03 -> aed_04 -> aed_05, void each time
        ("aed_03.omitted", "aed_06", 1),  # cap 1 through aed_05
        ("aed_03.omitted", "aed_08", 0),
    ],
)
def test_points_equal_hand_calculation(errors, step, expected):
    assert points(*errors.split())[step] == expected


def test_losses_name_every_reason_and_add_up():
    truth = compute_true_scores({"aed_07": "aed_07.omitted", "aed_08": "aed_08.delayed"})["aed_08"]
    assert (truth.raw, truth.points) == (2, 0)
    assert [(loss.kind, loss.cause, loss.points) for loss in truth.losses] == [
        ("error", "aed_08.delayed", 1),
        ("void", "aed_07", 2),
    ]


def test_unknown_names_are_refused():
    with pytest.raises(KeyError, match="cpr_01 has no error"):
        compute_true_scores({"cpr_01": "cpr_01.levitates"})
