"""One exam in a real browser, over HTTP: what is chosen, where, and what is seen of it, at three widths."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from siming_tasks.parsing import parse_reply
from siming_tasks.results.run import read_run
from tests.conftest import NEEDS_BROWSER
from tests.report.serving import Served, viewing

pytestmark = [NEEDS_BROWSER, pytest.mark.weekly]
SIZES = {"desktop": (1440, 900), "laptop": (1024, 768), "phone": (390, 844)}
ZOOMED = (720, 450)
"""A screen of 1440 x 900 at 200 %."""
SHEET = ".sheet:not([hidden])"


@pytest.fixture(scope="module")
def served(lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with viewing(lab.out, "--data", lab.dataset.root, cache=tmp_path_factory.mktemp("cache")) as found:
        yield found


@pytest.fixture(scope="module")
def chromium(served: Served, shared_browser: Any) -> Any:
    """The browser, let in to the served report."""
    shared_browser.get(served.address)
    return shared_browser


@pytest.fixture(params=SIZES)
def browser(request: pytest.FixtureRequest, chromium: Any) -> Iterator[Any]:
    width, height = SIZES[request.param]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    yield chromium
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def visit(browser: Any, served: Served, path: str) -> None:
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(f"{served.base}/{path}")
    browser.switch_to.frame(0)


def run(browser: Any, script: str) -> Any:
    return browser.execute_script(f"return {script}")


def wait(browser: Any, script: str) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 40, 0.05).until(lambda driver: run(driver, script))


def quiet(browser: Any) -> bool:
    """True if the browser complains of nothing but that our own scripts could leave the frame they are shown in."""
    told = [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    return all("can escape its sandboxing" in entry["message"] for entry in told)


def press(browser: Any, key: str) -> None:
    browser.switch_to.active_element.send_keys(key)


def choose(browser: Any, name: str, value: str) -> None:
    change = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))"
    browser.execute_script(change, browser.find_element("css selector", f"[name={name}]"), value)


IN_VIEW = (
    "(selector => { const e = document.querySelector(selector), b = e.getBoundingClientRect();"
    " const x = (b.left + b.right) / 2, y = Math.min(b.top + 40, (b.top + b.bottom) / 2);"
    " return e.contains(document.elementFromPoint(x, y)); })"
)
"""Script that returns true if an element's upper middle is on the screen and nothing lies over it."""


def with_judges(page: str, count: int) -> str:
    """The page of an exam with so many judges: the last one's columns are written again."""
    for cell in (r'<th [^>]*data-run="[^"]*".*?</th>', r'<td class="(?:num )?j\b.*?</td>'):
        page = re.sub(
            rf"((?:{cell})+)",
            lambda row, cell=cell: row[0] + (own := re.findall(cell, row[0]))[-1] * (count - len(own)),
            page,
        )
    return page


SEEN_ROWS = (
    "[...document.querySelectorAll('.sheet:not([hidden]) tbody tr')].filter(row => {"
    " const b = row.getBoundingClientRect();"
    " return [b.top + 2, b.bottom - 2].every(y => row.contains(document.elementFromPoint(b.left + 9, y))); }).length"
)


@pytest.mark.parametrize("judges", [2, 12])
@pytest.mark.daily
def test_an_exam_opens_with_the_grid_in_view(browser: Any, served: Served, lab, judges: int) -> None:
    """Rows of 33 that are on the screen and uncovered; with twelve judges it was none (14, 9 and 4 with two)."""
    page = lab.out / "videos" / f"{lab.dataset.videos[0].video_id}.html"
    (many := page.with_stem("many")).write_text(with_judges(page.read_text(), judges))
    try:
        visit(browser, served, "videos/many.html")
        wait(browser, "document.querySelector('.span') && document.querySelector('video').readyState > 0")
        assert run(browser, "document.querySelectorAll('.sheet:not([hidden]) thead th[data-run]').length") == max(
            judges, 3
        )
        least = {1440: 25, 1024: 17, 390: 7}[run(browser, "innerWidth")]
        assert run(browser, SEEN_ROWS) >= least
        assert run(browser, "document.documentElement.scrollWidth <= innerWidth")
    finally:
        many.unlink()


def test_at_200_percent_there_is_a_grid_to_read(chromium: Any, served: Served, lab) -> None:
    """It was one row of 33."""
    metrics = {"width": ZOOMED[0], "height": ZOOMED[1], "deviceScaleFactor": 2, "mobile": False}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        visit(chromium, served, f"videos/{lab.dataset.videos[0].video_id}.html")
        wait(chromium, "document.querySelector('.span') && document.querySelector('video').readyState > 0")
        assert run(chromium, SEEN_ROWS) >= 6
    finally:
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_two_judges_stand_side_by_side(browser: Any, served: Served, lab) -> None:
    """Both lanes, both columns and both replies to the chosen step, each under its name."""
    step = lab.dataset.rubric.steps[3].id
    visit(browser, served, f"videos/{lab.dataset.videos[0].video_id}.html#full_error/oracle/{step}")
    wait(browser, "document.querySelector('.detail pre')")
    choose(browser, "beside", "example-noisy-7b")
    wait(browser, "document.querySelectorAll('.detail pre.reply').length === 2")
    assert run(browser, "location.hash") == f"#full_error/oracle/{step}"
    assert run(browser, "document.querySelectorAll('.lane-name.judge').length") == 2
    heads = run(browser, "[...document.querySelectorAll('.detail .sides h3')].slice(0, 2).map(h => h.textContent)")
    assert [head.split(": ")[0] for head in heads] == ["oracle", "example/Noisy-7B"]
    said = run(browser, "[...document.querySelectorAll('.verdicts dt')].slice(0, 2).map(h => h.textContent)")
    assert said == ["oracle", "example/Noisy-7B"]
    assert quiet(browser)


def test_video_and_reply_stay_in_view_while_the_grid_scrolls(browser: Any, served: Served, lab) -> None:
    """The last step of the sheet, far below: the player is on the screen, and so is the reply; heads stay on top."""
    video, last = lab.dataset.videos[0].video_id, lab.dataset.rubric.steps[-1].id
    visit(browser, served, f"videos/{video}.html")
    wait(browser, "document.querySelector('video').readyState > 0")
    cell = f"document.querySelector('{SHEET} tr[data-step={last}] td button')"
    run(browser, f"{cell}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    run(browser, f"{cell}.click()")
    wait(browser, "document.querySelector('.detail pre')")
    assert run(browser, f"{IN_VIEW}('video')") and run(browser, f"{IN_VIEW}('.detail h2')")
    if run(browser, "innerWidth") < 600:
        assert run(browser, f"{IN_VIEW}('.flip')"), "the grid is one tap away"
        run(browser, "document.querySelector('.flip').click()")
        assert not run(browser, "document.querySelector('.detail').offsetHeight")
        run(browser, f"document.querySelector('{SHEET} .pane').scrollIntoView({{block: 'end', behavior: 'instant'}})")
    assert run(browser, f"{IN_VIEW}('video')")
    assert run(browser, f"{IN_VIEW}('{SHEET} tr[data-step={last}] td button')")
    assert run(browser, f"{IN_VIEW}('{SHEET} thead th[data-run]')"), "the heads of the columns stay"
    assert run(browser, "document.documentElement.scrollWidth <= innerWidth")
    assert quiet(browser)


def test_j_and_k_walk_through_the_disagreements(browser: Any, served: Served, lab) -> None:
    """Judge by judge, step by step, and on to the next exam; what differs is counted from the labels."""
    matrix = read_run(lab.runs / "noisy", lab.dataset).score_matrix("full_error")
    differ = [
        [f"example-noisy-7b/{step}" for k, step in enumerate(matrix.step_ids)
         if matrix.predicted[v, k] != matrix.reference_wrong[v, k]]
        for v in range(2)
    ]  # fmt: skip
    first, second = (video.video_id for video in lab.dataset.videos[:2])
    visit(browser, served, f"videos/{first}.html#full_error/first")
    wait(browser, "document.querySelector('.detail h2')")
    seen = [run(browser, "location.hash")]
    for _ in differ[0][1:]:
        press(browser, "j")
        seen.append(run(browser, "location.hash"))
    assert seen == [f"#full_error/{name}" for name in differ[0]] and len(seen) > 5
    press(browser, "k")
    assert run(browser, "location.hash") == seen[-2]
    press(browser, "j")
    press(browser, "j")
    wait(browser, f"location.pathname.endsWith('{second}.html') && document.querySelector('.detail h2')")
    assert run(browser, "location.hash") == f"#full_error/{differ[1][0]}"
    press(browser, "k")
    wait(browser, f"location.pathname.endsWith('{first}.html') && document.querySelector('.detail h2')")
    assert run(browser, "location.hash") == seen[-1]


def test_a_span_selects_step_reply_and_address(browser: Any, served: Served, lab) -> None:
    from selenium.webdriver.common.keys import Keys

    video, step = lab.dataset.videos[0], lab.dataset.rubric.steps[10]
    visit(browser, served, f"videos/{video.video_id}.html")
    wait(browser, "document.querySelector('video').readyState > 0")
    click = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    choose(browser, "judge", "example-noisy-7b")
    run(browser, f"document.querySelector('.span[data-run=example-noisy-7b][data-step={step.id}]').{click}")
    wait(browser, "document.querySelector('.detail pre')")
    assert run(browser, "location.hash") == f"#full_score/example-noisy-7b/{step.id}"
    wait(browser, f"Math.abs(document.querySelector('video').currentTime - {video.step(step.id).span[0]}) < 0.1")
    marked = "[...document.querySelectorAll('.span.on')].map(s => [s.dataset.step, s.dataset.run ?? ''])"
    assert run(browser, marked) == [[step.id, ""], [step.id, "example-noisy-7b"]]
    other = lab.dataset.rubric.steps[2].id
    run(browser, f"document.querySelector('.span:not([data-run])[data-step={other}]').{click}")
    wait(browser, f"location.hash === '#full_score/example-noisy-7b/{other}'")
    assert run(browser, "document.querySelectorAll('.span[tabindex=\"0\"]').length") == 1, "one stop for the Tab key"
    run(browser, "document.querySelector('.span[tabindex=\"0\"]').focus()")
    for key in (Keys.ARROW_RIGHT, *[Keys.ARROW_DOWN] * 3, Keys.ARROW_LEFT):
        press(browser, key)
    focused = run(browser, "document.activeElement.dataset")
    press(browser, Keys.ENTER)
    wait(browser, f"location.hash === '#full_score/{focused['run']}/{focused['step']}'")
    assert quiet(browser)


def test_the_reply_stands_beside_what_it_should_have_seen(browser: Any, served: Served, lab) -> None:
    """Requirement, criteria, points of everybody, why points were lost, the prompt, the place that was read."""
    log = json.loads((lab.dataset.root / "events" / f"{lab.dataset.videos[0].video_id}.json").read_text())
    step_id = next(step["step_id"] for step in log["steps"] if step["lost"] and step["lost"][0]["kind"] == "error")
    step, label = lab.dataset.rubric.by_id[step_id], lab.dataset.videos[0].step(step_id)
    cause = next(row for row in log["steps"] if row["step_id"] == step_id)["lost"][0]
    visit(browser, served, f"videos/{log['video_id']}.html#full_score/example-noisy-7b/{step_id}")
    wait(browser, "document.querySelector('.detail pre mark')")
    text = run(browser, "document.querySelector('.detail').innerText")
    assert step.requirement in text and step.criteria.full in text and step.criteria.fail in text
    assert f"{step.error(cause['cause']).observable} (−{cause['points']:g})" in text
    pairs = dict(
        run(
            browser,
            "[...document.querySelectorAll('.verdicts > div')].map(d => [...d.children].map(c => c.textContent))",
        )
    )
    marked = json.loads("{" + run(browser, "document.querySelector('.detail mark').textContent").rstrip(",") + "}")
    assert marked == {step_id: float(pairs["Judged"])}
    assert {name: float(pairs[name]) for name in ("Reference", "rater_a", "rater_b", "Maximum")} == {
        "Reference": label.consensus, "rater_a": label.scores["rater_a"], "rater_b": label.scores["rater_b"],
        "Maximum": step.max_score,
    }  # fmt: skip
    run(browser, "document.querySelector('.prompt summary').click()")
    said = wait(browser, "document.querySelector('.prompt p')?.textContent")
    assert "The words of this prompt are not known here" in said, "the runs of this test state made-up prompts"
    inside = run(
        browser,
        "(() => { const m = document.querySelector('.detail mark').getBoundingClientRect(),"
        " p = document.querySelector('.detail pre').getBoundingClientRect(); "
        " return m.top >= p.top && m.bottom <= p.bottom; })()",
    )
    assert inside, "the place is in view inside the reply"


REPLIES = (
    '{{"scores": {{"cpr_01": 1, "{id}": {value}, "cpr_03": 0}}}}',
    '```json\n[{{"step_id": "{id}", "score": {value}}}, {{"step_id": "cpr_03", "score": 1}}]\n```',
    "First I thought {id}: 9.\nFinal answer:\n{{'scores': {{'{id}': {value}}}}}",
    '{{"{id}": {{"reason": "hands leave the chest", "score": {value}}}}}',
    '{{"scores": {{"{upper}": "{value}/3"}}}}',
)


@pytest.mark.parametrize("form", range(len(REPLIES)))
def test_the_marked_place_is_what_was_read(chromium: Any, served: Served, lab, form: int) -> None:
    """Another value in the marked place is another answer to this step, and to this step only."""
    steps = lab.dataset.rubric.steps[:3]
    visit(chromium, served, f"videos/{lab.dataset.videos[0].video_id}.html")
    words = {"id": "cpr_02", "upper": "CPR-02", "value": 2}
    text = REPLIES[form].format(**words)
    before = parse_reply(text, steps, "score")
    assert before.answers["cpr_02"] == 2.0
    ask = "SIMING.place(arguments[0], {step: 'cpr_02', name: arguments[1], answer: 2, verdicts: false, alone: false})"
    start, end = chromium.execute_script(f"return {ask}", text, steps[1].name)
    place = text[start:end]
    assert place.lower().replace("-", "_").find("cpr_02") >= 0
    at = start + place.rindex("2")
    after = parse_reply(text[:at] + "1" + text[at + 1 :], steps, "score")
    assert after.answers == {**before.answers, "cpr_02": 1.0}


def test_times_that_a_reply_quotes_play_there(chromium: Any, served: Served, lab) -> None:
    """Seconds and minutes; in a clip, a time that is not in it counts from its start; what is no time stays text."""
    video, step = lab.dataset.videos[0], lab.dataset.rubric.steps[10].id
    start = video.step(step).span[0]
    for setting, reply, times in (
        ("full_score", "At 0:07 the hands slip, until 9.5 s, see 12 steps in 3 seconds; 1999:00 is none.", [7, 9.5, 3]),
        ("clip_score", f"After 0.5 s, that is {start + 0.5:.1f} seconds.", [start + 0.5, start + 0.5]),
    ):
        visit(chromium, served, f"videos/{video.video_id}.html#{setting}/example-noisy-7b/{step}")
        wait(chromium, "document.querySelector('.detail pre') && document.querySelector('video').readyState > 0")
        request = f"{setting}/{video.video_id}" + (f"/{step}" if setting == "clip_score" else "")
        chromium.execute_script(
            "const entry = SIMING.entry('example-noisy-7b', arguments[0]);"
            "SIMING.put('example-noisy-7b', arguments[0], {...entry, reply: arguments[1], length: 80});"
            "document.querySelector('.sheet:not([hidden]) button[aria-pressed=true]').click()",
            request, reply,
        )  # fmt: skip
        wait(chromium, f"document.querySelectorAll('.when').length === {len(times)}")
        assert run(chromium, "document.querySelector('.detail pre').textContent") == reply
        for place, time in enumerate(times):
            run(chromium, f"document.querySelectorAll('.when')[{place}].click()")
            at = run(chromium, "document.querySelector('video').currentTime")
            assert at == pytest.approx(time, abs=0.3) and not run(chromium, "document.querySelector('video').paused")
            run(chromium, "document.querySelector('video').pause()")


def test_a_missing_video_is_reported(chromium: Any, served: Served, lab) -> None:
    """Although the error came before the page's script."""
    page = lab.out / "videos" / f"{lab.dataset.videos[0].video_id}.html"
    text = page.read_text()
    try:
        page.write_text(text.replace(f'{lab.dataset.videos[0].video_id}.mp4"', 'gone.mp4"'))
        visit(chromium, served, f"videos/{page.name}#full_score/oracle/cpr_01")
        wait(chromium, "!document.querySelector('.player-error').hidden")
        said = run(chromium, "document.querySelector('.player-error').textContent")
        assert "gone.mp4" in said and "siming view REPORT --data DIR" in said
        assert wait(chromium, "document.querySelector('.detail pre')"), "the reply is there all the same"
    finally:
        page.write_text(text)
