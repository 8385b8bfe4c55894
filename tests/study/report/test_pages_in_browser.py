"""The pages in a real browser, opened from disk."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.study.report.build import page_facts, write_report
from siming_tasks.study.report.pages import PAGES
from siming_tasks.study.report.pages.exams import list_videos
from siming_tasks.study.report.pages.site import Site
from siming_tasks.study.report.viewer_files import VideoLinker
from siming_tasks.study.results.discovery import find_runs
from tests.conftest import NEEDS_BROWSER
from tests.study.report.browsing import SCREENS, complaints, media, run, screen, visit, wait
from tests.study.report.conftest import HOSTILE_SLUG, OPTIONS, write_run

pytestmark = [NEEDS_BROWSER, pytest.mark.weekly]
LONG = "an-organisation-with-a-long-name/A-Vision-Language-Model-with-Many-Words-Instruct-Preview-{:02d}B"


@pytest.fixture
def browser(shared_browser: Any) -> Any:
    return shared_browser


@pytest.fixture(scope="module")
def pages(lab, board: Path) -> list[Path]:
    """One page of every kind."""
    names = ["models/example-noisy-7b.html", f"videos/{lab.dataset.videos[0].video_id}.html"]
    return [lab.out / name for name in (*(page.href for page in PAGES if page.href), *names)] + [board]


@pytest.fixture(scope="module")
def twelve(exams: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The comparison of twelve judges whose names differ at the end alone, one of them right to left."""
    root = tmp_path_factory.mktemp("twelve")
    names = [LONG.format(number) for number in range(11)] + ["שופט/مدل-7B"]
    for number, name in enumerate(names):
        how = {"noise": 0.08 * number, "seed": number, "settings": ("full_score", "full_error")}
        write_run(exams, root / f"r{number:02d}", "rater_a", model=name, **how)
    runs = find_runs([str(root / f"r{number:02d}") for number in range(len(names))])
    return write_report(runs, exams, root / "out", OPTIONS, media="none", jobs=2, progress=False) / "index.html"


@pytest.mark.daily
def test_every_page_loads_from_disk_without_complaint_and_fits_a_phone(browser, pages: list[Path]) -> None:
    for path in pages:
        visit(browser, path)
        assert complaints(browser) == [], path
        assert run(browser, "getComputedStyle(document.body).marginTop") == "0px", "no style sheet"
        assert run(browser, "document.querySelector('.band').offsetHeight") > 10
        with screen(browser, 360):
            assert run(browser, "document.documentElement.scrollWidth") <= 360, path


@pytest.mark.daily
def test_a_cell_shows_the_moment_and_the_reply(browser, lab) -> None:
    video, step = lab.dataset.videos[0], lab.dataset.rubric.steps[20]
    start = video.step(step.id).span[0]
    visit(browser, lab.out / "videos" / f"{video.video_id}.html")
    wait(browser, "document.querySelector('video').readyState > 0")
    assert run(browser, "document.querySelector('.detail pre')") is None, "replies load when asked for"
    run(browser, f"document.querySelector('.sheet:not([hidden]) tr[data-step={step.id}] button').click()")
    wait(browser, "document.querySelector('.detail pre')")
    wait(browser, f"Math.abs(document.querySelector('video').currentTime - {start}) < 0.1")
    detail = run(browser, "document.querySelector('.detail').innerText")
    assert step.name in detail and "ok: all steps answered" in detail and '"scores"' in detail
    assert run(browser, "document.querySelectorAll('.ticks line').length") == 4
    assert run(browser, "location.hash") == f"#full_score/example-noisy-7b/{step.id}", "best first"
    run(browser, "[...document.querySelectorAll('.detail button')].find(b => b.innerText.startsWith('Show')).click()")
    wait(browser, "document.querySelectorAll('.frames canvas').length === 4")
    assert complaints(browser) == []


def test_two_thousand_videos_are_paged_searched_and_sorted(browser, lab, tmp_path: Path) -> None:
    """One hundred rows at a time; the search and the order are over all of them."""
    shutil.copytree(lab.out / "static", tmp_path / "static")
    first = lab.dataset.videos[0]
    videos = tuple(replace(first, video_id=f"v{k:05d}", duration=100.0 + k * 37 % 2000) for k in range(2000))
    site = Site(tmp_path, page_facts(json.loads((lab.out / "report.json").read_text())))
    list_videos(
        site,
        replace(lab.dataset, videos=videos),
        {"full_score": []},
        VideoLinker("none", lab.dataset, tmp_path, tmp_path),
    )
    visit(browser, tmp_path / "videos" / "index.html")

    def seen() -> list[str]:
        rows = "[...document.querySelectorAll('#videos tbody tr')].filter(r => r.offsetParent)"
        return run(browser, f"{rows}.map(r => r.cells[0].innerText)")

    assert seen() == [f"v{k:05d}" for k in range(100)]
    run(browser, "document.querySelectorAll('.pager button')[1].click()")
    assert seen() == [f"v{k:05d}" for k in range(100, 200)]
    assert run(browser, "document.querySelector('.pager').innerText").endswith("page 2 of 20")
    find = browser.find_element("css selector", "input.filter")
    find.send_keys("v0123")
    assert seen() == [f"v0123{k}" for k in range(10)] and run(browser, "document.querySelector('.pager').hidden")
    find.clear()
    find.send_keys(" ", "\b")
    run(browser, "[...document.querySelectorAll('#videos thead button')].find(b => b.innerText == 'Seconds').click()")
    assert seen() == [video.video_id for video in sorted(videos, key=lambda video: -video.duration)[:100]]


def test_the_keyboard_is_enough(browser, lab) -> None:
    from selenium.webdriver.common.keys import Keys

    video = lab.dataset.videos[0]
    visit(browser, lab.out / "videos" / f"{video.video_id}.html")
    wait(browser, "document.querySelector('video').readyState > 0")
    rows = "[...document.querySelectorAll('.sheet:not([hidden]) tbody tr')].map(r => r.dataset.step)"
    for key in (Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ENTER):  # nothing was clicked
        browser.switch_to.active_element.send_keys(key)
    wait(browser, "document.querySelector('.detail pre')")
    assert run(browser, "location.hash") == f"#full_score/example-noisy-7b/{run(browser, rows)[1]}"
    browser.find_element("css selector", ".tabs button[aria-selected=true]").send_keys(Keys.ARROW_RIGHT)
    assert run(browser, "document.activeElement.dataset.setting") == "full_error"
    (cell,) = browser.find_elements("css selector", ".sheet:not([hidden]) td button[tabindex='0']")
    cell.send_keys(Keys.ARROW_DOWN)
    for key in (Keys.ARROW_RIGHT, Keys.ENTER):
        browser.switch_to.active_element.send_keys(key)
    wait(browser, "document.querySelector('.detail pre')")
    second = run(browser, rows)[1]
    wait(browser, "location.hash.startsWith('#full_error')")
    assert run(browser, "location.hash") == f"#full_error/oracle/{second}"
    wait(browser, f"Math.abs(document.querySelector('video').currentTime - {video.step(second).span[0]}) < 0.1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_missed_error_has_the_strongest_colour_and_agreement_none(browser: Any, lab, scheme: str) -> None:
    def ground(cell: str) -> list[float]:
        found = run(browser, f"getComputedStyle(document.querySelector('{cell}')).backgroundColor")
        return [float(part) for part in re.findall(r"[\d.]+", found)]

    def luminance(rgb: list[float]) -> float:  # WCAG 2.2
        parts = [part / 255 for part in rgb[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    with media(browser, scheme=scheme):
        visit(browser, lab.out / "videos" / f"{lab.dataset.videos[0].video_id}.html")
        failed = run(browser, "[...document.querySelectorAll('.cells tbody tr')]"
                     ".filter(r => r.cells[1].matches('.k0, .k1, .k2'))"
                     ".flatMap(r => [...r.cells]).filter(c => c.matches('td') && !c.querySelector('[data-d]')"
                     " && !c.matches('.differs')).map(c => getComputedStyle(c).backgroundColor)")  # fmt: skip
        assert failed and set(failed) == {"rgba(0, 0, 0, 0)"}, "an error that all name is no disagreement"
        paper = luminance(ground("body"))
        shown = [luminance(ground(f".cells td.{kind}")) for kind in ("miss", "alarm", "strict")]
        contrasts = [(max(paper, each) + 0.05) / (min(paper, each) + 0.05) for each in shown]
        assert contrasts == sorted(contrasts, reverse=True) and contrasts[0] > 2
        red, green, blue, *_ = ground(".cells td.miss")
        assert red > 2 * max(green, blue)
        legend = "(b => b.height)(document.querySelector('.judged .legend').getBoundingClientRect())"
        with screen(browser, 1440):
            assert run(browser, legend) < 24, "one line"


def test_the_row_of_a_link_is_in_view_and_not_in_the_colour_of_the_banner(browser: Any, lab) -> None:
    page = lab.out / "models" / "example-noisy-7b.html"
    visit(browser, page)
    rows = run(browser, "[...document.querySelectorAll('#full_score .links tbody tr')].map(r => r.id)")
    with screen(browser, 1440):
        for row in (rows[0], rows[-1]):
            visit(browser, page, f"#{row}")
            band, line = (run(browser, f"(b => [b.top, b.bottom])(document.querySelector('{part}')"
                              ".getBoundingClientRect())") for part in (".band", f"#{row}"))  # fmt: skip
            assert band[1] <= line[0] and line[1] <= 900
            colours = run(
                browser, f"['.band', '#{row}'].map(s => getComputedStyle(document.querySelector(s)).background)"
            )
            assert colours[0] != colours[1] and "rgba(0, 0, 0, 0)" not in colours[1]


@pytest.mark.parametrize("width", [390, 720, 1440])
def test_what_is_cut_has_a_shadow_and_a_phone_shows_every_judge(
    browser: Any, twelve: Path, pages: list[Path], width: int
) -> None:
    out = twelve.parent
    with screen(browser, width):
        for path in (twelve, out / "videos" / "index.html", next((out / "models").glob("*.html")), *pages):
            visit(browser, path)
            assert run(browser, "document.documentElement.scrollWidth") <= width, path
            hidden = run(browser, "[...document.querySelectorAll('main *')].filter(e => e.checkVisibility()"
                         " && e.scrollWidth > e.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(e).overflowX)"
                         " && !e.matches('.tabs, .name')).map(e => getComputedStyle(e).backgroundImage)")  # fmt: skip
            assert all("gradient" in image for image in hidden), path
        visit(browser, out / "videos" / "index.html")
        if width == 390:
            ends = run(browser, "[...document.querySelectorAll('#videos tbody tr:first-child td')]"
                       ".map(c => c.getBoundingClientRect().right)")  # fmt: skip
            assert len(ends) == 5 + 12 and max(ends) <= width


def test_hostile_replies_stay_text(browser, lab) -> None:
    for number, expected in enumerate(("<script>alert(1)</script>", "⟦U+202E⟧", "characters left out")):
        video = lab.dataset.videos[number].video_id
        visit(browser, lab.out / "videos" / f"{video}.html", f"#full_score/{HOSTILE_SLUG}/cpr_01")
        wait(browser, "document.querySelector('.detail pre')")
        assert expected in run(browser, "document.querySelector('.detail pre').textContent")
        assert run(browser, "document.querySelectorAll('.detail script, .detail img').length") == 0
        assert complaints(browser) == []


def test_frames_at_uneven_times_are_marked_where_they_are(browser, lab, tmp_path: Path) -> None:
    """The page of a video whose frames are listed puts the ticks there, not evenly between start and end."""
    out, video = shutil.copytree(lab.out, tmp_path / "uneven"), lab.dataset.videos[0].video_id
    page = out / "videos" / f"{video}.html"
    text = page.read_text()
    assert 'data-frames="even"' in text
    page.write_text(text.replace('data-frames="even"', 'data-frames="listed"'))
    (out / "frames").mkdir()
    (out / "frames" / f"{video}.js").write_text(f"SIMING.frames({[0, 1, 2, 3, 4, 5, 7, 7.1, 7.2, 8]});")
    visit(browser, page, "#full_score/oracle/cpr_01")
    wait(browser, "document.querySelectorAll('.ticks line').length === 4")
    length = float(run(browser, "document.querySelector('main').dataset.duration"))
    shares = run(browser, "[...document.querySelectorAll('.ticks line')].map(t => parseFloat(t.getAttribute('x1')))")
    assert [share / 100 * length for share in shares] == pytest.approx([0, 3, 7, 8], abs=1e-3)


@pytest.mark.parametrize("width", [width for width, _ in SCREENS.values()])
def test_what_decides_among_twelve_judges_is_in_view(browser: Any, twelve: Path, width: int) -> None:
    from selenium.webdriver.common.keys import Keys

    with screen(browser, width):
        visit(browser, twelve, "#full_error")
        shown = "[...document.querySelectorAll('.tabbed > section')].filter(s => s.offsetHeight).map(s => s.id)"
        assert run(browser, shown) == ["full_error"]
        browser.find_element("css selector", ".tabbed > .tabs [aria-selected=true]").send_keys(Keys.ARROW_LEFT)
        assert run(browser, shown) == ["full_score"]
        assert run(browser, "document.documentElement.scrollWidth") <= width
        cells = run(browser, "[...document.querySelectorAll('#full_score table.judges tbody :is(td, th)')]"
                    ".filter(c => !c.querySelector('.none')).map(c => c.getBoundingClientRect())"
                    ".map(box => [box.left, box.right, box.height])")  # fmt: skip
        assert len(cells) >= 12 * 7
        assert all(left >= 0 and right <= width + 0.5 and height > 0 for left, right, height in cells)
        names = run(browser, "[...document.querySelectorAll('#full_score table.judges bdi')].map(n => n.innerText)")
        assert len(set(names)) == len(names) and LONG.format(3) in names
        smallest, cut, drawn = browser.execute_script(
            "const [c] = [...document.querySelectorAll('#full_score svg.chart')].filter(c => c.checkVisibility());"
            "const box = c.getBoundingClientRect(), texts = [...c.querySelectorAll('text')];"
            "return [Math.min(...texts.map(t => parseFloat(getComputedStyle(t).fontSize)))"
            " * box.width / c.viewBox.baseVal.width, texts.filter(t => { const b = t.getBoundingClientRect();"
            "   return b.left < box.left - 1 || b.right > box.right + 1; }).length,"
            " [...c.querySelectorAll(c.classList.contains('narrow') ? '.name' : '.label')].map(t => t.textContent)]"
        )
        assert smallest >= 9.9 and cut == 0 and len(set(drawn)) == 12, "the figure can be read"
        assert complaints(browser) == []


def test_what_is_printed_keeps_titles_and_columns(browser: Any, pages: list[Path]) -> None:
    with media(browser, "print"), screen(browser, 700, 990):
        for path in (page for page in pages if page.parent.name != "models"):
            visit(browser, path)
            assert run(browser, "document.documentElement.scrollWidth") <= 700, path
            head = run(browser, "getComputedStyle(document.querySelector('thead')).display")
            assert head == "table-header-group" and run(browser, "document.querySelector('h1').offsetHeight") > 10


@pytest.mark.parametrize(("scheme", "rules"), [("light", None), ("dark", ["color-contrast"])])
def test_axe_finds_no_accessibility_fault(browser, lab, pages, scheme: str, rules: list[str] | None) -> None:
    from axe_core_python.selenium import Axe

    options = {"resultTypes": ["violations"]} | ({"runOnly": {"type": "rule", "values": rules}} if rules else {})
    short = lab.out / "models" / f"{HOSTILE_SLUG}.html"  # the same page with one setting: axe takes minutes over four
    with media(browser, scheme=scheme):
        for path in [short, *(path for path in pages if path.parent.name != "models")]:
            visit(browser, path)
            # What a closed part hides would be judged on the ground of what stands in its place.
            run(browser, "document.querySelectorAll('details').forEach(part => { part.open = true; })")
            found = Axe().run(browser, None, options)["violations"]
            assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found] == [], path
