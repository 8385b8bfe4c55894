"""The comparison in a real browser: what decides is in view at three widths with twelve judges and long names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.report.build import write_report
from siming_tasks.results.discovery import find_runs
from tests.conftest import NEEDS_BROWSER
from tests.report.conftest import OPTIONS, write_run
from tests.report.test_pages_in_browser import errors, visit

pytestmark = [NEEDS_BROWSER, pytest.mark.weekly]
LONG = "an-organisation-with-a-long-name/A-Vision-Language-Model-with-Many-Words-Instruct-Preview-{:02d}B"


@pytest.fixture(scope="module")
def twelve(exams: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of twelve judges whose names differ at the end alone, one of them right to left."""
    root = tmp_path_factory.mktemp("twelve")
    names = [LONG.format(number) for number in range(11)] + ["שופט/مدل-7B"]
    for number, name in enumerate(names):
        how = {"noise": 0.08 * number, "seed": number, "settings": ("full_score", "full_error")}
        write_run(exams, root / f"r{number:02d}", "rater_a", model=name, **how)
    runs = find_runs([str(root / f"r{number:02d}") for number in range(len(names))])
    return write_report(runs, exams, root / "report", OPTIONS, media="none", jobs=2, progress=False)


@pytest.fixture(params=(1440, 1024, 390))
def browser(shared_browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    width = request.param
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    shared_browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    shared_browser.width = width
    yield shared_browser
    shared_browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.daily
def test_nothing_that_decides_is_beyond_the_edge(browser: Any, twelve: Path) -> None:
    visit(browser, twelve / "index.html")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= browser.width
    cells = browser.execute_script(
        "return [...document.querySelectorAll('#full_score table.judges tbody :is(td, th)')]"
        ".filter(c => !c.querySelector('.none')).map(c => {"
        "  const box = c.getBoundingClientRect(); return [box.left, box.right, box.height]; })"
    )
    assert len(cells) >= 12 * 7
    assert all(left >= 0 and right <= browser.width + 0.5 and height > 0 for left, right, height in cells)
    clipped = browser.execute_script(
        "return [...document.querySelectorAll('#full_score table.judges tbody *')]"
        ".filter(c => c.scrollWidth > c.clientWidth + 1 && getComputedStyle(c).display !== 'inline').length"
    )
    assert clipped == 0
    names = browser.execute_script(
        "return [...document.querySelectorAll('#full_score table.judges bdi')].map(n => n.innerText)"
    )
    assert len(set(names)) == len(names) and LONG.format(3) in names
    assert errors(browser) == []


def test_the_figure_can_be_read_and_tells_names_apart(browser: Any, twelve: Path) -> None:
    visit(browser, twelve / "index.html")
    narrow, smallest, cut, names, top = browser.execute_script(
        "const [c] = [...document.querySelectorAll('#full_score svg.chart')].filter(c => c.checkVisibility());"
        "const box = c.getBoundingClientRect(), texts = [...c.querySelectorAll('text')];"
        "return [c.classList.contains('narrow'),"
        " Math.min(...texts.map(t => parseFloat(getComputedStyle(t).fontSize))) * box.width / c.viewBox.baseVal.width,"
        " texts.filter(t => { const b = t.getBoundingClientRect();"
        "   return b.left < box.left - 1 || b.right > box.right + 1; }).length,"
        " [...c.querySelectorAll(c.classList.contains('narrow') ? '.name' : '.label')].map(t => t.textContent),"
        " document.querySelector('#full_score .headline').getBoundingClientRect().bottom]"
    )
    assert narrow is (browser.width < 500) and smallest >= 9.9 and cut == 0
    assert len(set(names)) == 12 and top < 600


def test_settings_are_tabs(browser: Any, twelve: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    visit(browser, twelve / "index.html", "#full_error")
    shown = "return [...document.querySelectorAll('.tabbed > section')].filter(s => s.offsetHeight).map(s => s.id)"
    assert browser.execute_script(shown) == ["full_error"]
    browser.find_element("css selector", ".tabbed > .tabs [aria-selected=true]").send_keys(Keys.ARROW_LEFT)
    assert browser.execute_script(shown) == ["full_score"]


def test_what_is_printed_keeps_titles_and_columns(shared_browser: Any, lab: Any, board: Path) -> None:
    browser = shared_browser
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    screen = {"width": 700, "height": 990, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        exam = lab.out / "videos" / f"{lab.dataset.videos[0].video_id}.html"
        for path in (lab.out / "index.html", exam, board):
            visit(browser, path)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 700, path
            head = browser.execute_script("return getComputedStyle(document.querySelector('thead')).display")
            assert head == "table-header-group"
            assert browser.execute_script("return document.querySelector('h1').offsetHeight") > 10
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
