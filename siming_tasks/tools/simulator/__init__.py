"""Simulated exams whose truth is known: trainees, state, pictures, raters. Everything here is synthetic."""

from siming_tasks.tools.simulator.demo import GENERATOR_VERSION, make_demo
from siming_tasks.tools.simulator.minimal_pairs import MinimalPair, simulate_pairs
from siming_tasks.tools.simulator.simulated_exam import Exam, StepTruth, compute_true_scores, simulate_labels

__all__ = [
    "GENERATOR_VERSION",
    "Exam",
    "MinimalPair",
    "StepTruth",
    "compute_true_scores",
    "make_demo",
    "simulate_labels",
    "simulate_pairs",
]
