"""A physician at the page, in a real browser: everything by keyboard, and nothing that was acknowledged is lost."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.tools.station.event_log import EventLog
from siming_tasks.tools.station.replay import replay_exams
from tests.conftest import NEEDS_BROWSER, kill_chromium, open_chromium
from tests.tools.station.conftest import UNEVEN, Station, rubric_of
from tests.tools.station.pages import complaints, current, keys, saved, text, visit, wait

pytestmark = [NEEDS_BROWSER, pytest.mark.weekly]
UP, DOWN, LEFT, RIGHT, ESCAPE, ENTER = "\ue013", "\ue015", "\ue012", "\ue014", "\ue00c", "\ue007"

Begin = Callable[..., Station]


def folded(store: Path, rater: str, exam: str) -> Any:
    event_log = EventLog.read(store)
    digest = next(digest for digest, known in event_log.exams().items() if known.name == exam)
    return replay_exams(event_log.events("rate"))[rater, digest]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


@pytest.mark.daily
def test_two_exams_by_keyboard(browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path) -> None:
    station = begin(videos, "--rater", "Dr. Li", "--rubric", rubric, "--store", store)
    visit(browser, station)
    for _ in range(2):
        if "exam b" in text(browser, "#who"):
            break
        keys(browser, "Shift+n")
        wait(browser, "document.getElementById('wait').hidden")
    assert "exam b.mp4" in text(browser, "#who")

    # A span of frames 3 to 6 of exam b: from 200 ms until frame 7 comes at 640 ms.
    assert current(browser) == "look"
    keys(browser, RIGHT, RIGHT, RIGHT, "s")
    wait(browser, "document.getElementById('time').textContent === '0:00.20 · frame 4 of 14'")
    keys(browser, RIGHT, RIGHT, RIGHT, "e", "2")
    found = folded(store, "Dr. Li", "exam b.mp4").step("look")
    assert (found.start, found.end, found.points) == (0.2, 0.64, 2)

    assert current(browser) == "call", "a score goes on to the next open step"
    keys(browser, "1", "0")  # two digits at once are ten, not one and then nought
    assert folded(store, "Dr. Li", "exam b.mp4").step("call").points == 10
    assert current(browser) == "press"
    keys(browser, "n")
    assert not folded(store, "Dr. Li", "exam b.mp4").step("press").applicable
    assert "finished" in text(browser, "#progress") and "Every step is decided" in text(browser, "#done")
    assert "Only 0:00 of 0:02 of the video was played." in text(browser, "#done")

    keys(browser, "u", "u")
    state = folded(store, "Dr. Li", "exam b.mp4")
    assert state.step("press").applicable and state.step("call").points == 1
    keys(browser, "r", "r")
    wait(browser, "document.querySelector('li.current').dataset.step === 'press'")
    keys(browser, "c", "hands <b>bent</b>", ESCAPE)
    wait(browser, "document.querySelector('[data-step=press] .span').textContent.includes('✎')")
    saved(browser)
    state = folded(store, "Dr. Li", "exam b.mp4")
    assert (state.step("press").comment, state.step("call").points, state.left(["look", "call", "press"])) == (
        "hands <b>bent</b>", 10, [],
    )  # fmt: skip

    keys(browser, "Shift+p" if text(browser, "#progress").startswith("Exam 2") else "Shift+n")
    wait(browser, "document.getElementById('who').textContent.includes('exam a.mp4')")
    keys(browser, "1", "3", DOWN, "0")  # 3 of 12: there are no 30, so that it went on; DOWN stays at the last
    assert "2 finished" in text(browser, "#progress")
    assert complaints(browser) == []
    assert "2 of 2 exams finished by Dr. Li" in station.end()


def test_frames_are_stepped_by_their_own_times(
    browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path
) -> None:
    """What the browser shows (the time of the presented picture) is the frame that the page names, one by one."""
    station = begin(videos, "--rater", "x", "--rubric", rubric, "--store", store)
    visit(browser, station)
    if "exam b" not in text(browser, "#who"):
        keys(browser, "Shift+n")
        wait(
            browser,
            "document.getElementById('who').textContent.includes('exam b') && document.getElementById('wait').hidden",
        )
    browser.execute_script(
        "const v = document.getElementById('video'); window.shown = [];"
        "const seen = (_, d) => { window.shown.push(d.mediaTime); v.requestVideoFrameCallback(seen); };"
        "v.requestVideoFrameCallback(seen);"
    )
    for number, at in enumerate(UNEVEN[1:], 1):
        keys(browser, RIGHT)
        wait(browser, f"Math.abs(window.shown.at(-1) - {at / 1000}) < 0.002")
        assert f"frame {number + 1} of 14" in text(browser, "#time")
    keys(browser, LEFT)
    wait(browser, "Math.abs(window.shown.at(-1) - 1.5) < 0.002")
    keys(browser, "g", "0:00.65", ENTER)
    wait(browser, "Math.abs(window.shown.at(-1) - 0.64) < 0.002")
    keys(browser, "s", RIGHT, "e", "v")  # plays the two frames and halts on the second
    wait(
        browser,
        "document.getElementById('video').paused && document.getElementById('time').textContent.includes('frame 9 of')",
    )


def test_the_server_is_killed_between_two_clicks(
    browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path
) -> None:
    """The point that nobody took stays on its step, nothing is taken behind it, and the next station saves it."""
    from selenium.webdriver import ActionChains

    words = (videos, "--rater", "x", "--rubric", rubric, "--store", store)
    station = begin(*words)
    visit(browser, station)
    exam = text(browser, "#who").partition(" · ")[2]
    keys(browser, "2")
    station.kill()
    ActionChains(browser).send_keys("9").perform()
    wait(browser, "document.body.classList.contains('stuck')")
    ActionChains(browser).send_keys("3").send_keys(DOWN).send_keys("u").perform()
    assert text(browser, "#trouble").startswith("Not saved yet: To call: 9.") and text(browser, "#saved") == "NOT saved"
    assert current(browser) == "call" and "– / 12" in text(browser, "[data-step=call] .chip")

    again = begin(*words)
    assert again.server == station.server, "the next station of the same rater is found where the last one was"
    wait(browser, "document.getElementById('trouble').textContent.includes('started again')")
    old = browser.current_window_handle
    browser.switch_to.new_window("tab")
    try:
        visit(browser, again)
        assert exam in text(browser, "#who") and current(browser) == "press"
        assert "9 / 12" in text(browser, "[data-step=call] .chip")
        keys(browser, "3")
    finally:
        browser.close()
        browser.switch_to.window(old)
    # The page that was left open goes on as one of the new station.
    wait(browser, f"location.href === '{again.base}/'")
    wait(browser, "document.querySelector('li.current') !== null")
    assert exam not in text(browser, "#who"), "that one is finished"
    events = [(event.step, event.value) for event in EventLog.read(store).events() if event.kind == "points"]
    assert events == [("look", 2), ("call", 9), ("press", 3)]


def test_a_full_disk_and_a_machine_that_slept(
    browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path
) -> None:
    """Nothing is shown as given before it is on disk; what was typed in time is done in order when it is."""
    from selenium.webdriver import ActionChains

    station = begin(videos, "--rater", "x", "--rubric", rubric, "--store", store)
    visit(browser, station)
    pid, unlimited = station.process.pid, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    ActionChains(browser).send_keys("1").perform()
    wait(browser, "document.getElementById('trouble').textContent.includes('Is the disk full')")
    assert current(browser) == "look" and "– / 2" in text(browser, "[data-step=look] .chip")
    browser.refresh()  # the browser kept it
    wait(browser, "document.getElementById('trouble').textContent.startsWith('Not saved yet: To look: 1.')")
    resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
    wait(browser, "document.getElementById('trouble').textContent.includes('is now: To look: 1.')")
    saved(browser)
    assert current(browser) == "call" and "1 / 2" in text(browser, "[data-step=look] .chip")

    station.process.send_signal(signal.SIGSTOP)
    ActionChains(browser).send_keys("1").send_keys("2").send_keys("c").send_keys("no one named" + ESCAPE).perform()
    assert current(browser) == "call" and "– / 12" in text(browser, "[data-step=call] .chip")
    station.process.send_signal(signal.SIGCONT)
    wait(browser, "document.querySelector('[data-step=press] .span').textContent.includes('✎')")
    events = [(event.step, event.value) for event in EventLog.read(store).events() if event.step]
    assert events == [("look", 1), ("call", 1), ("call", 12), ("press", "no one named")]


def test_the_browser_is_killed_in_mid_exam(
    begin: Begin, videos: Path, rubric: Path, store: Path, tmp_path: Path
) -> None:
    station = begin(videos, "--rater", "x", "--rubric", rubric, "--store", store)
    first = open_chromium(tmp_path / "one")
    visit(first, station)
    exam = text(first, "#who").partition(" · ")[2]
    keys(first, "1", "5")
    kill_chromium(tmp_path / "one")
    second = open_chromium(tmp_path / "two")
    try:
        visit(second, station)
        assert exam in text(second, "#who") and current(second) == "press"
        state = folded(store, "x", exam)
        assert [state.step(step).points for step in ("look", "call")] == [1, 5]
    finally:
        second.quit()
        first.service.stop()


def test_two_raters_work_at_once_without_mixing(
    browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path
) -> None:
    """Two stations on one store; neither page shows anything of the other's."""
    stations = {name: begin(videos, "--rater", name, "--rubric", rubric, "--store", store) for name in ("a", "b")}
    for name, digit in (("a", "2"), ("b", "1"), ("a", "1")):
        visit(browser, stations[name])
        before = current(browser)
        keys(browser, digit)
        assert before == ("call" if (name, digit) == ("a", "1") else "look"), "b's page did not know of a's points"
    event_log = EventLog.read(store)
    given = [(event.rater, event.step, event.value) for event in event_log.events() if event.step]
    assert given == [("a", "look", 2), ("b", "look", 1), ("a", "call", 1)]


def test_a_video_that_changed_is_not_shown(
    begin: Begin, videos: Path, rubric: Path, store: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "ward"
    shutil.copytree(videos, folder)
    station = begin(folder, "--rater", "x", "--rubric", rubric, "--store", store)
    number = station.number("exam a.mp4")
    shutil.copy(videos / "exam b.mp4", folder / "exam a.mp4")
    status, _, body = station.ask(f"/media/{number}")
    assert status == 409 and "was replaced or changed" in body.decode()
    assert station.event(number, "look", "points", 1)["status"] == 409, "no points for a video that is not there"


def test_usable_at_phone_width(browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path) -> None:
    station = begin(videos, "--rater", "x", "--rubric", rubric, "--store", store)
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        visit(browser, station)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        for selector in (
            "#card [data-value='1']",
            "[data-step=call] .head",
            "#card [data-value='12']",
        ):
            browser.find_element("css selector", selector).click()
            saved(browser)
            hidden = "document.getElementById('watch').getBoundingClientRect().bottom"
            hidden += " - document.getElementById('card').getBoundingClientRect().top"
            assert browser.execute_script(f"return {hidden}") < 1, "the step that came is in sight"
        wait(browser, "document.querySelector('[data-step=call] .chip').textContent === '12 / 12'")
        assert "1 / 2" in text(browser, "[data-step=look] .chip")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def axe(browser: Any) -> list[Any]:
    from axe_core_python.selenium import Axe

    found = Axe().run(browser, None, {"resultTypes": ["violations"]})["violations"]
    return [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found]


def test_axe_finds_nothing(browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path) -> None:
    station = begin(videos, "--rater", "x", "--rubric", rubric, "--store", store)
    try:
        for scheme in ("light", "dark"):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            visit(browser, station)
            keys(browser, "2", "s")
            assert axe(browser) == [], scheme
            keys(browser, "?")
            assert axe(browser) == [], f"help, {scheme}"
            keys(browser, "?")
            station.ask("/act", {})
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_hostile_names_and_comments_stay_text(
    browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path, tmp_path: Path
) -> None:
    evil = "<img src=x onerror=window.ran=1>\u202e.mp4"
    folder = tmp_path / "ward"
    folder.mkdir()
    shutil.copy(videos / "exam a.mp4", folder / evil)
    station = begin(folder, "--rater", "<script>window.ran=2</script>", "--rubric", rubric, "--store", store)
    visit(browser, station)
    assert "<img src=x onerror=window.ran=1>⟦U+202E⟧" in text(browser, "#who")
    assert station.event(0, "look", "comment", "<img src=x onerror=window.ran=3>")["status"] == 200
    visit(browser, station)
    assert (
        browser.execute_script("return document.querySelector('textarea').value") == "<img src=x onerror=window.ran=3>"
    )
    assert browser.execute_script("return window.ran") is None
    assert browser.execute_script("return document.querySelectorAll('main img, main script').length") == 0
    with sqlite3.connect(store) as event_log:
        assert event_log.execute("SELECT DISTINCT rater FROM acts").fetchall() == [("<script>window.ran=2</script>",)]
    event_log.close()


@pytest.mark.daily
def test_adjudication_by_keyboard(browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path) -> None:
    """Two raters differ on one step of exam a and two of exam b; the third person sees both scores and no name."""
    given = {"Dr. Li": {"exam a.mp4": (2, 5, 1), "exam b.mp4": (2, 12, 0)}}
    given["Dr. Wu"] = {"exam a.mp4": (2, 9, 1), "exam b.mp4": (1, 12, 3)}
    for rater, sheets in given.items():
        station = begin(videos, "--rater", rater, "--rubric", rubric, "--store", store)
        for exam, points in sheets.items():
            number = station.number(exam)
            for step, each in zip(("look", "call", "press"), points, strict=True):
                assert station.event(number, step, "points", each)["status"] == 200
        if rater == "Dr. Wu":
            station.event(station.number("exam b.mp4"), "look", "start", 3)
            station.event(station.number("exam b.mp4"), "look", "end", 6)
        station.kill()
    station = begin(videos, "--adjudicate", "--rubric", rubric, "--store", store)
    visit(browser, station)
    if "exam b" not in text(browser, "#who"):
        keys(browser, "Shift+n")
        wait(browser, "document.getElementById('who').textContent.includes('exam b')")
        wait(browser, "document.getElementById('wait').hidden")
    steps = "[...document.querySelectorAll('li[data-step]')].map(row => row.dataset.step).join()"
    assert browser.execute_script(f"return {steps}") == "look,press"
    both = text(browser, ".both")
    assert "1 point " in both and "2 points" in both and "See 0:00.20" in both
    page = browser.execute_script("return document.documentElement.outerHTML")
    assert "Li" not in page and "Wu" not in page
    keys(browser, "v")
    wait(
        browser,
        "document.getElementById('video').paused && document.getElementById('time').textContent.includes('7 of')",
    )
    assert axe(browser) == []
    keys(browser, "1", "3", "c", "agreed on the phone", ESCAPE)
    wait(browser, "document.querySelector('[data-step=press] .span').textContent.includes('✎')")
    keys(browser, "Shift+n" if text(browser, "#progress").startswith("Exam 1") else "Shift+p")
    wait(browser, "document.getElementById('who').textContent.includes('exam a')")
    assert browser.execute_script(f"return {steps}") == "call"
    keys(browser, "7")
    assert "2 of 2 exams finished by consensus" in station.end()
    event_log = EventLog.read(store)
    assert [event.value for event in event_log.events("adjudicate", "consensus") if event.kind == "points"] == [1, 3, 7]
    assert complaints(browser) == []


def test_a_video_that_browsers_cannot_play_is_shown_all_the_same(
    browser: Any, begin: Begin, rubric: Path, store: Path, tmp_path: Path
) -> None:
    """An AVI of a ward's old camera: a copy of exactly its frames is played, at their times."""
    from tests.data.conftest import write_video

    write_video(tmp_path / "old" / "exam.avi", frames=20, size=(160, 90), codec="mpeg4")
    station = begin(tmp_path / "old", "--rater", "x", "--rubric", rubric, "--store", store)
    visit(browser, station)
    keys(browser, RIGHT, RIGHT, "s")
    assert "frame 3 of 20" in text(browser, "#time")
    assert browser.execute_script("return document.getElementById('video').videoWidth") == 160
    assert folded(store, "x", "exam.avi").step("look").start == pytest.approx(0.2)


def test_a_comment_stays_with_its_exam(browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path) -> None:
    """Typed and at once left for the next exam by the mouse, before the typing has rested."""
    station = begin(videos, "--rater", "x", "--rubric", rubric, "--store", store)
    visit(browser, station)
    exam = text(browser, "#who").partition(" · ")[2]
    keys(browser, "1", "1", DOWN, "1", "c")
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys("late").perform()
    browser.find_element("css selector", "#done button.main").click()
    wait(browser, f"!document.getElementById('who').textContent.includes({exam!r})")
    saved(browser)
    given = [
        (event.step, event.value, event.exam) for event in EventLog.read(store).events() if event.kind == "comment"
    ]
    digest = next(digest for digest, known in EventLog.read(store).exams().items() if known.name == exam)
    assert given == [("press", "late", digest)]


def test_undo_brings_its_step_to_the_screen(
    browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path
) -> None:
    station = begin(videos, "--rater", "x", "--rubric", rubric, "--store", store)
    visit(browser, station)
    keys(browser, "2", DOWN)
    assert current(browser) == "press" and "To look: 2 / 2" in text(browser, "#done")
    keys(browser, "u")
    wait(browser, "document.querySelector('li.current').dataset.step === 'look'")
    assert "– / 2" in text(browser, "[data-step=look] .chip")
    assert browser.execute_script("return document.getElementById('undo').disabled")


def test_half_points_by_keyboard(browser: Any, begin: Begin, videos: Path, store: Path, tmp_path: Path) -> None:
    halves = rubric_of({"look": 2, "call": 3})
    halves["skills"][0]["steps"][0]["score_increment"] = 0.5
    (tmp_path / "halves.yaml").write_text(yaml.safe_dump(halves))
    station = begin(videos, "--rater", "x", "--rubric", tmp_path / "halves.yaml", "--store", store)
    visit(browser, station)
    exam = text(browser, "#who").partition(" · ")[2]
    keys(browser, "1")
    keys(browser, ".")
    assert folded(store, "x", exam).step("look").points == 1.5
    assert current(browser) == "call"
    keys(browser, UP)
    shown = "[...document.querySelectorAll('#card [data-kind=points]')].map(b => b.dataset.value).join()"
    assert browser.execute_script(f"return {shown}") == "0,0.5,1,1.5,2"
    keys(browser, DOWN, ".")
    assert folded(store, "x", exam).step("call").points is None, "half more than nothing is nothing"
    keys(browser, "1", UP, DOWN, ".")
    wait(browser, "document.getElementById('trouble').textContent.includes('not on the scale of call: 0, 1, 2, 3')")
    assert folded(store, "x", exam).step("call").points == 1


def test_a_held_key_and_a_double_click_score_one_step(
    browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path
) -> None:
    """The next step comes at once: what was meant for the last one must not be taken for it."""
    from selenium.webdriver import ActionChains

    station = begin(videos, "--rater", "x", "--rubric", rubric, "--store", store)
    visit(browser, station)
    held = "for (const repeat of [false, true, true]) dispatchEvent"
    event = "new KeyboardEvent('keydown', {key: '2', repeat, bubbles: true})"
    browser.execute_script(f"{held.replace('dispatchEvent', 'document.body.dispatchEvent')}({event})")
    saved(browser)
    assert current(browser) == "call" and "– / 12" in text(browser, "[data-step=call] .chip")
    ActionChains(browser).double_click(browser.find_element("css selector", "#card [data-value='9']")).perform()
    saved(browser)
    assert current(browser) == "press" and "– / 3" in text(browser, "[data-step=press] .chip")
    assert "9 / 12" in text(browser, "[data-step=call] .chip")
    keys(browser, UP, "1")  # who mends an answer stays; so does who may still type a second digit
    assert current(browser) == "call"
    browser.execute_script("document.getElementById('goOn').click()")
    keys(browser, DOWN, "3")
    assert current(browser) == "press" and "Every step is decided" in text(browser, "#done")
    browser.execute_script("document.getElementById('goOn').click()")


def test_the_page_speaks_chinese_and_remembers_it(
    browser: Any, begin: Begin, videos: Path, rubric: Path, store: Path
) -> None:
    """Errors too, which the station makes; another start has another port, and the same language."""
    words = ("--rater", "李医生", "--rubric", rubric, "--store", store)
    station = begin(videos, *words)
    visit(browser, station)
    assert browser.execute_script("return document.documentElement.lang") == "en"
    browser.execute_script(
        "const list = document.getElementById('language'); list.value = 'zh'; list.dispatchEvent(new Event('change'))"
    )
    try:
        assert text(browser, "#heading") == "评分站" and "还剩 3/3 个步骤" in text(browser, "#progress")
        keys(browser, "9")
        assert text(browser, "#trouble") == "9 不在 look 的分值范围内：0, 1, 2。"
        assert axe(browser) == []
        own = (
            "script, noscript, option, kbd, #who, #sheet, #step-name, #step dd, .requirement"  # names, keys, the rubric
        )
        left = browser.execute_script(
            "const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), left = [];"
            "while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(arguments[0]))"
            " left.push(walker.currentNode.data);"
            "return left.filter((text) => /[a-z]{4}/.test(text))",
            own,
        )
        assert left == ["9 不在 look 的分值范围内：0, 1, 2。"]
        station.end()
        again = begin(videos, *words)
        visit(browser, again)
        assert text(browser, "#heading") == "评分站"
        station = begin(videos, *words, "--language", "en")
        assert "exams finished by 李医生" in station.said[0]
        visit(browser, station)
        assert text(browser, "#heading") == "Rating station", "what is said at the start is newer than the memory"
        chinese = {"accept-language": "zh-CN"}
        assert "这是评分站" in station.ask("/work", headers=chinese, key=False)[2].decode()
        assert json.loads(station.ask("/act", {"item": 9}, headers=chinese)[2]) == {"error": "没有这个考核。"}
    finally:
        browser.delete_all_cookies()


def test_it_is_known_who_listened(browser: Any, begin: Begin, store: Path, tmp_path: Path) -> None:
    """Played with sound, then without; an AVI is heard too, and its wave form drawn. Steps that need sound say so."""
    from tests.data.conftest import write_video

    heard = rubric_of({"call": 2})
    heard["skills"][0]["steps"][0]["evidence"] = {"channel": "audio"}
    rubric = tmp_path / "rubric.yaml"
    rubric.write_text(yaml.safe_dump(heard))
    write_video(tmp_path / "ward" / "exam.mp4", frames=30, size=(160, 90), audio=True)
    write_video(tmp_path / "ward" / "old.avi", seed=2, frames=30, size=(160, 90), codec="mpeg4", audio=True)
    station = begin(tmp_path / "ward", "--rater", "x", "--rubric", rubric, "--store", store)
    assert station.ask(f"/media/{station.number('old.avi')}")[0] == 200, "also before its wave form was drawn"
    visit(browser, station)
    for number in range(2):
        wait(browser, f"document.getElementById('exams').value === '{number}'")
        wait(browser, "document.getElementById('wait').hidden")
        wait(browser, "document.querySelector('#wave path').getAttribute('d').length > 800")
        assert text(browser, "#sound") == "Sound on" and "sound" not in text(browser, "#step-name")
        if "old.avi" in text(browser, "#who"):
            keys(browser, "m")
            assert text(browser, "#sound") == "Sound off" and "Needs sound: it is off" in text(browser, "#step-name")
        browser.execute_script("document.getElementById('video').currentTime = 0")
        keys(browser, " ")
        wait(browser, "document.getElementById('video').ended")
        if number == 0:
            if "old.avi" in text(browser, "#who"):
                keys(browser, "m")
            keys(browser, "Shift+n")
    browser.refresh()  # before a piece is long enough to be told
    wait(browser, "document.getElementById('progress').textContent !== ''")
    event_log = EventLog.read(store)
    names = {digest: exam.name for digest, exam in event_log.exams().items()}
    played = {names[event.exam]: event.value for event in event_log.events() if event.kind == "played"}
    assert set(played) == {"exam.mp4", "old.avi"}
    assert played["exam.mp4"]["heard"] == pytest.approx(3, abs=0.5) and played["exam.mp4"]["silent"] == 0
    assert played["old.avi"]["silent"] == pytest.approx(3, abs=0.5) and played["old.avi"]["heard"] == 0
    assert complaints(browser) == []
    assert len(json.loads(station.ask("/wave/0")[2])) == 800 and station.ask("/wave/9")[0] == 404
