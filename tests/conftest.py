"""Fixtures that several rooms share: a folder for all workers of a test run, and a small rendered demo in it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

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


CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NEEDS_BROWSER = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver (Debian packages)"
)
BROWSER_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)


def open_chromium(profile: Path) -> Any:
    """A headless Chromium of one's own, driven by selenium; ``quit`` it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*BROWSER_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(110)
    return driver
