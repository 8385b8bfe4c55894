"""Trainees and raters: points by hand, nothing impossible is planned, a seed is a seed, raters agree as stated."""

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import cohen_kappa_score

from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.tools.simulator import compute_true_scores, simulate_labels
from siming_tasks.tools.simulator.steps import FOLLOWS, NEVER_ALONE, STEPS
from siming_tasks.tools.simulator.trainee import draw_errors, with_consequences

RUBRIC = default_rubric()
MAXIMA = np.array([step.max_score for step in RUBRIC.steps])


def points(*errors: str) -> dict[str, float]:
    truth = compute_true_scores({error[:6]: error for error in errors})
    return {step: result.points for step, result in truth.items()}


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
        ("cpr_14.omitted", "cpr_19", 1),  # cap 1: cpr_18 failed through cpr_14
        ("bmv_02.omitted", "bmv_04", 1),  # caps 3 and 1: the lower one
        ("aed_03.omitted", "aed_05", 0),  # aed_03 -> aed_04 -> aed_05, void each time
        ("aed_03.omitted", "aed_06", 1),  # cap 1 through aed_05
    ],
)
def test_points_equal_hand_calculation(errors, step, expected):
    assert sum(points().values()) == 100
    assert points(*errors.split())[step] == expected


def test_losses_name_every_reason_and_add_up():
    truth = compute_true_scores({"aed_07": "aed_07.omitted", "aed_08": "aed_08.delayed"})["aed_08"]
    assert (truth.raw, truth.points) == (2, 0)
    assert [(loss.kind, loss.cause, loss.points) for loss in truth.losses] == [
        ("error", "aed_08.delayed", 1),
        ("void", "aed_07", 2),
    ]
    for unknown in (lambda: compute_true_scores({"cpr_01": "cpr_01.levitates"}),
                    lambda: with_consequences("cpr_01.levitates")):  # fmt: skip
        with pytest.raises(KeyError, match="levitates"):
            unknown()


def test_drawn_plans_reach_every_error_with_its_consequences_and_nothing_that_cannot_happen_alone():
    seen = set()
    for number in range(1500):
        plan = draw_errors(-1.0, np.random.default_rng(number))
        made = set(plan.errors.values())
        seen |= made
        assert all(set(FOLLOWS.get(error, ())) <= made for error in made)
        assert made & NEVER_ALONE <= plan.entailed
        assert list(plan.errors) == [step for step in STEPS if step in plan.errors]
    assert seen == {f"{name}.{error}" for name, step in STEPS.items() for error in step.errors}


def test_what_follows_from_an_error_stands_in_place_of_what_was_chosen():
    """No compressions have no depth; nobody touches a patient at a shock that cannot be given."""
    for chosen, made in (
        ("cpr_09.omitted cpr_11.mostly_shallow", [f"cpr_{number:02d}.omitted" for number in (*range(9, 15), 18)]),
        ("aed_01.omitted aed_07.contact_overlooked", [f"aed_{number:02d}.omitted" for number in (1, 5, 6, 8)]),
        ("bmv_02.omitted bmv_03.constant_leak bmv_04.omitted",
         ["bmv_02.omitted", "bmv_03.constant_leak", "bmv_04.mostly_without_rise"]),
    ):  # fmt: skip
        assert list(with_consequences(*chosen.split()).errors.values()) == made


def test_labels_are_a_function_of_the_seed():
    assert simulate_labels(9, 3)[:6] == simulate_labels(6, 3) != simulate_labels(6, 4)
    exams = simulate_labels(1000, 0)
    totals = np.array([sum(truth.points for truth in exam.truth.values()) for exam in exams])
    assert pearsonr([exam.plan.ability for exam in exams], totals).pvalue < 1e-6


def test_raters_agree_about_as_physicians_do_and_the_consensus_is_the_truth():
    """Means over seeds of 200 exams, against the paper's PLCC .87, kappa .73 and the implied prevalence .186."""
    rows = []
    for seed in range(6):
        exams = simulate_labels(200, seed)
        a, b, truth = (
            np.array([[exam.scores[step.id][who] for step in RUBRIC.steps] for exam in exams])
            for who in ("rater_a", "rater_b", "consensus")
        )
        assert ((a >= 0) & (a <= MAXIMA) & (a % 1 == 0)).all()
        first = compute_true_scores(exams[0].plan.errors)
        assert truth[0].tolist() == [result.points for result in first.values()] and len(first) == 33
        kappa = cohen_kappa_score(ordinal(a), ordinal(b), weights="quadratic", labels=[0, 1, 2, 3])
        rows.append((pearsonr(a.sum(1), b.sum(1)).statistic, kappa, (truth < MAXIMA).mean()))
    plcc, kappa, prevalence = np.mean(rows, axis=0)
    assert plcc == pytest.approx(0.87, abs=0.02)
    assert kappa == pytest.approx(0.73, abs=0.02)
    assert prevalence == pytest.approx(0.186, abs=0.006)


def ordinal(points):
    lost = MAXIMA - points
    return np.where(points <= 0, 0, np.where(lost == 0, 3, np.where(lost <= 1, 2, 1))).ravel()
