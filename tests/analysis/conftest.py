"""The score matrices that tests of metrics use."""

from tests.metrics.conftest import panel, synthetic

__all__ = ["panel", "synthetic"]
