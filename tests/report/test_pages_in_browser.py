"""The pages in a real browser, opened from disk."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.report.build import PAGES, page_facts
from siming_tasks.report.pages.exams import list_videos
from siming_tasks.report.pages.site import Site
from tests.conftest import NEEDS_BROWSER

pytestmark = [NEEDS_BROWSER, pytest.mark.weekly]
HOSTILE_SLUG = "org-img-src-x-onerror-alert-1-u-202e-gpj.7b"


@pytest.fixture
def browser(shared_browser: Any) -> Any:
    return shared_browser


def visit(browser: Any, path: Path, fragment: str = "") -> None:
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(path.resolve().as_uri() + fragment)


def errors(browser: Any) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def wait(browser: Any, script: str) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 40, 0.1).until(lambda driver: driver.execute_script(f"return {script}"))


def paths(lab, board: Path) -> list[Path]:
    """One page of every kind."""
    names = ["models/example-noisy-7b.html", f"videos/{lab.dataset.videos[0].video_id}.html"]
    return [lab.out / name for name in (*(page.href for page in PAGES if page.href), *names)] + [board]


@pytest.mark.daily
@pytest.mark.daily
def test_pages_load_from_disk_without_complaint(browser, lab, board: Path) -> None:
    for path in paths(lab, board):
        visit(browser, path)
        wait(browser, "document.readyState === 'complete'")
        assert errors(browser) == [], path
        assert browser.execute_script("return getComputedStyle(document.body).marginTop") == "0px", "no style sheet"
        assert browser.execute_script("return document.querySelector('.band').offsetHeight") > 10


def test_two_thousand_videos_are_paged_searched_and_sorted(browser, lab, tmp_path: Path) -> None:
    """One hundred rows at a time; the search and the order are over all of them."""
    shutil.copytree(lab.out / "static", tmp_path / "static")
    first = lab.dataset.videos[0]
    videos = tuple(replace(first, video_id=f"v{k:05d}", duration=100.0 + k * 37 % 2000) for k in range(2000))
    site = Site(tmp_path, page_facts(json.loads((lab.out / "report.json").read_text())))
    list_videos(site, replace(lab.dataset, videos=videos), {"full_score": []}, ())
    visit(browser, tmp_path / "videos" / "index.html")
    rows = "[...document.querySelectorAll('#videos tbody tr')].filter(r => r.offsetParent)"

    def seen() -> list[str]:
        return browser.execute_script(f"return {rows}.map(r => r.cells[0].innerText)")

    assert seen() == [f"v{k:05d}" for k in range(100)]
    browser.execute_script("document.querySelectorAll('.pager button')[1].click()")
    assert seen() == [f"v{k:05d}" for k in range(100, 200)]
    assert browser.execute_script("return document.querySelector('.pager').innerText").endswith("page 2 of 20")
    find = browser.find_element("css selector", "input.filter")
    find.send_keys("v0123")
    assert seen() == [f"v0123{k}" for k in range(10)]
    assert browser.execute_script("return document.querySelector('.pager').hidden")
    browser.execute_script("document.querySelector('.filter').value = ''")
    find.send_keys(" ", "\b")
    browser.execute_script(
        "[...document.querySelectorAll('#videos thead button')].find(b => b.innerText == 'Seconds').click()"
    )
    longest = sorted(videos, key=lambda video: -video.duration)[:100]
    assert seen() == [video.video_id for video in longest]
    assert errors(browser) == []


@pytest.mark.daily
def test_a_cell_shows_the_moment_and_the_reply(browser, lab) -> None:
    video, step = lab.dataset.videos[0], lab.dataset.rubric.steps[20]
    start = video.step(step.id).span[0]
    visit(browser, lab.out / "videos" / f"{video.video_id}.html")
    wait(browser, "document.querySelector('video').readyState > 0")
    assert browser.execute_script("return document.querySelector('.detail pre')") is None, "replies load when asked for"
    browser.execute_script(f"document.querySelector('.sheet:not([hidden]) tr[data-step={step.id}] button').click()")
    wait(browser, "document.querySelector('.detail pre')")
    wait(browser, f"Math.abs(document.querySelector('video').currentTime - {start}) < 0.1")
    detail = browser.execute_script("return document.querySelector('.detail').innerText")
    assert step.name in detail and "ok: all steps answered" in detail and '"scores"' in detail
    assert browser.execute_script("return document.querySelectorAll('.ticks line').length") == 4
    assert browser.execute_script("return location.hash") == f"#full_score/example-noisy-7b/{step.id}", "best first"
    browser.execute_script(
        "[...document.querySelectorAll('.detail button')].find(b => b.textContent.startsWith('Show')).click()"
    )
    wait(browser, "document.querySelectorAll('.frames canvas').length === 4")
    assert errors(browser) == []


def test_the_keyboard_is_enough(browser, lab) -> None:
    from selenium.webdriver.common.keys import Keys

    video = lab.dataset.videos[0]
    visit(browser, lab.out / "videos" / f"{video.video_id}.html")
    wait(browser, "document.querySelector('video').readyState > 0")
    tab = browser.find_element("css selector", ".tabs button[aria-selected=true]")
    tab.send_keys(Keys.ARROW_RIGHT)
    assert browser.execute_script("return document.activeElement.dataset.setting") == "full_error"
    stops = browser.execute_script(
        "return document.querySelectorAll('.sheet:not([hidden]) td button[tabindex=\"0\"]').length"
    )
    assert stops == 1
    cell = browser.find_element("css selector", ".sheet:not([hidden]) td button[tabindex='0']")
    cell.send_keys(Keys.ARROW_DOWN)
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    wait(browser, "document.querySelector('.detail pre')")
    second = video.applicable[1].step_id
    assert browser.execute_script("return location.hash") == f"#full_error/oracle/{second}"
    wait(browser, f"Math.abs(document.querySelector('video').currentTime - {video.step(second).span[0]}) < 0.1")


def test_hostile_replies_stay_text(browser, lab) -> None:
    for number, expected in enumerate(("<script>alert(1)</script>", "⟦U+202E⟧", "characters left out")):
        video = lab.dataset.videos[number].video_id
        visit(browser, lab.out / "videos" / f"{video}.html", f"#full_score/{HOSTILE_SLUG}/cpr_01")
        wait(browser, "document.querySelector('.detail pre')")
        assert expected in browser.execute_script("return document.querySelector('.detail pre').textContent")
        assert browser.execute_script("return document.querySelectorAll('.detail script, .detail img').length") == 0
        assert errors(browser) == []


def test_the_policy_stops_what_escaping_might_miss(browser, lab, tmp_path: Path) -> None:
    """The check that the checks above can fail: the same page with a live script and handler in it."""
    page = (lab.out / "index.html").read_text()
    (lab.out / "evil.html").write_text(
        page.replace("<h1", "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'><h1", 1)
    )
    try:
        visit(browser, lab.out / "evil.html")
        assert browser.execute_script("return window.ran") is None
        assert any("Content Security Policy" in message for message in errors(browser))
    finally:
        (lab.out / "evil.html").unlink()


def test_frames_at_uneven_times_are_marked_where_they_are(browser, lab) -> None:
    """The page of a video whose frames are listed puts the ticks there, not evenly between start and end."""
    out = lab.out.parent / "uneven"
    shutil.copytree(lab.out, out)
    video = lab.dataset.videos[0].video_id
    page = out / "videos" / f"{video}.html"
    text = page.read_text()
    assert 'data-frames="even"' in text
    page.write_text(text.replace('data-frames="even"', 'data-frames="listed"'))
    (out / "frames").mkdir()
    (out / "frames" / f"{video}.js").write_text(f"SIMING.frames({[0, 1, 2, 3, 4, 5, 7, 7.1, 7.2, 8]});")
    visit(browser, page, "#full_score/oracle/cpr_01")
    wait(browser, "document.querySelectorAll('.ticks line').length === 4")
    found = browser.execute_script(
        "const length = parseFloat(document.querySelector('main').dataset.duration);"
        "return [...document.querySelectorAll('.ticks line')].map(t => parseFloat(t.getAttribute('x1')) / 100 * length)"
    )
    assert found == pytest.approx([0, 3, 7, 8], abs=1e-3)


def test_usable_at_phone_width(browser, lab, board: Path) -> None:
    phone = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        for path in paths(lab, board):
            visit(browser, path)
            wait(browser, "document.readyState === 'complete'")
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 360, path
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize(("scheme", "rules"), [("light", None), ("dark", ["color-contrast"])])
def test_axe_finds_no_accessibility_fault(browser, lab, board: Path, scheme: str, rules: list[str] | None) -> None:
    from axe_core_python.selenium import Axe

    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    options = {"resultTypes": ["violations"]} | ({"runOnly": {"type": "rule", "values": rules}} if rules else {})
    short = lab.out / "models" / f"{HOSTILE_SLUG}.html"  # the same page with one setting: axe takes minutes over four
    try:
        for path in [short, *(path for path in paths(lab, board) if path.parent.name != "models")]:
            visit(browser, path)
            wait(browser, "document.readyState === 'complete'")
            # What a closed part hides would be judged on the ground of what stands in its place.
            browser.execute_script("document.querySelectorAll('details').forEach(part => { part.open = true; })")
            found = Axe().run(browser, None, options)["violations"]
            assert [
                (rule["id"], rule["nodes"][0]["html"][:200], rule["nodes"][0]["any"][:1]) for rule in found
            ] == [], path
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
