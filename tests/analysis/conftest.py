"""The score matrices that tests of metrics use."""

from tests.metrics.conftest import exams, matrix

__all__ = ["exams", "matrix"]
