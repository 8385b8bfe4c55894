"""Make the pictures of README and docs from SYNTHETIC exams: ``[hero] [verdict]``, without words both.

    python utils/make_pictures.py

hero.webp: the page of an exam: a cell, the moment that it stands for, and the reply beside it (needs Chromium and
chromedriver). verdict.svg: the figure that ``siming report`` exports, of 60 exams without pictures. Takes two minutes.
The judges are simulated (`utils/simulated_judges.py`).
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait
from simulated_judges import make_labels, make_runs

from siming_tasks import write_report
from siming_tasks.data import open_dataset
from siming_tasks.study.results.discovery import find_runs
from siming_tasks.tools.simulator import make_demo

OUT = Path(__file__).parents[1] / "docs" / "pictures"
VIDEO, STEP = "sim004", "aed_08"
"""A shock is given while a helper's arm still lies on the patient; who sees only the button being pressed misses it."""
SKILLS = {"judge A": 0.9, "judge B": 0.75, "judge C": 0.6}
MANY = {"judge A": 0.98, "judge B": 0.95, "judge C": 0.9, "judge D": 0.8, "judge E": 0.68, "judge F": 0.6}
"""Share of steps in which each simulated judge repeats the consensus."""
SIZE, SCALE, QUALITY, RATE = (1280, 800), 0.8, 68, 8
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb")

CLICK = f"""
const row = document.querySelector("table.cells[data-setting=clip_score] tr[data-step={STEP}]");
row.scrollIntoView({{block: "center", behavior: "instant"}});
const cell = row.querySelector("td.j button"), box = cell.getBoundingClientRect();
const arrow = document.createElementNS("http://www.w3.org/2000/svg", "svg");
arrow.setAttribute("viewBox", "0 0 24 24");
arrow.innerHTML = '<path d="M3 2l7 19 3-8 8-3z" fill="#111" stroke="#fff" stroke-width="1.6"/>';
Object.assign(arrow.style, {{position: "fixed", width: "30px", height: "30px", zIndex: 9999, pointerEvents: "none",
  left: `${{box.x + box.width / 2}}px`, top: `${{box.y + box.height / 2}}px`}});
document.body.append(arrow);
setTimeout(() => cell.click(), 1000);
return [parseFloat(row.dataset.start), parseFloat(row.dataset.end)];
"""
"""Draws a pointer on the first judge's cell, clicks it a second later, and returns when the step begins and ends."""
SEEK = """
const [at, done] = arguments, player = document.querySelector("main video");
player.pause();
player.addEventListener("seeked", () => requestAnimationFrame(() => requestAnimationFrame(done)), {once: true});
player.currentTime = at;
"""


def shot(browser: Any) -> Image.Image:
    """Screenshot of the page, made smaller."""
    picture = Image.open(BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    return picture.resize((int(SIZE[0] * SCALE), int(SIZE[1] * SCALE)), Image.Resampling.LANCZOS)


def film(browser: Any, page: Path) -> Iterator[tuple[Image.Image, int]]:
    """The pictures of the gesture, each with its milliseconds."""
    metrics = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(f"{page.as_uri()}#clip_score")
    loaded = "return document.querySelector('main video').readyState > 1"
    WebDriverWait(browser, 30).until(lambda page: page.execute_script(loaded))
    start, end = browser.execute_script(CLICK)
    yield shot(browser), 1500
    time.sleep(2.5)
    for at in np.arange(max(start - 1.5, end - 5.7), end - 0.7, 1 / RATE):  # ends at the shock, not after it
        browser.execute_async_script(SEEK, float(at))
        yield shot(browser), 1000 // RATE
    yield shot(browser), 1500
    browser.execute_script("document.querySelector('.lost').scrollIntoView({block: 'nearest', behavior: 'instant'})")
    yield shot(browser), 4000


def hero(folder: Path, out: Path, exams: Path | None) -> None:
    """Write hero.webp; ``exams``: where the demo's first exams are, or are to be made and kept."""
    place = exams or folder / "exams"
    dataset = open_dataset(place if place.exists() else make_demo(place, videos=4))
    runs = find_runs(make_runs(dataset, folder, SKILLS, missed=(VIDEO, STEP)))
    report = write_report(runs, dataset, folder / "report", media="copy")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in FLAGS:
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        (first, *others), lengths = zip(*film(browser, report / "videos" / f"{VIDEO}.html"), strict=True)
    finally:
        browser.quit()
    how: dict[str, Any] = {"quality": QUALITY, "method": 4, "loop": 0, "duration": list(lengths)}
    first.save(out / "hero.webp", save_all=True, append_images=others, **how)


def verdict(folder: Path, out: Path, _: Path | None) -> None:
    """Write verdict.svg."""
    dataset = make_labels(folder / "labels", 60)
    runs = find_runs(make_runs(dataset, folder, MANY, missed=(VIDEO, STEP)))
    report = write_report(runs, dataset, folder / "verdict", media="none")
    shutil.copyfile(report / "figures" / "clip_score.svg", out / "verdict.svg")


def main() -> None:
    """Write the pictures that are asked for."""
    pictures = {"hero": hero, "verdict": verdict}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", metavar="PICTURE", choices=[*pictures, []], help=", ".join(pictures))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--exams", type=Path, help="where the demo's exams are, or are to be made and kept")
    arguments = parser.parse_args()
    for name in arguments.which or pictures:
        with tempfile.TemporaryDirectory() as folder:
            pictures[name](Path(folder), arguments.out, arguments.exams)
        print(*(f"{path} {path.stat().st_size} bytes\n" for path in arguments.out.glob(f"{name}.*")))


if __name__ == "__main__":
    main()
