"""Fixtures that several rooms share: a folder for all workers of a test run, and a small rendered demo in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from filelock import FileLock

from siming_tasks.simulate import make_demo


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all processes of this test run; what is put there once is put there under a lock."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def short_demo(shared: Path) -> Path:
    """Four short synthetic exams, all 33 steps, real H.264; made once per test run. Copy it to change it."""
    with FileLock(shared / "short_demo.lock"):
        return make_demo(shared / "short_demo", videos=4, seed=7, short=True, jobs=2, progress=False)
