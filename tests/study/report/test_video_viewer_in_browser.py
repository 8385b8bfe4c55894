"""One exam in a real browser, over HTTP: what is chosen, where, and what is seen of it, at three widths."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.parsing import parse_reply
from siming_tasks.study.report.build import write_report
from siming_tasks.study.results.discovery import find_runs
from siming_tasks.study.results.run import read_run
from tests.conftest import NEEDS_BROWSER
from tests.footage import everyday_exams, needs_footage
from tests.study.report.browsing import SCREENS, complaints, run, screen, wait
from tests.study.report.browsing import visit as visit_address
from tests.study.report.conftest import OPTIONS, write_run
from tests.study.report.serving import Served, viewing

pytestmark = [NEEDS_BROWSER, pytest.mark.weekly]
SHEET = ".sheet:not([hidden])"
CLICK = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
TALL = "derived_blocks_rotated90.mp4"


@pytest.fixture(scope="module")
def served(lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with viewing(lab.out, "--data", lab.dataset.root, cache=tmp_path_factory.mktemp("cache")) as found:
        yield found


@pytest.fixture(scope="module")
def chromium(served: Served, shared_browser: Any) -> Any:
    """The browser, let in to the served report."""
    shared_browser.get(served.address)
    return shared_browser


@pytest.fixture(params=SCREENS)
def browser(request: pytest.FixtureRequest, chromium: Any) -> Iterator[Any]:
    with screen(chromium, *SCREENS[request.param]):
        yield chromium


@pytest.fixture(scope="module")
def first(lab) -> str:
    return str(lab.dataset.videos[0].video_id)


def visit(browser: Any, served: Served, path: str, ready: str = "document.querySelector('.detail pre')") -> None:
    """Open a page in the frame that it is served in."""
    visit_address(browser, f"{served.base}/{path}")
    browser.switch_to.frame(0)
    wait(browser, ready)


PLAYER = "document.querySelector('.span') && document.querySelector('video').readyState > 0"


def choose(browser: Any, name: str, value: str) -> None:
    change = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))"
    browser.execute_script(change, browser.find_element("css selector", f"[name={name}]"), value)


IN_VIEW = (
    "(selector => { const e = document.querySelector(selector), b = e.getBoundingClientRect();"
    " const x = (b.left + b.right) / 2, y = Math.min(b.top + 40, (b.top + b.bottom) / 2);"
    " return e.contains(document.elementFromPoint(x, y)); })"
)
"""Script that returns true if an element's upper middle is on the screen and nothing lies over it."""


def test_video_and_reply_stay_in_view_while_the_grid_scrolls(browser: Any, served: Served, lab, first: str) -> None:
    """The last step of the sheet, far below: the player is on the screen, and so is the reply; heads stay on top."""
    last = lab.dataset.rubric.steps[-1].id
    visit(browser, served, f"videos/{first}.html", PLAYER)
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
    assert complaints(browser) == []


def test_two_judges_stand_side_by_side(browser: Any, served: Served, lab, first: str) -> None:
    """Both lanes, both columns and both replies to the chosen step, each under its name."""
    step = lab.dataset.rubric.steps[3].id
    visit(browser, served, f"videos/{first}.html#full_error/oracle/{step}")
    choose(browser, "beside", "example-noisy-7b")
    wait(browser, "document.querySelectorAll('.detail pre.reply').length === 2")
    assert run(browser, "location.hash") == f"#full_error/oracle/{step}"
    assert run(browser, "document.querySelectorAll('.lane-name.judge').length") == 2
    heads = run(browser, "[...document.querySelectorAll('.detail .sides h3')].map(h => h.textContent.split(': ')[0])")
    said = run(browser, "[...document.querySelectorAll('.verdicts dt')].map(h => h.textContent)")
    assert heads[:2] == said[:2] == ["oracle", "example/Noisy-7B"]
    assert complaints(browser) == []


def test_j_and_k_walk_through_the_disagreements(chromium: Any, served: Served, lab) -> None:
    """Judge by judge, missed errors first, and on to the next exam; what differs is counted from the labels."""
    matrix = read_run(lab.runs / "noisy", lab.dataset).score_matrix("full_error")
    differ = [
        [f"#full_error/example-noisy-7b/{matrix.step_ids[k]}"
         for k in sorted(range(len(matrix.step_ids)), key=lambda k: not matrix.reference_wrong[v, k])
         if matrix.predicted[v, k] != matrix.reference_wrong[v, k]]
        for v in range(2)
    ]  # fmt: skip

    def press(key: str) -> str:
        chromium.switch_to.active_element.send_keys(key)
        wait(chromium, "document.querySelector('.detail h2')")
        return str(run(chromium, "location.pathname.split('/').pop() + location.hash"))

    pages = [f"{video.video_id}.html" for video in lab.dataset.videos[:2]]
    visit(chromium, served, f"videos/{pages[0]}#full_error/first", "document.querySelector('.detail h2')")
    seen = [run(chromium, "location.hash"), *(press("j").removeprefix(pages[0]) for _ in differ[0][1:])]
    assert seen == differ[0] and len(seen) > 5
    assert press("k") == pages[0] + seen[-2] and press("j") == pages[0] + seen[-1]
    for key, page in (("j", pages[1] + differ[1][0]), ("k", pages[0] + seen[-1])):
        press(key)
        wait(chromium, f"(location.pathname + location.hash).endsWith('{page}')")
        wait(chromium, "document.querySelector('.detail h2')")


def test_a_span_selects_step_reply_and_address(browser: Any, served: Served, lab, first: str) -> None:
    video, step, other = lab.dataset.videos[0], lab.dataset.rubric.steps[10], lab.dataset.rubric.steps[2].id
    visit(browser, served, f"videos/{first}.html", PLAYER)
    choose(browser, "judge", "example-noisy-7b")
    run(browser, f"document.querySelector('.span[data-run=example-noisy-7b][data-step={step.id}]').{CLICK}")
    wait(browser, "document.querySelector('.detail pre')")
    assert run(browser, "location.hash") == f"#full_score/example-noisy-7b/{step.id}"
    wait(browser, f"Math.abs(document.querySelector('video').currentTime - {video.step(step.id).span[0]}) < 0.1")
    marked = "[...document.querySelectorAll('.span.on')].map(s => [s.dataset.step, s.dataset.run ?? ''])"
    assert run(browser, marked) == [[step.id, ""], [step.id, "example-noisy-7b"]]
    run(browser, f"document.querySelector('.span:not([data-run])[data-step={other}]').{CLICK}")
    wait(browser, f"location.hash === '#full_score/example-noisy-7b/{other}'")
    assert not run(browser, "document.querySelectorAll('.times [tabindex]').length"), "keys move in the grid"
    assert complaints(browser) == []


def test_the_reply_stands_beside_what_it_should_have_seen(browser: Any, served: Served, lab, first: str) -> None:
    """Requirement, criteria, points of everybody, why points were lost, the prompt, the place that was read."""
    log = json.loads((lab.dataset.root / "events" / f"{first}.json").read_text())
    row = [step for step in log["steps"] if step["lost"] and step["lost"][0]["kind"] == "error"][-1]
    step, label = lab.dataset.rubric.by_id[row["step_id"]], lab.dataset.videos[0].step(row["step_id"])
    visit(browser, served, f"videos/{first}.html#full_score/example-noisy-7b/{step.id}",
          "document.querySelector('.detail pre mark')")  # fmt: skip
    text, cause = run(browser, "document.querySelector('.detail').innerText"), row["lost"][0]
    assert step.requirement in text and step.criteria.full in text and step.criteria.fail in text
    assert f"{step.error(cause['cause']).observable} (−{cause['points']:g})" in text
    pairs = dict(run(browser, "[...document.querySelectorAll('.verdicts > div')]"
                     ".map(d => [...d.children].map(c => c.textContent))"))  # fmt: skip
    marked = json.loads("{" + run(browser, "document.querySelector('.detail mark').textContent").rstrip(",") + "}")
    assert marked == {step.id: float(pairs["Judged"])}
    points = [label.consensus, label.scores["rater_a"], label.scores["rater_b"], step.max_score]
    assert [float(pairs[name]) for name in ("Reference", "rater_a", "rater_b", "Maximum")] == points
    run(browser, "document.querySelector('.prompt summary').click()")
    said = wait(browser, "document.querySelector('.prompt p')?.textContent")
    assert "The words of this prompt are not known here" in said, "the runs of this test state made-up prompts"
    mark, reply = (run(browser, f"(b => [b.top, b.bottom])(document.querySelector('.detail {name}')"
                       ".getBoundingClientRect())") for name in ("mark", "pre"))  # fmt: skip
    assert reply[0] <= mark[0] < mark[1] <= reply[1], "the place is in view inside the reply"
    run(browser, "document.querySelector('.prompt summary').click()")
    if run(browser, "innerWidth") == SCREENS["desktop"][0]:
        assert run(browser, f"{IN_VIEW}('.detail mark')") and run(browser, f"{IN_VIEW}('.detail .lost')")


REPLIES = (
    '{{"scores": {{"cpr_01": 1, "{id}": {value}, "cpr_03": 0}}}}',
    '```json\n[{{"step_id": "{id}", "score": {value}}}, {{"step_id": "cpr_03", "score": 1}}]\n```',
    "First I thought {id}: 9.\nFinal answer:\n{{'scores': {{'{id}': {value}}}}}",
    '{{"{id}": {{"reason": "hands leave the chest", "score": {value}}}}}',
    '{{"scores": {{"{upper}": "{value}/3"}}}}',
)


def test_the_marked_place_is_what_was_read(chromium: Any, served: Served, lab, first: str) -> None:
    """Another value in the marked place is another answer to this step, and to this step only."""
    steps = lab.dataset.rubric.steps[:3]
    visit(chromium, served, f"videos/{first}.html", PLAYER)
    ask = "return SIMING.place(arguments[0], {step: 'cpr_02', name: arguments[1], answer: 2, verdicts: false,"
    for form in REPLIES:
        text = form.format(id="cpr_02", upper="CPR-02", value=2)
        before = parse_reply(text, steps, "score")
        assert before.answers["cpr_02"] == 2.0
        start, end = chromium.execute_script(f"{ask} alone: false}})", text, steps[1].name)
        place = text[start:end]
        assert "cpr_02" in place.lower().replace("-", "_")
        at = start + place.rindex("2")
        after = parse_reply(text[:at] + "1" + text[at + 1 :], steps, "score")
        assert after.answers == {**before.answers, "cpr_02": 1.0}, form


def test_times_that_a_reply_quotes_play_there(chromium: Any, served: Served, lab, first: str) -> None:
    """Seconds and minutes; in a clip, a time that is not in it counts from its start; what is no time stays text."""
    step = lab.dataset.rubric.steps[10].id
    start = lab.dataset.videos[0].step(step).span[0]
    for setting, request, reply, times in (
        ("full_score", f"full_score/{first}", "At 0:07 the hands slip, until 9.5 s, see 12 steps in 3 seconds; "
         "1999:00 is none.", [7, 9.5, 3]),
        ("clip_score", f"clip_score/{first}/{step}", f"After 0.5 s, that is {start + 0.5:.1f} seconds.",
         [start + 0.5, start + 0.5]),
    ):  # fmt: skip
        visit(chromium, served, f"videos/{first}.html#{setting}/example-noisy-7b/{step}",
              f"document.querySelector('.detail pre') && {PLAYER}")  # fmt: skip
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


def test_a_missing_video_is_reported(chromium: Any, served: Served, lab, first: str) -> None:
    """Although the error came before the page's script."""
    page = lab.out / "videos" / f"{first}.html"
    text = page.read_text()
    try:
        page.write_text(text.replace(f'{first}.mp4"', 'gone.mp4"'))
        visit(chromium, served, f"videos/{page.name}#full_score/oracle/cpr_01",
              "!document.querySelector('.player-error').hidden")  # fmt: skip
        said = run(chromium, "document.querySelector('.player-error').textContent")
        assert "gone.mp4" in said and "siming view REPORT --data DIR" in said
        assert wait(chromium, "document.querySelector('.detail pre')"), "the reply is there all the same"
    finally:
        page.write_text(text)


@needs_footage
def test_a_recording_taller_than_wide_is_upright_and_whole(shared_browser: Any, tmp_path: Path) -> None:
    """Turned by a flag of the file: on the player, and in every frame of the strip."""
    browser, exams = shared_browser, everyday_exams(tmp_path / "exams", (TALL,)).dataset
    judge = write_run(exams, tmp_path / "run", "all_failed", model="example/No", settings=("full_score",))
    write_report(find_runs([str(judge)]), exams, tmp_path / "out", OPTIONS, progress=False)
    with viewing(tmp_path / "out", "--data", exams.root, cache=tmp_path / "cache") as served:
        browser.get(served.address)
        visit(browser, served, f"videos/{exams.videos[0].video_id}.html", PLAYER)
        run(browser, f"document.querySelector('{SHEET} tbody button').click()")
        show = "[...document.querySelectorAll('.detail button')].find(b => b.textContent.startsWith('Show'))"
        wait(browser, show)
        run(browser, f"{show}.click()")
        wait(browser, "document.querySelectorAll('.frames canvas').length === 4")
        sizes = run(browser, "[...document.querySelectorAll('.frames canvas')].map(c => c.getBoundingClientRect())"
                    ".map(b => [b.width, b.height])")  # fmt: skip
        video = run(browser, "(v => [v.videoWidth, v.videoHeight])(document.querySelector('video'))")
    assert [wide / high for wide, high in (video, *sizes)] == pytest.approx([9 / 16] * 5, rel=0.02)
