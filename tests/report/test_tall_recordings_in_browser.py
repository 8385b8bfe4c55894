"""Recordings taller than wide, by their pixels and by a flag, in a real browser: on the pages and at the station."""

from __future__ import annotations

import base64
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.report.build import write_report
from siming_tasks.results.discovery import find_runs
from tests.conftest import NEEDS_BROWSER
from tests.footage import FOOTAGE, everyday_exams, foreign, needs_footage, psnr, small
from tests.report.conftest import write_run
from tests.report.serving import viewing
from tests.tools.station.conftest import STEPS, rubric_of, start
from tests.tools.station.pages import complaints, keys, text, visit, wait

pytestmark = [NEEDS_BROWSER, needs_footage, pytest.mark.weekly]

TALL = ("derived_blocks_rotated90.mp4", "derived_juggle_portrait_25fps.mp4")
ASPECT = 9 / 16
DRAWN = (
    "(() => { const v = document.querySelector('video'), c = document.createElement('canvas');"
    " [c.width, c.height] = [160, Math.round(160 * v.videoHeight / v.videoWidth)];"
    " c.getContext('2d').drawImage(v, 0, 0, c.width, c.height); return c.toDataURL(); })()"
)
"""Script that returns the picture on the screen of the first player, 160 pixels wide, as a PNG."""


def grey(url: str) -> Any:
    """A PNG of a data address as grey values, 160 pixels wide."""
    picture = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")
    return small(np.asarray(picture.convert("L")))


@pytest.fixture(scope="module")
def exams(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    built: Dataset = everyday_exams(tmp_path_factory.mktemp("tall") / "exams", TALL).dataset
    return built


@pytest.fixture(scope="module")
def base(exams: Dataset, shared_browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a report of one run that calls everything failed, the browser let in."""
    root = tmp_path_factory.mktemp("report")
    run = write_run(exams, root / "run", "all_failed", model="example/No", settings=("full_score",))
    write_report(find_runs([str(run)]), exams, root / "out", Options(), jobs=1, progress=False)
    with viewing(root / "out", "--data", exams.root, cache=root / "cache") as served:
        shared_browser.get(served.address)
        yield served.base


@pytest.mark.parametrize("number", range(2), ids=["flag", "pixels"])
def test_the_player_and_the_strip_of_frames_are_upright_and_whole(
    base: str, exams: Dataset, shared_browser: Any, number: int
) -> None:
    video, seen = exams.videos[number], foreign(exams.media_path(exams.videos[number]))
    shared_browser.get(f"{base}/videos/{video.video_id}.html")
    shared_browser.switch_to.frame(0)
    wait(shared_browser, "document.querySelector('video').readyState > 0")
    wide, high = shared_browser.execute_script(
        "const v = document.querySelector('video'); return [v.videoWidth, v.videoHeight]"
    )
    assert wide / high == pytest.approx(ASPECT, rel=0.01)
    box = shared_browser.execute_script(
        "const v = document.querySelector('video'), b = v.getBoundingClientRect();"
        "return [getComputedStyle(v).objectFit, b.height, innerHeight]"
    )
    assert box[0] == "contain" and box[1] < box[2], "the whole picture is on the screen"
    shared_browser.execute_script(
        f"document.querySelector('.sheet:not([hidden]) tr[data-step={video.applicable[0].step_id}] button').click()"
    )
    wait(shared_browser, "[...document.querySelectorAll('.detail button')].some(b => b.textContent.startsWith('Show'))")
    shared_browser.execute_script(
        "[...document.querySelectorAll('.detail button')].find(b => b.textContent.startsWith('Show')).click()"
    )
    wait(shared_browser, "document.querySelectorAll('.frames canvas').length === 4")
    strip = shared_browser.execute_script(
        "return [...document.querySelectorAll('.frames canvas')].map(c =>"
        " [c.toDataURL(), c.getBoundingClientRect().width / c.getBoundingClientRect().height,"
        " parseFloat(c.parentElement.querySelector('figcaption').textContent)])"
    )
    assert len({time for *_, time in strip}) == 4
    for url, aspect, time in strip:
        assert aspect == pytest.approx(ASPECT, rel=0.02)
        near = np.flatnonzero(np.abs(seen.times - time) < 0.1)  # the caption has tenths
        assert max(psnr(grey(url), seen.grey[index]) for index in near) > 25, time


def test_the_station_shows_each_frame_upright(shared_browser: Any, tmp_path: Path) -> None:
    (folder := tmp_path / "ward").mkdir()
    for name in TALL:
        shutil.copy(FOOTAGE / name, folder)
    (rubric := tmp_path / "rubric.yaml").write_text(yaml.safe_dump(rubric_of(STEPS), sort_keys=False))
    station = start(
        folder, "--rater", "x", "--rubric", rubric, "--store", tmp_path / "s.sqlite", cache=tmp_path / "cache"
    )
    try:
        visit(shared_browser, station)
        for turn in range(2):
            name = next(name for name in TALL if name in text(shared_browser, "#who"))
            seen = foreign(FOOTAGE / name)
            shared_browser.execute_script(
                "const v = document.getElementById('video'); window.shown = -1;"
                "const seen = (_, d) => { window.shown = d.mediaTime; v.requestVideoFrameCallback(seen); };"
                "v.requestVideoFrameCallback(seen);"
            )
            keys(shared_browser, "\ue014", "\ue014")
            wait(shared_browser, f"Math.abs(window.shown - {seen.times[2]}) < 0.06")
            assert f"frame 3 of {len(seen.times)}" in text(shared_browser, "#time")
            wide, high, box = shared_browser.execute_script(
                "const v = document.getElementById('video');"
                "return [v.videoWidth, v.videoHeight, v.getBoundingClientRect().height / innerHeight]"
            )
            assert wide / high == pytest.approx(ASPECT, rel=0.01) and 0.3 < box < 1
            assert psnr(grey(shared_browser.execute_script(f"return {DRAWN}")), seen.grey[2]) > 25, name
            if not turn:
                keys(shared_browser, "Shift+n")
                wait(shared_browser, f"!document.getElementById('who').textContent.includes('{name}')")
                wait(shared_browser, "document.getElementById('wait').hidden")
        assert complaints(shared_browser) == []
    finally:
        station.end()
        assert station.process.stdout
        station.process.stdout.close()
