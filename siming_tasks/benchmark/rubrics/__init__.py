"""Rubrics: what a trainee must do at each step, what each error costs, and what a step needs from earlier ones."""

from siming_tasks.benchmark.rubrics.load import DEFAULT_ID, default_rubric, in_chinese, load_rubric, rubric_from
from siming_tasks.benchmark.rubrics.rubric import Criteria, Rubric, RubricStep, allowed_points

__all__ = [
    "DEFAULT_ID",
    "Criteria",
    "Rubric",
    "RubricStep",
    "allowed_points",
    "default_rubric",
    "in_chinese",
    "load_rubric",
    "rubric_from",
]
