"""The search over all replies, opened from disk."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from tests.conftest import NEEDS_BROWSER
from tests.report.test_pages_in_browser import HOSTILE_SLUG, errors, visit, wait

pytestmark = NEEDS_BROWSER


def test_every_reply_with_the_words_is_found_and_leads_to_its_cell(shared_browser: Any, lab: Any) -> None:
    """Counted from the sample logs; words stand anywhere in a reply, in any case."""
    words = ('"cpr_02": 3', '"aed_01": 1')
    logs = (lab.runs / "noisy").glob("*_samples_*.jsonl")
    replies = [json.loads(line)["filtered_resps"] for log in logs for line in log.read_text().splitlines()]
    count = sum(all(word in reply for text in words for word in text.split()) for reply in replies)
    assert 0 < count < len(replies)
    visit(shared_browser, lab.out / "search.html")
    shared_browser.find_element("css selector", "[name=words]").send_keys(" ".join(words).upper())
    shared_browser.execute_script(
        "const s = document.querySelector('[name=run]'); s.value = 'example-noisy-7b';"
        "s.dispatchEvent(new Event('change'))"
    )
    wait(shared_browser, "/^[1-9][0-9]* (reply|replies)$/.test(document.querySelector('.tally').textContent)")
    assert shared_browser.execute_script("return document.querySelectorAll('.hits li').length") == count
    shared_browser.execute_script("document.querySelector('.hits a').click()")
    wait(shared_browser, "document.querySelector('.detail pre.reply')")
    text = shared_browser.execute_script("return document.querySelector('.detail pre.reply').textContent")
    assert all(word in text for found in words for word in found.split())
    assert errors(shared_browser) == []


def test_hostile_replies_are_found_as_text(shared_browser: Any, lab: Any) -> None:
    visit(shared_browser, lab.out / "search.html", f"#words=%3Cscript%3Ealert&run={HOSTILE_SLUG}")
    wait(shared_browser, "document.querySelector('.tally').textContent === '1 reply'")
    assert shared_browser.execute_script("return document.querySelector('.hits mark').textContent") == "<script>alert"
    assert shared_browser.execute_script("return document.querySelectorAll('.hits script').length") == 0
    assert errors(shared_browser) == []


def test_what_a_judge_did_not_say_is_not_asked_of_the_disk(shared_browser: Any, lab: Any) -> None:
    """A partial run has no file of the exams that it was not given."""
    text, page = (lab.out / "search.html").read_text(), lab.out / "partial.html"
    videos = 'data-videos="[&#34;'
    assert videos in text and 'data-without="{}"' in text
    added = text.replace(videos, f"{videos}not-given&#34;, &#34;")
    slugs = [folder.name for folder in (lab.out / "data").iterdir()]
    known = added.replace(
        'data-without="{}"', f'data-without="{escape(json.dumps({key: ["not-given"] for key in slugs}))}"'
    )
    try:
        for written, complaints in ((known, 0), (added, len(slugs))):
            page.write_text(written)
            visit(shared_browser, page, "#words=nothing+holds+this")
            wait(shared_browser, "document.querySelector('.tally').textContent === '0 replies'")
            assert len(errors(shared_browser)) == complaints
    finally:
        page.unlink()
