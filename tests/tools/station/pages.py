"""A browser before a station: keys as a physician presses them, and waiting for what the page shows."""

from typing import Any

from tests.study.report.browsing import wait
from tests.tools.station.conftest import Station


def visit(browser: Any, station: Station) -> None:
    """Open the printed address and wait for the first exam and its first picture."""
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get(station.address)
    wait(browser, "document.querySelector('li.current') !== null")
    wait(browser, "document.getElementById('wait').hidden")


def press(browser: Any, *pressed: str) -> None:
    """Press keys one after the other; what they do is still under way when the call returns."""
    from selenium.webdriver import ActionChains

    for each in pressed:
        shift = each.startswith("Shift+")
        chain = ActionChains(browser).key_down("\ue008") if shift else ActionChains(browser)
        chain = chain.send_keys(each.removeprefix("Shift+"))
        (chain.key_up("\ue008") if shift else chain).perform()


def keys(browser: Any, *pressed: str) -> None:
    """Press keys one after the other; what they did is on disk when the call returns."""
    press(browser, *pressed)
    saved(browser)


def saved(browser: Any) -> None:
    wait(browser, "!document.body.classList.contains('saving')")


def turn_to(browser: Any, exam: str) -> None:
    """Go to one of two exams, whose order is the rater's own."""
    if exam not in text(browser, "#who"):
        keys(browser, "Shift+n" if text(browser, "#progress").startswith("Exam 1") else "Shift+p")
    wait(browser, f"document.getElementById('who').textContent.includes({exam!r})")
    wait(browser, "document.getElementById('wait').hidden")


def text(browser: Any, selector: str) -> str:
    return str(browser.execute_script(f"return document.querySelector({selector!r}).textContent"))


def current(browser: Any) -> str:
    return str(browser.execute_script("return document.querySelector('li.current').dataset.step"))


def complaints(browser: Any) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
