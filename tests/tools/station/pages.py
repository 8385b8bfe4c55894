"""A browser before a station: keys as a physician presses them, and waiting for what the page shows."""

from __future__ import annotations

from typing import Any

from tests.tools.station.conftest import Station


def visit(browser: Any, station: Station) -> None:
    """Open the printed address and wait for the first exam and its first picture."""
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(station.address)
    wait(browser, "document.querySelector('li.current') !== null")
    wait(browser, "document.getElementById('wait').hidden")


def wait(browser: Any, script: str) -> Any:
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 30, 0.05).until(lambda driver: driver.execute_script(f"return {script}"), script)


def keys(browser: Any, *pressed: str) -> None:
    """Press keys one after the other; what they did is on disk when the call returns."""
    from selenium.webdriver import ActionChains

    for each in pressed:
        if each.startswith("Shift+"):
            chain = ActionChains(browser).key_down("\ue008").send_keys(each.removeprefix("Shift+")).key_up("\ue008")
        else:
            chain = ActionChains(browser).send_keys(each)
        chain.perform()
    saved(browser)


def saved(browser: Any) -> None:
    wait(browser, "!document.body.classList.contains('saving')")


def text(browser: Any, selector: str) -> str:
    return str(browser.execute_script(f"return document.querySelector({selector!r}).textContent"))


def current(browser: Any) -> str:
    return str(browser.execute_script("return document.querySelector('li.current').dataset.step"))


def complaints(browser: Any) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
