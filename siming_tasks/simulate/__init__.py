"""Simulated exams whose truth is known: trainees, state, pictures, raters. Everything here is synthetic."""

from siming_tasks.simulate.demo import GENERATOR_VERSION, make_demo
from siming_tasks.simulate.exam import Exam, simulate_labels
from siming_tasks.simulate.truth import effective_points, judge

__all__ = ["GENERATOR_VERSION", "Exam", "effective_points", "judge", "make_demo", "simulate_labels"]
