"""Photograph the rating station for its page of the docs: a demo exam half scored, and the adjudication of one step.

    python utils/shoot_station.py          # writes station-rate.png and station-adjudicate.png into docs/pictures
    python utils/shoot_station.py --out FOLDER --size 1024x768 --size 390x844 --language zh     # to look at

Needs Chromium, chromedriver, selenium and a Chinese font; takes about a minute. The exams are synthetic, and the
pictures say so.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

SIMING = [sys.executable, "-c", "import sys; from siming_tasks.cli import main; sys.exit(main())"]
SIZE = "1440x900"
COLOURS = 256


@contextmanager
def station(*words: Any) -> Iterator[str]:
    """A running station; its address."""
    command = [*SIMING, "data", "rate", *map(str, words), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield next(line.strip() for line in process.stdout if line.startswith("http"))
        finally:
            process.terminate()


def event(address: str, step: str, kind: str, value: Any) -> None:
    """One event on the first exam, as the page sends it."""
    base, token = address.split("/?token=")
    cookie = f"siming_rate_{base.rpartition(':')[2]}={token}"

    def ask(path: str, body: bytes | None = None) -> Any:
        headers = {"cookie": cookie, "content-type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{base}{path}", body, headers), timeout=20) as answer:
            return json.load(answer)

    first = ask("/work")["items"][0]["id"]
    act = {"item": first, "id": str(uuid.uuid4()), "step": step, "kind": kind, "value": value}
    ask("/act", json.dumps(act).encode())


def photograph(address: str, target: Path, keys: list[str], sizes: list[str]) -> None:
    """Open the page, press keys, and write what is seen as a small PNG; of several sizes the name says which."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        resize(browser, sizes[0])
        browser.get(address)
        WebDriverWait(browser, 30).until(
            lambda page: page.execute_script("return document.querySelector('#wait').hidden")
        )
        for key in keys:
            ActionChains(browser).send_keys(key).perform()
            time.sleep(0.2)
        for size in sizes:
            resize(browser, size)
            time.sleep(1)
            path = target.with_stem(f"{target.stem}-{size}") if len(sizes) > 1 else target
            picture = Image.open(BytesIO(browser.get_screenshot_as_png())).convert("RGB")
            picture.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)
            print(path, path.stat().st_size, "bytes")
    finally:
        browser.quit()


def resize(browser: Any, size: str) -> None:
    """Give the window a size, ``WIDTHxHEIGHT``."""
    width, height = map(int, size.split("x"))
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def main() -> None:
    """Write the two pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "pictures")
    parser.add_argument("--size", action="append", help=f"of the window (default {SIZE})")
    parser.add_argument("--language", default="en", choices=("en", "zh"))
    given = parser.parse_args()
    out, sizes, speak = given.out, given.size or [SIZE], ("--language", given.language)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        demo, store = Path(folder) / "exams", Path(folder) / "s.sqlite"
        subprocess.run(
            [*SIMING, "data", "demo", str(demo), "--videos", "1", "--sound", "--no-contact"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        steps = [line["step_id"] for line in json.loads((demo / "videos.jsonl").read_text())["steps"]]
        enter = Keys.ENTER
        with station(demo, "--rater", "Dr. Li", "--store", store, *speak) as address:
            marks = ["g", "0:12.4", enter, "s", "g", "0:19.2", enter, "e"]
            words = ["c", "calls for help, names nobody", Keys.ESCAPE]
            photograph(address, out / "station-rate.png", ["2", "3", *marks, *words, "1"], sizes)
            for number, step in enumerate(steps):
                event(address, step, "points", int(number % 5 != 2))
        with station(demo, "--rater", "Dr. Wu", "--store", store) as address:
            for number, step in enumerate(steps):
                event(address, step, "points", int(number % 7 != 2))
        with station(demo, "--adjudicate", "--store", store, *speak) as address:
            photograph(address, out / "station-adjudicate.png", ["v"], sizes)


if __name__ == "__main__":
    main()
