"""The judge with the package's weights."""

from typing import Any

import pytest

from siming_tasks.models.nano.exam_judge import Watcher

Messages = list[dict[str, Any]]


@pytest.fixture(scope="session")
def watcher() -> Watcher:
    return Watcher("cpu")
