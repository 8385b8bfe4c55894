"""The score matrices that tests of metrics use."""

from tests.benchmark.metrics.conftest import exams, matrix

__all__ = ["exams", "matrix"]
