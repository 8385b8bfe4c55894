"""The fixtures of the rooms that runs come from: dataset folders, and outputs of lmms-eval."""

from tests.data.conftest import _good, edit, folder
from tests.runs import exams, make_run

__all__ = ["_good", "edit", "exams", "folder", "make_run"]
