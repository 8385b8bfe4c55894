"""The written replies: what a careful person reads in them, and what is read.

What is read wrongly in a trap is counted, not chased.
"""

from collections import Counter

import pytest
from replyset import replies, verdict_on

from siming_tasks.benchmark.parsing import MISSING, STATUSES, parse_reply

SETS = {"natural": (600, 558, 0), "trap": (476, 327, 65)}
"""Kind: number of replies, at least so many of which are read right, at most so many wrongly."""


@pytest.mark.parametrize("kind", SETS)
def test_replies_are_read_as_well_as_the_documentation_says(kind: str) -> None:
    size, right, wrong = SETS[kind]
    verdicts: Counter[str] = Counter()
    for reply in replies(kind):
        parsed = parse_reply(reply.text, reply.steps, reply.answer)
        assert parsed.status in STATUSES and set(parsed.missing.values()) <= set(MISSING), reply.name
        verdicts[verdict_on(reply, dict(parsed.answers))] += 1
    assert verdicts.total() == size
    assert verdicts["right"] >= right and verdicts["wrong"] <= wrong, verdicts
