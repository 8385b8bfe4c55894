"""Simulated exams whose truth is known: trainees, state, pictures, raters. Everything here is synthetic."""

from siming_tasks.tools.simulator.dataset_files import GENERATOR_VERSION
from siming_tasks.tools.simulator.demo import make_demo
from siming_tasks.tools.simulator.minimal_pairs import MinimalPair, simulate_pairs
from siming_tasks.tools.simulator.simulated_exam import Exam, simulate_labels
from siming_tasks.tools.simulator.true_scores import StepTruth, compute_true_scores, effective_points

__all__ = [
    "GENERATOR_VERSION",
    "Exam",
    "MinimalPair",
    "StepTruth",
    "compute_true_scores",
    "effective_points",
    "make_demo",
    "simulate_labels",
    "simulate_pairs",
]
