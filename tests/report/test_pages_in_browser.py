"""The pages in a real browser, opened from disk."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.report.build import page_facts
from siming_tasks.report.pages.site import Site
from siming_tasks.report.pages.videos import list_videos
from tests.conftest import NEEDS_BROWSER

pytestmark = NEEDS_BROWSER
HOSTILE_SLUG = "org-img-src-x-onerror-alert-1-gpj.7b"


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


def paths(lab, minimal_pairs, board: Path) -> list[Path]:
    """One page of every kind."""
    video = lab.dataset.videos[0].video_id
    names = (
        "index",
        "methods",
        "models/example-noisy-7b",
        "replies/org-img-src-x-onerror-alert-1-gpj.7b",
        "videos/index",
        f"videos/{video}",
        "disagreements/index",
    )
    pairs = [minimal_pairs.out / "pairs" / f"{name}.html" for name in ("index", "pair001")]
    return [*(lab.out / f"{name}.html" for name in names), *pairs, board]


def test_pages_load_from_disk_without_complaint(browser, lab, minimal_pairs, board: Path) -> None:
    for path in paths(lab, minimal_pairs, board):
        visit(browser, path)
        wait(browser, "document.readyState === 'complete'")
        assert errors(browser) == [], path
        assert browser.execute_script("return getComputedStyle(document.body).marginTop") == "0px", "no style sheet"
        assert browser.execute_script("return document.querySelector('.band').offsetHeight") > 10


def test_charts_are_drawn_and_say_their_values(browser, lab) -> None:
    """One chart a setting (its twin for phones is hidden); every value in it stands in the setting's table too."""
    visit(browser, lab.out / "index.html")
    sizes = browser.execute_script(
        "const seen = new Map();"
        "for (const tab of document.querySelectorAll('.tabbed > .tabs button')) { tab.click();"
        "  for (const c of document.querySelectorAll('svg.chart')) if (c.checkVisibility())"
        "    seen.set(c, [c.getBoundingClientRect().width, c.getAttribute('aria-label')]); }"
        "for (const part of document.querySelectorAll('.tabbed > section')) part.hidden = false;"
        "return [...seen.values()]"
    )
    assert len(sizes) == 4 and all(width > 300 and label for width, label in sizes)
    titles = browser.execute_script(
        "return [...document.querySelectorAll('#verdict-figure svg.wide title')].map(t => t.textContent)"
    )
    assert "oracle: 1.000" in titles  # four videos: no interval
    said = browser.execute_script(
        "return [...document.querySelectorAll('svg.chart.wide')].map(c => [...c.querySelectorAll('g > title')]"
        ".map(t => t.textContent.replaceAll('-0.', '\u22120.')))"
    )
    tables = browser.execute_script(
        "return [...document.querySelectorAll('table.linked[data-setting]')].map(t => t.innerText)"
    )
    assert len(said) == len(tables) == 4
    for names, table in zip(said, tables, strict=True):
        # the upper panel is of agreement with each physician, which no table prints; the lower one of the consensus
        lower = names[max(k for k, name in enumerate(names) if name.startswith("no-video baselines")) :]
        values = [found[1] for name in lower if (found := re.search(r": (\u2212?[0-9.]+)$", name))]
        assert len(values) >= 4 and all(value in table for value in values if value != "0.000")
    colour = browser.execute_script("return getComputedStyle(document.querySelector('svg.chart .dot')).fill")
    assert colour.startswith("rgb(") and colour != "rgb(0, 0, 0)"
    outside = browser.execute_script(
        "return [...document.querySelectorAll('svg.chart')].filter(c => c.checkVisibility()).flatMap(c => {"
        "  const box = c.getBoundingClientRect();"
        "  return [...c.querySelectorAll('text, .dot')].filter(t => { const b = t.getBoundingClientRect();"
        "    return b.left < box.left || b.right > box.right || b.top < box.top || b.bottom > box.bottom; })"
        "  .map(t => t.textContent); })"
    )
    assert outside == []


def test_tables_sort_by_a_clicked_column(browser, lab) -> None:
    visit(browser, lab.out / "index.html")
    rows = "[...document.querySelectorAll('#h-full_score ~ .scroll tbody tr')]"
    column = f"{rows}.map(r => r.querySelector('td.main .v').textContent)"
    browser.execute_script(
        "[...document.querySelectorAll('#h-full_score ~ .scroll thead button')]"
        ".find(b => b.textContent.startsWith('kappa')).click()"
    )
    values = [float(text.replace("−", "-").rstrip("*†‡")) for text in browser.execute_script(f"return {column}")]
    assert values == sorted(values, reverse=True)
    assert browser.execute_script("return document.querySelectorAll('th[aria-sort=descending]').length") == 1


def test_two_thousand_videos_are_paged_searched_and_sorted(browser, lab, tmp_path: Path) -> None:
    """One hundred rows at a time; the search and the order are over all of them."""
    shutil.copytree(lab.out / "static", tmp_path / "static")
    first = lab.dataset.videos[0]
    videos = tuple(replace(first, video_id=f"v{k:05d}", duration=100.0 + k * 37 % 2000) for k in range(2000))
    site = Site(tmp_path, page_facts(json.loads((lab.out / "report.json").read_text()), ()))
    list_videos(site, replace(lab.dataset, videos=videos), {"full_score": []}, ())
    visit(browser, tmp_path / "videos" / "index.html")
    shown = (
        "[...document.querySelectorAll('#videos tbody tr')].filter(r => r.offsetParent).map(r => r.cells[0].innerText)"
    )
    buttons = "[...document.querySelectorAll('.pager button')]"

    def seen() -> list[str]:
        return browser.execute_script(f"return {shown}")

    def pager() -> str:
        return browser.execute_script("return document.querySelector('.pager').innerText.trim()")

    assert seen() == [f"v{k:05d}" for k in range(100)] and pager().endswith("page 1 of 20")
    assert browser.execute_script(f"return {buttons}.map(b => b.disabled)") == [True, False]
    browser.execute_script(f"{buttons}[1].click()")
    assert seen() == [f"v{k:05d}" for k in range(100, 200)] and pager().endswith("page 2 of 20")
    browser.execute_script(f"for (let k = 2; k < 20; k++) {buttons}[1].click()")
    assert seen()[-1] == "v01999" and browser.execute_script(f"return {buttons}.map(b => b.disabled)") == [False, True]
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
    assert step.name in detail and "ok: every asked step was answered" in detail and '"scores"' in detail
    assert browser.execute_script("return document.querySelectorAll('.ticks line').length") == 4
    assert browser.execute_script("return location.hash") == f"#full_score/example-noisy-7b/{step.id}", "best first"
    browser.execute_script(
        "[...document.querySelectorAll('.detail button')].find(b => b.textContent.startsWith('Show')).click()"
    )
    wait(browser, "document.querySelectorAll('.frames canvas').length === 4")
    assert errors(browser) == []


def test_the_address_leads_to_the_cell(browser, lab) -> None:
    video, step = lab.dataset.videos[1], lab.dataset.rubric.steps[3]
    visit(browser, lab.out / "videos" / f"{video.video_id}.html", f"#clip_error/example-noisy-7b/{step.id}")
    wait(browser, "document.querySelector('.detail pre')")
    shown = browser.execute_script(
        "return [...document.querySelectorAll('.sheet:not([hidden])')].map(s => s.dataset.setting)"
    )
    assert shown == ["clip_error"]
    assert "example/Noisy-7B" in browser.execute_script("return document.querySelector('.detail h2').textContent")
    assert '"verdict"' in browser.execute_script("return document.querySelector('.detail pre').textContent")


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


def test_videos_of_a_minimal_pair_play_together(browser, minimal_pairs) -> None:
    """Both videos of a pair play the differing step from its start to its end; the index opens on a pair."""
    spans = [video.step("cpr_07").span for video in minimal_pairs.dataset.videos[:2]]
    visit(browser, minimal_pairs.out / "pairs" / "pair001.html")
    both = "[...document.querySelectorAll('.minimal_pairs video')]"
    wait(browser, f"{both}.every(v => v.readyState > 0)")
    assert min(start for start, _ in spans) > 0
    browser.execute_script("document.querySelector('button[data-play=differs]').click()")
    assert browser.execute_script("return document.querySelector('.minimal_pairs').dataset.playing") == "differs"
    wait(browser, f"{both}.every((v, k) => v.currentTime >= {[start for start, _ in spans]}[k])")
    wait(browser, f"{both}.every(v => v.paused) && !document.querySelector('.minimal_pairs').dataset.playing")
    ends = browser.execute_script(f"return {both}.map(v => v.currentTime)")
    assert all(end <= time < end + 1 for time, (_, end) in zip(ends, spans, strict=True))
    quiet = browser.execute_script("return document.querySelector('[data-note=same]').textContent")
    assert "cpr_02" in quiet, "the only step that is worth the same in both"
    assert errors(browser) == []
    visit(browser, minimal_pairs.out / "pairs" / "index.html")
    wait(browser, f"{both}.every(v => v.readyState > 0)")
    assert browser.execute_script("return document.querySelector('.minimal_pairs').dataset.pair") == "pair002", (
        "a history pair"
    )
    browser.execute_script("document.querySelector('button[data-play=same]').click()")
    wait(browser, f"{both}.every((v, k) => v.currentTime >= {[start for start, _ in reversed(spans)]}[k])")
    assert browser.execute_script("return document.querySelectorAll('svg.chart .bound').length") >= 2
    assert errors(browser) == []


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


def test_usable_at_phone_width(browser, lab, minimal_pairs, board: Path) -> None:
    phone = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        for path in paths(lab, minimal_pairs, board):
            visit(browser, path)
            wait(browser, "document.readyState === 'complete'")
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 360, path
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize(("scheme", "rules"), [("light", None), ("dark", ["color-contrast"])])
def test_axe_finds_no_accessibility_fault(
    browser, lab, minimal_pairs, board: Path, scheme: str, rules: list[str] | None
) -> None:
    from axe_core_python.selenium import Axe

    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    options = {"resultTypes": ["violations"]} | ({"runOnly": {"type": "rule", "values": rules}} if rules else {})
    short = lab.out / "models" / f"{HOSTILE_SLUG}.html"  # the same page with one setting: axe takes minutes over four
    try:
        for path in [short, *(path for path in paths(lab, minimal_pairs, board) if path.parent.name != "models")]:
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
