"""Fixtures that several rooms share: a folder for all workers of a test run, and a small rendered demo in it."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from siming_tasks.tools.simulator import make_demo

pytest_plugins = ["tests.lmms_eval_runs"]

# how long an example takes says how busy the machine is
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

FAST = (
    *("benchmark", "study/analysis/test_power.py"),
    *("study/report/test_table.py", "study/report/test_formatting.py", "test_options.py"),
)
"""Folders and files below tests/ whose tests are `fast`: `pytest -m fast` runs all of them in less than a minute."""

SLOW_FIXTURES = {"short_demo", "heard_demo"}
"""Fixtures that draw or encode a video; a test that needs one is not fast."""

SLOW_TESTS = {
    "test_a_judge_that_knows_nothing_is_as_good_as_its_shuffled_answers",
    "test_differences_and_no_video_baselines",
    "test_any_json_with_a_wound",
    "test_none_knows_the_labels_of_its_own_cluster",
}
"""Tests of the fast folders that take seconds of processor time each, and so are not fast."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the weekly tests out unless they are asked for; mark the fast ones by the folder that they are in."""
    root = Path(__file__).parent
    if "weekly" not in config.option.markexpr:
        longer = {one for one in items if one.get_closest_marker("weekly") and not one.get_closest_marker("daily")}
        config.hook.pytest_deselected(items=longer)
        items[:] = [item for item in items if item not in longer]
    for item in items:
        place = item.path.relative_to(root).as_posix() if item.path.is_relative_to(root) else ""
        in_folder = any(place == name or place.startswith(f"{name}/") for name in FAST)
        slow = SLOW_FIXTURES & set(getattr(item, "fixturenames", ())) or item.get_closest_marker("host")
        if in_folder and not slow and getattr(item, "originalname", "") not in SLOW_TESTS:
            item.add_marker(pytest.mark.fast)


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


@pytest.fixture(scope="session")
def heard_demo(shared: Path) -> Path:
    """The exams of ``short_demo`` with a sound track and transcripts, for whatever goes through all tasks."""
    with FileLock(shared / "heard_demo.lock"):
        return make_demo(shared / "heard_demo", videos=4, seed=7, short=True, jobs=2, progress=False, sound=True)


CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NEEDS_BROWSER = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver (Debian packages)"
)
BROWSER_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--window-size=1280,900"),
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


def kill_chromium(profile: Path) -> None:
    """Kill the browser of a profile, as a crash would; its own children end with it.

    The process that selenium knows is the driver's: to kill that one leaves the browser running for good.
    """
    flag = f"--user-data-dir={profile}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if flag in words and not any(word.startswith(b"--type=") for word in words):
                os.kill(int(folder.name), signal.SIGKILL)


@pytest.fixture(scope="session")
def shared_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One headless Chromium for all browser tests of a worker; nothing of it is left at the end."""
    profile = tmp_path_factory.mktemp("chromium")
    driver = open_chromium(profile)
    yield driver
    driver.quit()
    kill_chromium(profile)  # one that did not follow the driver's word


def film(path: Path, frames: int, rate: int, width: int = 1280, height: int = 720) -> None:
    """A recording as cameras make them: texture at every scale, a pan, a moving hand and noise.

    The drawings of the demo hide what real frames weigh.
    """
    rng = np.random.default_rng(3)
    side = 2048
    distance = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side)[None]) + 1 / side
    world = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((side, side), np.float32)) / distance**1.1)
    world = np.clip(world / world.std() * 42 + 120, 0, 255).astype(np.int16)
    noise = rng.normal(0, 3, (height + 64, width + 64)).round().astype(np.int16)
    y, x = np.mgrid[:height, :width]
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=rate)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.options = {"crf": "20", "preset": "ultrafast"}
        for index in range(frames):
            across, down = (int(300 + 280 * np.sin(index / slow)) for slow in (11, 17))
            luma = world[down : down + height, across : across + width]
            hand = np.hypot(x - width * (0.5 + 0.3 * np.sin(index / 6)), y - height * 0.6) < 130
            luma = np.where(hand, luma // 3 + 110, luma)
            start = 7 * index % 64, 13 * index % 64  # the same noise moved reads as another one
            luma = luma + noise[start[0] : start[0] + height, start[1] : start[1] + width]
            luma = np.clip(luma, 16, 235).astype(np.uint8)
            tint = (luma[::2, ::2] // 8 + 112).reshape(-1, width)
            frame = av.VideoFrame.from_ndarray(np.concatenate([luma, tint, 255 - tint]), format="yuv420p")
            frame.pts, frame.time_base = index, Fraction(1, rate)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
