"""Fixtures that several rooms share: a small rendered demo data set, made once per test run."""

from __future__ import annotations

from pathlib import Path

import pytest

from siming_tasks.simulate import make_demo


@pytest.fixture(scope="session")
def short_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four short synthetic exams, all 33 steps, real H.264."""
    return make_demo(tmp_path_factory.mktemp("demo") / "short", videos=4, seed=7, short=True, jobs=2, progress=False)
