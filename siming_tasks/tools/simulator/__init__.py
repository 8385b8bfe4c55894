"""Simulated exams whose truth is known: trainees, state, pictures, raters. Everything here is synthetic."""

from siming_tasks.tools.simulator.demo import make_demo
from siming_tasks.tools.simulator.exam import Exam, simulate_labels
from siming_tasks.tools.simulator.folder import GENERATOR_VERSION
from siming_tasks.tools.simulator.pairs import MinimalPair, simulate_pairs
from siming_tasks.tools.simulator.truth import StepTruth, effective_points, judge

__all__ = [
    "GENERATOR_VERSION",
    "Exam",
    "MinimalPair",
    "StepTruth",
    "effective_points",
    "judge",
    "make_demo",
    "simulate_labels",
    "simulate_pairs",
]
