"""A page in a real browser: opened, waited for, measured, at the width of a screen or a phone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCREENS = {"desktop": (1440, 900), "laptop": (1024, 768), "phone": (390, 844)}


def run(browser: Any, script: str) -> Any:
    return browser.execute_script(f"return {script}")


def wait(browser: Any, script: str) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 40, 0.05).until(lambda driver: run(driver, script), script)


def visit(browser: Any, place: str | Path, fragment: str = "") -> None:
    """Open an address, or a file from disk, anew; what the browser said of others is forgotten."""
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get((place.resolve().as_uri() if isinstance(place, Path) else place) + fragment)
    wait(browser, "document.readyState === 'complete'")


def complaints(browser: Any) -> list[str]:
    """What the browser complains of, but that our own scripts could leave the frame they are shown in."""
    told = [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    return [message for message in told if "can escape its sandboxing" not in message]


@contextmanager
def screen(browser: Any, width: int, height: int = 900) -> Iterator[None]:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextmanager
def media(browser: Any, kind: str = "", scheme: str = "") -> Iterator[None]:
    """On paper (``print``), or in a colour scheme."""
    features = [{"name": "prefers-color-scheme", "value": scheme}] if scheme else []
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": kind, "features": features})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
