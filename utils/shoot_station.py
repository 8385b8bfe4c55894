"""Photograph the rating station for its page of the docs: a demo exam half scored, and the adjudication of one step.

    python utils/shoot_station.py          # writes station-rate.png and station-adjudicate.png into docs/pictures

Needs Chromium, chromedriver and selenium; takes about a minute. The exams are synthetic, and the pictures say so.
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
SIZE = (1280, 800)
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
    body = json.dumps({"item": 0, "id": str(uuid.uuid4()), "step": step, "kind": kind, "value": value}).encode()
    headers = {"cookie": cookie, "content-type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(f"{base}/act", body, headers), timeout=20).close()


def photograph(address: str, target: Path, keys: list[str]) -> None:
    """Open the page, press keys, and write what is seen as a small PNG."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        metrics = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get(address)
        WebDriverWait(browser, 30).until(
            lambda page: page.execute_script("return document.querySelector('#wait').hidden")
        )
        for key in keys:
            ActionChains(browser).send_keys(key).perform()
            time.sleep(0.2)
        time.sleep(1)
        # Without a Chinese font the steps' Chinese names would be rows of boxes.
        browser.execute_script("document.querySelectorAll('.zh').forEach((name) => name.remove())")
        picture = Image.open(BytesIO(browser.get_screenshot_as_png())).convert("RGB")
        picture.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(target, optimize=True)
        print(target, target.stat().st_size, "bytes")
    finally:
        browser.quit()


def main() -> None:
    """Write the two pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "pictures")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        demo, store = Path(folder) / "exams", Path(folder) / "s.sqlite"
        subprocess.run([*SIMING, "data", "demo", str(demo), "--videos", "1"], check=True, stdout=subprocess.DEVNULL)
        steps = [line["step_id"] for line in json.loads((demo / "videos.jsonl").read_text())["steps"]]
        down, enter = Keys.ARROW_DOWN, Keys.ENTER
        with station(demo, "--rater", "Dr. Li", "--store", store) as address:
            marks = ["g", "0:12.4", enter, "s", "g", "0:19.2", enter, "e"]
            words = ["c", "calls for help, names nobody", Keys.ESCAPE]
            photograph(address, out / "station-rate.png", ["2", down, "3", down, "1", *marks, *words])
            for number, step in enumerate(steps):
                event(address, step, "points", int(number % 5 != 2))
        with station(demo, "--rater", "Dr. Wu", "--store", store) as address:
            for number, step in enumerate(steps):
                event(address, step, "points", int(number % 7 != 2))
        with station(demo, "--adjudicate", "--store", store) as address:
            photograph(address, out / "station-adjudicate.png", ["v"])


if __name__ == "__main__":
    main()
