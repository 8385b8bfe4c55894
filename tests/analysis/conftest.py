"""The score matrices that tests of metrics use, and a data set of three physicians."""

from tests.metrics.conftest import panel, synthetic
from tests.results.conftest import three

__all__ = ["panel", "synthetic", "three"]
