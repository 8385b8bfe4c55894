"""The gestures of the front page and the grids in a real browser, at three widths, opened from disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NEEDS_BROWSER
from tests.report.test_pages_in_browser import errors, visit, wait

pytestmark = NEEDS_BROWSER
WIDTHS = (1440, 1024, 390)


@pytest.fixture(params=WIDTHS)
def browser(shared_browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    width = request.param
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    shared_browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    shared_browser.width = width
    yield shared_browser
    shared_browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_verdict_is_on_the_first_screen(browser: Any, lab: Any) -> None:
    visit(browser, lab.out / "index.html")
    said = browser.execute_script("return document.querySelector('.ruling .headline').innerText")
    assert said.startswith("example/Noisy-7B is the only one that can be ranked: kappa 0.")
    assert browser.execute_script("return document.querySelectorAll('h1').length") == 1
    lamps = browser.execute_script(
        "return [...document.querySelectorAll('.lamps li')].map(l => [l.className, l.innerText])"
    )
    assert [state for state, _ in lamps] == ["unknown", "unknown", "no"]
    assert (
        "Too few exams" in lamps[2][1] and "4 videos; 50 for an interval to be trusted, 10 for any test" in lamps[2][1]
    )
    bottom = browser.execute_script("return document.querySelector('.lamps').getBoundingClientRect().bottom")
    assert bottom < 700
    assert "SYNTHETIC data" in browser.execute_script("return document.querySelector('.ruling-of').innerText")
    bottom = browser.execute_script("return document.querySelector('.ruling .headline').getBoundingClientRect().bottom")
    assert bottom < 500
    assert browser.execute_script("return document.documentElement.scrollWidth") <= browser.width
    assert errors(browser) == []


def test_charts_can_be_read(browser: Any, lab: Any) -> None:
    """One of each pair of charts is shown, its text is no smaller than ten pixels, nothing is cut at the sides."""
    for page in ("index", "models/example-noisy-7b"):
        visit(browser, lab.out / f"{page}.html")
        browser.execute_script("for (const part of document.querySelectorAll('.tabbed > section')) part.hidden = false")
        found = browser.execute_script(
            "return [...document.querySelectorAll('svg.chart.wide, svg.chart.narrow')].filter(c => c.checkVisibility())"
            ".map(c => { const box = c.getBoundingClientRect();"
            "  return [c.classList.contains('narrow'), box.width,"
            "    Math.min(...[...c.querySelectorAll('text')].map(t => parseFloat(getComputedStyle(t).fontSize)))"
            "      * box.width / c.viewBox.baseVal.width,"
            "    [...c.querySelectorAll('text')].filter(t => { const b = t.getBoundingClientRect();"
            "      return b.left < box.left - 1 || b.right > box.right + 1; }).length,"
            "    [...c.querySelectorAll('.head, .said.zone, .said.band')].map(t => t.getBoundingClientRect())"
            "      .filter((a, k, all) => all.slice(k + 1).some(b => a.left < b.right && b.left < a.right"
            "        && a.top + 2 < b.bottom && b.top + 2 < a.bottom)).length]; })"
        )
        pairs = browser.execute_script("return document.querySelectorAll('svg.chart.wide').length")
        assert len(found) == pairs > 0
        for narrow, width, smallest, cut, overlapping in found:
            assert narrow is (browser.width < 500) and cut == 0 and overlapping == 0
            assert smallest >= 9.9, (page, width)
            assert not narrow or width <= 390


def test_a_link_to_a_cell_is_copied_and_leads_back(browser: Any, lab: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    visit(browser, lab.out / "index.html", "#full_error")
    cell = "tr[data-judge=example-noisy-7b] td:nth-child({})"
    table = "table.linked[data-setting=full_error]"
    browser.execute_script(f"document.querySelector('{table} {cell.format(3)}').click()")
    button = browser.find_element("css selector", ".copy-link")
    browser.execute_script(
        "window.copied = []; document.execCommand = () => { copied.push(document.activeElement.value); return true; };"
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async () => { throw new Error('none'); }}});"
    )
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    button.click()
    wait(browser, "document.querySelector('.copy-link').textContent === 'Copied'")
    link = "#full_error/example-noisy-7b/mcc"
    assert browser.execute_script("return location.hash") == link
    assert browser.execute_script("return copied[0]").endswith(f"index.html{link}")
    visit(browser, lab.out / "index.html", link)
    wait(browser, "document.querySelector('td.picked')")
    picked = browser.execute_script("return document.querySelector('td.picked').querySelector('.v').textContent")
    report = json.loads((lab.out / "report.json").read_text())
    rows = {row["name"]: row for row in report["standings"]["full_error"]["rows"]}
    assert picked == f"{rows['example/Noisy-7B']['metrics']['mcc']['value']:.3f}"
    top = browser.execute_script("return document.querySelector('td.picked').getBoundingClientRect().top")
    assert 0 <= top <= 900
    browser.execute_script(f"document.querySelector('{table} td.pickable[tabindex=\"0\"]').focus()")
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.execute_script("return document.activeElement.className") == "copy-link"
    assert errors(browser) == []


def test_settings_are_tabs_and_every_row_has_one_line(browser: Any, lab: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    visit(browser, lab.out / "index.html", "#clip_score")
    shown = "return [...document.querySelectorAll('.tabbed > section')].filter(s => s.offsetHeight).map(s => s.id)"
    assert browser.execute_script(shown) == ["clip_score"]
    tab = browser.find_element("css selector", ".tabbed > .tabs [aria-selected=true]")
    tab.send_keys(Keys.ARROW_RIGHT)
    assert browser.execute_script(shown) == ["clip_error"]
    heights = "return [...document.querySelectorAll('#clip_error .lines tbody tr')].map(r => r.offsetHeight)"
    assert max(browser.execute_script(heights)) <= 34
    intervals = (
        "return [...document.querySelectorAll('#clip_error tbody .num:not(.main) .ci')]"
        ".filter(c => c.checkVisibility()).length"
    )
    assert browser.execute_script(intervals) == 0
    browser.execute_script("document.querySelector('#clip_error .filter-columns').click()")
    written = browser.execute_script("return document.querySelectorAll('#clip_error tbody .num:not(.main) .ci').length")
    assert browser.execute_script(intervals) == written
    assert errors(browser) == []


def test_a_hidden_judge_is_gone_from_every_page_and_comes_back(browser: Any, lab: Any) -> None:
    """Rows, columns and choices; what is computed stays as it is."""
    slug = "example-noisy-7b"
    seen = (
        f'return [...document.querySelectorAll(\'[data-judge="{slug}"], th[data-run="{slug}"]\')]'
        ".filter(e => e.checkVisibility()).length"
    )
    menu = "document.querySelector('details.judges')"
    tick = f"{menu}.open = true; {menu}.querySelector('[value=\"{slug}\"]').click()"
    pages = ["index", "videos/index", f"videos/{lab.dataset.videos[0].video_id}"]
    visit(browser, lab.out / "index.html")
    browser.execute_script("localStorage.clear()")
    try:
        browser.execute_script(tick)
        for page in pages:
            visit(browser, lab.out / f"{page}.html")
            assert browser.execute_script(seen) == 0, page
            said = browser.execute_script("return document.querySelector('.hiding:not([hidden])')?.innerText")
            assert (said is None) is (page == pages[-1]), page
            assert said is None or "example/Noisy-7B. The verdict, ranks and charts are of all judges." in said
        offered = browser.execute_script("return [...document.querySelector('[name=judge]').options].map(o => o.value)")
        assert slug not in offered and "oracle" in offered
        visit(browser, lab.out / "disagreements" / "index.html")
        wait(browser, "document.querySelector('.tally').textContent")
        assert "1 judges" not in browser.execute_script("return document.querySelector('.tally').textContent")
        visit(browser, lab.out / "index.html")
        away = "return getComputedStyle(document.querySelector('h1 a'), '::after').content"
        assert browser.execute_script(away) == '" (hidden below)"'
        browser.execute_script("document.querySelector('.hiding button').click()")
        assert browser.execute_script(away) == "none"
        for page in pages:
            visit(browser, lab.out / f"{page}.html")
            assert browser.execute_script(seen) > 0, page
    finally:
        browser.execute_script("localStorage.clear()")
    assert errors(browser) == []


def test_columns_are_filtered(browser: Any, lab: Any) -> None:
    visit(browser, lab.out / "index.html", "#full_score")
    toggle = "[...document.querySelectorAll('#full_score .filter-columns')].at(-1).click()"
    browser.execute_script(toggle)
    rows = (
        "return [...document.querySelector('#full_score table.filtered').tBodies[0].rows].filter(r => !r.hidden)"
        ".map(r => r.querySelector('th').innerText)"
    )
    column = browser.execute_script("return document.querySelector('#full_score tbody th').cellIndex")
    every = len(browser.execute_script(rows))
    browser.find_elements("css selector", "#full_score table.filtered .filters input")[column].send_keys("noisy")
    kept = browser.execute_script(rows)
    assert 0 < len(kept) < every and all("noisy" in text.lower() for text in kept)
    told = browser.execute_script("return document.querySelector('#full_score .filter-bar [role=status]').textContent")
    assert told == f"{len(kept)} of {every} rows"
    browser.execute_script(toggle)
    assert len(browser.execute_script(rows)) == every
    assert errors(browser) == []


def test_what_is_printed_keeps_titles_and_columns(browser: Any, lab: Any, board: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 700, "height": 990, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        exam = lab.out / "videos" / f"{lab.dataset.videos[0].video_id}.html"
        for path in (lab.out / "index.html", exam, board):
            visit(browser, path)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 700, path
            assert browser.execute_script("return getComputedStyle(document.querySelector('thead')).display") == (
                "table-header-group"
            )
            assert browser.execute_script("return document.querySelector('h1').offsetHeight") > 10
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
