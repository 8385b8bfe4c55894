"""The fixtures of the rooms that requests and runs come from."""

from tests.plugin.hooks.conftest import begin, other_demo, run
from tests.runs import exams, make_run

__all__ = ["begin", "exams", "make_run", "other_demo", "run"]
