"""Facts of an answer: what the JSON of a service says, in forms that services have sent."""

from __future__ import annotations

from typing import Any

import pytest

from siming_tasks.plugin.response_cache.attempts import Attempt, Ledger, facts_of_answer, usage_of

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(("stated", "read"), [(1000.0, 1000), (7, 7), (1.5, None), (float("nan"), None),
                                              (float("inf"), None), (True, None), (-1, None), ("7", None)])  # fmt: skip
def test_counts_may_be_written_as_whole_floats(stated: Any, read: int | None) -> None:
    facts = facts_of_answer(200, {"choices": [], "usage": {"prompt_tokens": stated}})
    assert facts["prompt_tokens"] == read and type(facts["prompt_tokens"]) is type(read)


@pytest.mark.parametrize(
    ("choice", "error"),
    [
        ({"index": 0}, "no message"),
        ({"index": 0, "message": None, "finish_reason": "stop"}, "no message"),
        ({"index": 0, "finish_reason": "content_filter"}, None),  # Azure leaves the message out
        ({"index": 0, "message": {"content": None}, "finish_reason": "stop"}, None),
    ],
)
def test_a_choice_without_a_message_is_no_answer(choice: dict[str, Any], error: str | None) -> None:
    assert facts_of_answer(200, {"choices": [choice]}).get("error") == error


def test_answers_of_unknown_form_before_another_attempt_have_failed() -> None:
    entered: list[Attempt] = []
    ledger = Ledger(lambda attempt: entered.append(attempt) or attempt, lambda: False)
    for text in (None, None, "2"):
        ledger.add(Attempt("k", 0.0, http_status=200, text=text, prompt_tokens=7 if text else None))
    usage = usage_of(ledger.of("k"))
    assert (usage["attempts"], usage["failed_attempts"], usage["prompt_tokens"]) == (3, 2, 7)
    assert [attempt.error for attempt in entered] == ["unknown form", "unknown form", ""]
