"""The dataset folder that tests of the builder spoil."""

from tests.data.conftest import _good, edit, folder

__all__ = ["_good", "edit", "folder"]
