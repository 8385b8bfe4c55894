"""A physician at the page, in a real browser: everything by keyboard, and nothing that was acknowledged is lost."""

import resource
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.tools.station.event_log import EventLog
from siming_tasks.tools.station.replay import replay_exams
from tests.conftest import NEEDS_BROWSER
from tests.data.conftest import write_video
from tests.tools.station.conftest import UNEVEN, Station, rubric_of
from tests.tools.station.pages import complaints, current, keys, press, saved, text, turn_to, visit, wait

pytestmark = [NEEDS_BROWSER, pytest.mark.weekly]
UP, DOWN, LEFT, RIGHT, ESCAPE, ENTER = "\ue013", "\ue015", "\ue012", "\ue014", "\ue00c", "\ue007"
COMMENTED = "document.querySelector('[data-step=press] .span').textContent.includes('✎')"

Sit = Callable[..., Station]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


@pytest.fixture
def sit(begin: Sit, browser: Any, videos: Path, rubric: Path, store: Path) -> Sit:
    """Starts a station, by default of rater x, and opens its page."""

    def one(*who: Any, folder: Path = videos, rubric: Path = rubric) -> Station:
        station = begin(folder, *(who or ("--rater", "x")), "--rubric", rubric, "--store", store)
        visit(browser, station)
        return station

    return one


def folded(store: Path, rater: str, exam: str) -> Any:
    event_log = EventLog.read(store)
    digest = next(digest for digest, known in event_log.exams().items() if known.name == exam)
    return replay_exams(event_log.events("rate"))[rater, digest]


def given(store: Path) -> list[tuple[Any, ...]]:
    """What was said about steps: rater, step, value."""
    return [(event.rater, event.step, event.value) for event in EventLog.read(store).events() if event.step]


def shown_exam(browser: Any) -> str:
    return text(browser, "#who").partition(" · ")[2]


def axe(browser: Any) -> list[Any]:
    from axe_core_python.selenium import Axe

    found = Axe().run(browser, None, {"resultTypes": ["violations"]})["violations"]
    return [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found]


@pytest.mark.daily
def test_two_exams_by_keyboard(browser: Any, sit: Sit, store: Path) -> None:
    station = sit("--rater", "Dr. Li")
    turn_to(browser, "exam b.mp4")

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

    keys(browser, UP, UP, "u", "u")
    wait(browser, "document.querySelector('li.current').dataset.step === 'call'")  # undo brings its step to the screen
    state = folded(store, "Dr. Li", "exam b.mp4")
    assert state.step("press").applicable and state.step("call").points is None, "ten was one press, and is one undo"
    keys(browser, "r", "r")
    wait(browser, "document.querySelector('li.current').dataset.step === 'press'")
    keys(browser, "c")
    press(browser, "hands <b>bent</b>")
    browser.execute_script(  # on to the other exam, before the typing has rested
        "const list = document.getElementById('exams'); list.value = 1 - list.value;"
        "list.dispatchEvent(new Event('change'))"
    )
    wait(browser, "document.getElementById('who').textContent.includes('exam a.mp4')")
    saved(browser)
    state = folded(store, "Dr. Li", "exam b.mp4")
    assert (state.step("press").comment, state.step("call").points) == ("hands <b>bent</b>", 10)
    assert not folded(store, "Dr. Li", "exam a.mp4").steps, "the comment stayed with its exam"
    keys(browser, "1", "3", DOWN, "0")  # 3 of 12: there are no 30, so that it went on; DOWN stays at the last
    assert "2 finished" in text(browser, "#progress")
    assert complaints(browser) == []
    assert "Exams finished by Dr. Li: 2 of 2." in station.end()


def test_frames_are_stepped_by_their_own_times(browser: Any, sit: Sit) -> None:
    """What the browser shows (the time of the presented picture) is the frame that the page names, one by one."""
    sit()
    turn_to(browser, "exam b.mp4")
    browser.execute_script(
        "const v = document.getElementById('video'); window.shown = [];"
        "const seen = (_, d) => { window.shown.push(d.mediaTime); v.requestVideoFrameCallback(seen); };"
        "v.requestVideoFrameCallback(seen);"
    )
    for number, at in enumerate(UNEVEN[1:], 1):
        keys(browser, RIGHT)
        wait(browser, f"Math.abs(window.shown.at(-1) - {at / 1000}) < 0.002")
        assert f"frame {number + 1} of 14" in text(browser, "#time")
    for pressed, at in (((LEFT,), 1.5), (("g", "0:00.65", ENTER), 0.64)):
        keys(browser, *pressed)
        wait(browser, f"Math.abs(window.shown.at(-1) - {at}) < 0.002")
    keys(browser, "s", RIGHT, "e", "v")  # plays the two frames and halts on the second
    wait(browser, "document.getElementById('video').paused")
    wait(browser, "document.getElementById('time').textContent.includes('frame 9 of')")


def test_the_server_is_killed_between_two_clicks(
    browser: Any, begin: Sit, videos: Path, rubric: Path, store: Path
) -> None:
    """The point that nobody took stays on its step, nothing is taken behind it, and the next station saves it."""
    words = (videos, "--rater", "x", "--rubric", rubric, "--store", store)
    station = begin(*words)
    visit(browser, station)
    exam = shown_exam(browser)
    keys(browser, "2")
    station.kill()
    press(browser, "9")
    wait(browser, "document.body.classList.contains('stuck')")
    press(browser, "3", DOWN, "u")
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
    assert given(store) == [("x", "look", 2), ("x", "call", 9), ("x", "press", 3)]


def test_a_full_disk_and_a_machine_that_slept(browser: Any, sit: Sit, store: Path) -> None:
    """Nothing is shown as given before it is on disk; what was typed in time is done in order when it is."""
    station = sit()
    resource.prlimit(station.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    press(browser, "1")
    wait(browser, "document.getElementById('trouble').textContent.includes('Is the disk full')")
    assert current(browser) == "look" and "– / 2" in text(browser, "[data-step=look] .chip")
    browser.refresh()  # the browser kept it
    wait(browser, "document.getElementById('trouble').textContent.startsWith('Not saved yet: To look: 1.')")
    resource.prlimit(station.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    wait(browser, "document.getElementById('trouble').textContent.includes('is now: To look: 1.')")
    saved(browser)
    assert current(browser) == "call" and "1 / 2" in text(browser, "[data-step=look] .chip")

    station.process.send_signal(signal.SIGSTOP)
    press(browser, "1", "2", "c", "no one named" + ESCAPE)
    assert current(browser) == "call" and "– / 12" in text(browser, "[data-step=call] .chip")
    station.process.send_signal(signal.SIGCONT)
    wait(browser, COMMENTED)
    assert [what[1:] for what in given(store)] == [("look", 1), ("call", 1), ("call", 12), ("press", "no one named")]


def test_a_phone_and_a_reader_of_screens(browser: Any, sit: Sit) -> None:
    """Nothing sticks out at 390 pixels, the step that came is in sight; axe finds nothing, light or dark."""
    sit()
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    try:
        for selector in ("#card [data-value='1']", "[data-step=call] .head", "#card [data-value='12']"):
            browser.find_element("css selector", selector).click()
            saved(browser)
            hidden = "document.getElementById('watch').getBoundingClientRect().bottom"
            hidden += " - document.getElementById('card').getBoundingClientRect().top"
            assert browser.execute_script(f"return {hidden}") < 1
        wait(browser, "document.querySelector('[data-step=call] .chip').textContent === '12 / 12'")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        small = "[...document.querySelectorAll('button, select')].filter(one => one.offsetParent && "
        small += "Math.min(one.offsetHeight, one.offsetWidth) < 44).map(one => one.outerHTML)"
        assert browser.execute_script(f"return {small}") == []
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        for scheme in ("light", "dark"):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            browser.refresh()
            wait(browser, "document.querySelector('li.current') !== null")
            assert axe(browser) == [], scheme
            keys(browser, "?")
            assert axe(browser) == [], f"help, {scheme}"
            browser.set_window_size(700, 400)
            keys(browser, "??")
            assert browser.execute_script("return document.getElementById('help').scrollTop") == 0
            keys(browser, "?")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_hostile_names_and_comments_stay_text(
    browser: Any, sit: Sit, videos: Path, store: Path, tmp_path: Path
) -> None:
    (tmp_path / "ward").mkdir()
    shutil.copy(videos / "exam a.mp4", tmp_path / "ward" / "<img src=x onerror=window.ran=1>\u202e.mp4")
    station = sit("--rater", "<script>window.ran=2</script>", folder=tmp_path / "ward")
    assert "<img src=x onerror=window.ran=1>⟦U+202E⟧" in text(browser, "#who")
    assert station.event(0, "look", "comment", "<img src=x onerror=window.ran=3>")["status"] == 200
    visit(browser, station)
    said = browser.execute_script("return document.querySelector('textarea').value")
    assert said == "<img src=x onerror=window.ran=3>" and browser.execute_script("return window.ran") is None
    assert browser.execute_script("return document.querySelectorAll('main img, main script').length") == 0
    assert given(store)[0][0] == "<script>window.ran=2</script>"


def test_one_press_is_one_undo_and_half_a_mark_is_not_finished(browser: Any, sit: Sit, store: Path) -> None:
    sit()
    turn_to(browser, "exam b.mp4")

    def call() -> tuple[Any, ...]:
        at = folded(store, "x", "exam b.mp4").step("call")
        return at.points, at.start, at.end

    keys(browser, DOWN, "5")
    wait(browser, "document.querySelector('li.current').dataset.step === 'press'")
    keys(browser, UP, "1", "2")
    assert call() == (12, None, None)
    keys(browser, "u")
    assert call() == (5, None, None), "5, 12, U: 1 was never given"
    keys(browser, "s", RIGHT, RIGHT, RIGHT, RIGHT, "e", "x")
    assert call() == (5, None, None)
    keys(browser, "u")
    assert call() == (5, 0.0, 0.28), "both marks were cleared by one press"
    keys(browser, "r", "s")
    assert call() == (5, 0.24, None)
    assert "mark the end" in text(browser, ".when")
    keys(browser, UP, UP, "2", DOWN, DOWN, "3")
    assert current(browser) == "call" and "1 of 3 steps left" in text(browser, "#progress"), "half a mark is left"
    keys(browser, "x")
    assert "finished" in text(browser, "#progress")


def test_a_stale_window_is_told_and_clears_nothing(browser: Any, sit: Sit, store: Path) -> None:
    station = sit()
    exam = shown_exam(browser)
    keys(browser, "1", UP)
    other = station.event(station.number(exam), "look", "points", 2)  # in another window, which is not behind this one
    assert other["status"] == 200
    keys(browser, "u")
    assert "changed in another window" in text(browser, "#trouble")
    wait(browser, "document.querySelector('[data-step=look] .chip').textContent.includes('2 / 2')")
    assert folded(store, "x", exam).step("look").points == 2
    keys(browser, "u")
    assert folded(store, "x", exam).step("look").points == 2, "nothing of this window can be taken back any more"


def test_adjudication_by_keyboard(browser: Any, sit: Sit, begin: Sit, videos: Path, rubric: Path, store: Path) -> None:
    """Two raters differ on one step of exam a and two of exam b; the third person sees both scores and no name."""
    sheets = {"Dr. Li": {"exam a.mp4": (2, 5, 1), "exam b.mp4": (2, 12, 0)}}
    sheets["Dr. Wu"] = {"exam a.mp4": (2, 9, 1), "exam b.mp4": (1, 12, 3)}
    for rater, exams in sheets.items():
        station = begin(videos, "--rater", rater, "--rubric", rubric, "--store", store)
        for exam, points in exams.items():
            number = station.number(exam)
            for step, each in zip(("look", "call", "press"), points, strict=True):
                assert station.event(number, step, "points", each)["status"] == 200
    for kind, frame in (("start", 3), ("end", 6)):
        station.event(station.number("exam b.mp4"), "look", kind, frame)
    station = sit("--adjudicate")
    turn_to(browser, "exam b.mp4")
    steps = "[...document.querySelectorAll('li[data-step]')].map(row => row.dataset.step).join()"
    assert browser.execute_script(f"return {steps}") == "look,press"
    both = text(browser, ".both")
    assert "1 point " in both and "2 points" in both and "See 0:00.20" in both
    page = browser.execute_script("return document.documentElement.outerHTML")
    assert "Li" not in page and "Wu" not in page and axe(browser) == []
    keys(browser, "v")
    wait(browser, "document.getElementById('video').paused")
    wait(browser, "document.getElementById('time').textContent.includes('7 of')")
    keys(browser, "1", "3", "c", "agreed on the phone", ESCAPE)
    wait(browser, COMMENTED)
    turn_to(browser, "exam a.mp4")
    assert browser.execute_script(f"return {steps}") == "call"
    keys(browser, "7")
    assert "Exams finished by consensus: 2 of 2." in station.end()
    decided = [event.value for event in EventLog.read(store).events("adjudicate", "consensus")]
    assert [value for value in decided if isinstance(value, int)] == [1, 3, 7] and complaints(browser) == []


def test_half_points_a_held_key_and_a_double_click(browser: Any, sit: Sit, store: Path, tmp_path: Path) -> None:
    """The next step comes at once: what was meant for the last one must not be taken for it."""
    from selenium.webdriver import ActionChains

    halves = rubric_of({"look": 2, "call": 3, "press": 3})
    halves["skills"][0]["steps"][0]["score_increment"] = 0.5
    (tmp_path / "halves.yaml").write_text(yaml.safe_dump(halves))
    sit(rubric=tmp_path / "halves.yaml")
    exam = shown_exam(browser)
    keys(browser, "1", ".")
    assert folded(store, "x", exam).step("look").points == 1.5 and current(browser) == "call"
    keys(browser, ".")
    assert folded(store, "x", exam).step("call").points is None, "half more than nothing is nothing"
    keys(browser, UP)
    event = "new KeyboardEvent('keydown', {key: '2', repeat, bubbles: true})"
    browser.execute_script(f"for (const repeat of [false, true, true]) document.body.dispatchEvent({event})")
    saved(browser)
    keys(browser, DOWN)
    assert current(browser) == "call" and "– / 3" in text(browser, "[data-step=call] .chip")
    ActionChains(browser).double_click(browser.find_element("css selector", "#card [data-value='2']")).perform()
    saved(browser)
    assert current(browser) == "press" and "– / 3" in text(browser, "[data-step=press] .chip")
    assert "2 / 3" in text(browser, "[data-step=call] .chip")


def test_the_page_speaks_chinese_and_remembers_it(browser: Any, sit: Sit) -> None:
    """Errors too, which the station makes; another start has another port, and the same language."""
    who = ("--rater", "李医生")
    station = sit(*who)
    browser.execute_script(
        "const list = document.getElementById('language'); list.value = 'zh'; list.dispatchEvent(new Event('change'))"
    )
    try:
        assert text(browser, "#heading") == "评分站" and "还剩 3/3 个步骤" in text(browser, "#progress")
        keys(browser, "9")
        assert text(browser, "#trouble") == "9 不在 To look (look) 的分值范围内：0, 1, 2。" and axe(browser) == []
        station.end()
        sit(*who)
        assert text(browser, "#heading") == "评分站"
        sit(*who, "--language", "en")
        assert text(browser, "#heading") == "Rating station", "what is said at the start is newer than the memory"
    finally:
        browser.delete_all_cookies()


def test_it_is_known_who_listened(browser: Any, sit: Sit, store: Path, tmp_path: Path) -> None:
    """Played with sound, or without; an AVI, which browsers cannot play, is shown and heard as a copy of its frames."""
    heard = rubric_of({"call": 2})
    heard["skills"][0]["steps"][0]["evidence"] = {"channel": "audio"}
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(heard))
    write_video(tmp_path / "ward" / "exam.mp4", frames=30, size=(160, 90), audio=True)
    write_video(tmp_path / "ward" / "old.avi", seed=2, frames=30, size=(160, 90), codec="mpeg4", audio=True)
    sit(folder=tmp_path / "ward", rubric=tmp_path / "rubric.yaml")
    for exam in ("exam.mp4", "old.avi"):
        turn_to(browser, exam)
        assert text(browser, "#sound") == "Sound on" and "sound" not in text(browser, "#step-name")
        if exam == "old.avi":
            keys(browser, "m", RIGHT, RIGHT, "s")
            assert text(browser, "#sound") == "Sound off" and "Needs sound: it is off" in text(browser, "#step-name")
            assert "frame 3 of 30" in text(browser, "#time")
            assert folded(store, "x", "old.avi").step("call").start == 0.3  # its second frame comes after 0.2 s
        browser.execute_script("document.getElementById('video').currentTime = 0")
        keys(browser, " ")
        wait(browser, "document.getElementById('video').ended")
    browser.refresh()  # before a piece is long enough to be told
    wait(browser, "document.getElementById('progress').textContent !== ''")
    event_log = EventLog.read(store)
    names = {digest: exam.name for digest, exam in event_log.exams().items()}
    played = {names[event.exam]: event.value for event in event_log.events() if event.kind == "played"}
    assert played["exam.mp4"]["heard"] == pytest.approx(3, abs=0.5) and played["exam.mp4"]["silent"] == 0
    assert played["old.avi"]["silent"] == pytest.approx(3, abs=0.5) and played["old.avi"]["heard"] == 0
    assert complaints(browser) == []
