"""Make the pictures of README and docs from SYNTHETIC exams: ``[hero] [verdict]``, without words both.

    python utils/make_pictures.py

hero.webp: the page of an exam: a cell, the moment that it stands for, and the reply beside it (needs Chromium and
chromedriver). verdict.svg: the figure that ``siming report`` exports, of 60 exams without pictures. Takes two minutes.
The judges are simulated (`utils/simulated_judges.py`).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait
from simulated_judges import make_labels, make_runs

from siming_tasks.data import Dataset, open_dataset

OUT = Path(__file__).parents[1] / "docs" / "pictures"
SIMING = [sys.executable, "-c", "import sys; from siming_tasks.cli import main; sys.exit(main())"]
VIDEO, STEP = "sim004", "aed_08"
"""A shock is given while a helper's arm still lies on the patient; who sees only the button being pressed misses it."""
SKILLS = {"judge A": 0.9, "judge B": 0.75, "judge C": 0.6}
MANY = {"judge A": 0.98, "judge B": 0.95, "judge C": 0.9, "judge D": 0.8, "judge E": 0.68, "judge F": 0.6}
"""Share of steps in which each simulated judge repeats the consensus."""
SIZE, SCALE, QUALITY, RATE = (1280, 800), 0.8, 80, 8
LARGEST = 1_000_000


def make_exams(folder: Path) -> Dataset:
    """The first exams of the default demo, made if they are not there."""
    if folder.exists():
        return open_dataset(folder)
    command = [*SIMING, "data", "demo", str(folder), "--videos", "4"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return open_dataset(folder)


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser of fixed size."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    metrics = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        yield browser
    finally:
        browser.quit()


FIND = f"""
const table = document.querySelector("table.cells[data-setting=clip_score]");
const column = table.querySelector("th[data-run]").cellIndex;
const row = table.querySelector("tr[data-step={STEP}]");
const cell = row.cells[column].querySelector("button");
"""
POINTER = """
const arrow = document.createElementNS("http://www.w3.org/2000/svg", "svg");
arrow.id = "pointer";
arrow.setAttribute("viewBox", "0 0 24 24");
arrow.innerHTML = '<path d="M3 2l7 19 3-8 8-3z" fill="#111" stroke="#fff" stroke-width="1.6"/>';
Object.assign(arrow.style, {position: "fixed", width: "30px", height: "30px", zIndex: 9999, pointerEvents: "none"});
document.body.append(arrow);
"""


def shot(browser: Any) -> Image.Image:
    """Screenshot of the page, made smaller."""
    picture = Image.open(BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    return picture.resize((int(SIZE[0] * SCALE), int(SIZE[1] * SCALE)), Image.Resampling.LANCZOS)


def point(browser: Any, x: float, y: float) -> None:
    """Put the drawn pointer somewhere."""
    script = "Object.assign(document.querySelector('#pointer').style, {left: arguments[0], top: arguments[1]})"
    browser.execute_script(script, f"{x}px", f"{y}px")


def seek(browser: Any, seconds: float) -> None:
    """Put the player to a time and wait until the picture is there."""
    browser.execute_async_script(
        "const [at, done] = arguments, player = document.querySelector('main video'); player.pause();"
        "const drawn = () => requestAnimationFrame(() => requestAnimationFrame(done));"
        "player.addEventListener('seeked', drawn, {once: true});"
        "player.currentTime = at",
        seconds,
    )


def film(browser: Any, page: Path) -> Iterator[tuple[Image.Image, int]]:
    """The pictures of the gesture, each with its milliseconds."""
    browser.get(f"{page.as_uri()}#clip_score")
    loaded = "return document.querySelector('main video').readyState > 1"
    WebDriverWait(browser, 30).until(lambda page: page.execute_script(loaded))
    browser.execute_script(POINTER)
    browser.execute_script(FIND + "row.scrollIntoView({block: 'center', behavior: 'instant'})")
    time.sleep(0.5)
    spot = browser.execute_script(
        FIND + "const box = cell.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2,"
        " parseFloat(row.dataset.start), parseFloat(row.dataset.end)]"
    )
    x, y, start, end = spot
    for share in np.linspace(0, 1, 9) ** 0.6:
        point(browser, SIZE[0] * 0.86 + (x - SIZE[0] * 0.86) * share, SIZE[1] * 0.9 + (y - SIZE[1] * 0.9) * share)
        yield shot(browser), 90 if share < 1 else 700
    browser.execute_script(FIND + "cell.click()")
    time.sleep(1.5)
    times = np.arange(max(start - 1.5, end - 5.7), end - 0.7, 1 / RATE)  # ends at the shock, not after it
    for at in times:
        seek(browser, float(at))
        yield shot(browser), 1000 // RATE
    yield shot(browser), 1200
    for _ in range(8):
        browser.execute_script("document.querySelector('.lost').scrollIntoView({block: 'nearest', behavior: 'smooth'})")
        time.sleep(0.15)
        yield shot(browser), 80
    yield shot(browser), 1800


def hero(folder: Path, out: Path, exams: Path | None) -> None:
    """Write hero.webp."""
    dataset, report = make_exams(exams or folder / "exams"), folder / "report"
    runs = make_runs(dataset, folder, SKILLS, missed=(VIDEO, STEP))
    command = [*SIMING, "report", *runs, "--data", str(dataset.root), "--out", str(report)]
    subprocess.run([*command, "--video-files", "copy"], check=True, stdout=subprocess.DEVNULL)
    with chromium() as browser:
        pictures, lengths = zip(*film(browser, report / "videos" / f"{VIDEO}.html"), strict=True)
    save(list(pictures), list(lengths), out / "hero.webp")


def verdict(folder: Path, out: Path, _: Path | None) -> None:
    """Write verdict.svg."""
    place = folder / "verdict"
    dataset = make_labels(place / "exams", 60)
    runs = make_runs(dataset, place, MANY, missed=(VIDEO, STEP))
    command = [*SIMING, "report", *runs, "--data", str(dataset.root), "--out", str(place / "report")]
    subprocess.run([*command, "--video-files", "none"], check=True, stdout=subprocess.DEVNULL)
    shutil.copyfile(place / "report" / "figures" / "clip_score.svg", out / "verdict.svg")
    print(out / "verdict.svg", (out / "verdict.svg").stat().st_size, "bytes")


def save(pictures: list[Image.Image], lengths: list[int], path: Path) -> None:
    """Write an animation, as well as its limit of size allows."""
    for quality in range(QUALITY, 20, -6):
        options: dict[str, Any] = {"quality": quality, "method": 4, "loop": 0}
        pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=lengths, **options)
        if path.stat().st_size < LARGEST:
            print(path, path.stat().st_size, "bytes,", len(pictures), "pictures, quality", quality)
            return
    raise SystemExit(f"{path} does not get below {LARGEST} bytes")


PICTURES = {"hero": hero, "verdict": verdict}


def main() -> None:
    """Write the pictures that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", nargs="*", metavar="PICTURE", choices=[*PICTURES, []], help=", ".join(PICTURES))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--exams", type=Path, help="where the demo's exams are, or are to be made and kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.which or PICTURES:
            PICTURES[name](Path(folder), arguments.out, arguments.exams)


if __name__ == "__main__":
    main()
