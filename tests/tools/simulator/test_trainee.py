"""Trainees: every error can be planned, nothing impossible is, and a seed is a seed."""

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import cohen_kappa_score

from siming_tasks.rubrics import default_rubric, rubric_from
from siming_tasks.tools.simulator import compute_true_scores, simulate_labels
from siming_tasks.tools.simulator.trainee import CONFLICTS, ENTAILS, draw_errors, with_consequences

RUBRIC = default_rubric()
ERRORS = [error.id for step in RUBRIC.steps for error in step.errors]
MAXIMA = np.array([step.max_score for step in RUBRIC.steps])


def plan_of(*errors: str):
    chosen: dict[str, tuple[str, ...]] = {}
    for error in errors:
        step = error.rpartition(".")[0]
        chosen[step] = (*chosen.get(step, ()), error)
    return with_consequences(RUBRIC, chosen)


def test_the_rubric_has_148_errors_and_the_tables_name_only_those():
    assert len(ERRORS) == 148
    assert {error for group in CONFLICTS for error in group} <= set(ERRORS)
    assert set(ENTAILS) | {error for follows in ENTAILS.values() for error in follows} <= set(ERRORS)


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_can_be_planned_and_costs_points(error):
    plan = plan_of(error)
    assert plan.has(error)
    assert error not in plan.entailed
    step = error.rpartition(".")[0]
    assert compute_true_scores(RUBRIC, plan.errors)[step].points < RUBRIC.by_id[step].max_score


def test_drawn_plans_reach_every_error():
    seen = {
        error
        for number in range(2000)
        for errors in draw_errors(RUBRIC, np.random.default_rng(number)).errors.values()
        for error in errors
    }
    assert set(ERRORS) - seen == set()


def test_no_drawn_plan_holds_a_conflict_or_lacks_a_consequence():
    for number in range(200):
        plan = draw_errors(RUBRIC, np.random.default_rng(number), base=-0.5)
        made = {error for errors in plan.errors.values() for error in errors}
        assert list(plan.errors) == [step.id for step in RUBRIC.steps]
        for group in CONFLICTS:
            assert len(made & group) <= 1
        for errors in plan.errors.values():
            assert len(errors) == 1 or not any(error.endswith(".omitted") for error in errors)
        for error in made:
            for consequence in ENTAILS.get(error, ()):
                assert consequence in made


def test_no_compressions_leave_nothing_else_to_see():
    plan = plan_of("cpr_09.omitted", "cpr_11.fading")
    assert plan.errors["cpr_11"] == ("cpr_11.omitted",)
    assert plan.entailed == {f"{step}.omitted" for step in ("cpr_10", "cpr_11", "cpr_12", "cpr_13", "cpr_14", "cpr_18")}


def test_contact_at_the_shock_needs_a_shock_and_somebody_who_overlooked_it():
    assert plan_of("aed_08.shock_in_contact").has("aed_07.contact_overlooked")
    assert not plan_of("aed_08.shock_in_contact", "aed_07.omitted").has("aed_07.contact_overlooked")
    assert plan_of("aed_08.omitted", "aed_07.contact_overlooked").errors["aed_07"] == ()
    assert plan_of("aed_01.omitted", "aed_07.contact_overlooked").errors["aed_07"] == ()


def test_labels_are_a_function_of_the_seed():
    assert simulate_labels(6, 3) == simulate_labels(6, 3)
    assert simulate_labels(6, 3) == simulate_labels(9, 3)[:6]
    assert simulate_labels(6, 3) != simulate_labels(6, 4)


def test_abler_trainees_score_higher():
    exams = simulate_labels(300, 0)
    ability = [exam.plan.ability for exam in exams]
    totals = [sum(truth.points for truth in exam.truth.values()) for exam in exams]
    assert pearsonr(ability, totals).pvalue < 1e-6


def test_raters_agree_about_as_physicians_do():
    """Means over seeds of 200 exams, against the paper's PLCC .87, kappa .73 and the implied prevalence .186."""
    rows = []
    for seed in range(6):
        exams = simulate_labels(200, seed)
        a, b, truth = (
            np.array([[exam.scores[step.id][who] for step in RUBRIC.steps] for exam in exams])
            for who in ("rater_a", "rater_b", "consensus")
        )
        assert ((a >= 0) & (a <= MAXIMA)).all()
        kappa = cohen_kappa_score(ordinal(a), ordinal(b), weights="quadratic", labels=[0, 1, 2, 3])
        rows.append((pearsonr(a.sum(1), b.sum(1)).statistic, kappa, (truth < MAXIMA).mean()))
    plcc, kappa, prevalence = np.mean(rows, axis=0)
    assert plcc == pytest.approx(0.87, abs=0.02)
    assert kappa == pytest.approx(0.73, abs=0.02)
    assert prevalence == pytest.approx(0.186, abs=0.006)


def test_the_consensus_is_the_truth():
    exams = simulate_labels(20, 1)
    assert len(exams) == 20
    for exam in exams:
        truth = compute_true_scores(RUBRIC, exam.plan.errors)
        assert len(truth) == 33
        assert {step: scores["consensus"] for step, scores in exam.scores.items()} == {
            step: result.points for step, result in truth.items()
        }


def ordinal(points):
    lost = MAXIMA - points
    return np.where(points <= 0, 0, np.where(lost == 0, 3, np.where(lost <= 1, 2, 1))).ravel()


def test_points_of_a_rubric_in_half_points_are_multiples_of_its_increment() -> None:
    """The embedded rubric with every second deduction half a point smaller."""
    data = RUBRIC.model_dump(mode="json")
    errors = [error for skill in data["skills"] for step in skill["steps"] for error in step["errors"]]
    for error in errors[::2]:
        error["deduct"] -= 0.5
    rubric = rubric_from(data)
    assert {step.score_increment for step in rubric.steps} == {0.5, 1}
    given = [
        (rubric.by_id[name], points)
        for exam in simulate_labels(30, 3, rubric)
        for name, label in exam.scores.items()
        for points in label.values()
    ]
    assert all(step.on_scale(points) for step, points in given)
    assert any(points % 1 for _, points in given)
