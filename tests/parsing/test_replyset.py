"""The replies that were read by hand before the rules were written."""

from __future__ import annotations

from collections import Counter

import pytest
from replyset import Reply, replies, verdict_on

from siming_tasks.parsing import MISSING, STATUSES, parse_reply

ALL = list(replies())


@pytest.mark.parametrize("reply", ALL, ids=lambda reply: reply.name)
def test_no_reply_is_read_wrongly(reply: Reply) -> None:
    parsed = parse_reply(reply.text, reply.steps, reply.answer)
    assert verdict_on(reply, dict(parsed.answers)) != "wrong", (reply.text, parsed)
    assert parsed.status in STATUSES
    assert set(parsed.missing.values()) <= set(MISSING)


def test_nearly_all_that_a_person_reads_is_read() -> None:
    verdicts = Counter(verdict_on(r, dict(parse_reply(r.text, r.steps, r.answer).answers)) for r in ALL)
    assert verdicts["right"] >= 0.99 * len(ALL), verdicts


def test_the_reply_set_has_its_documented_size_and_mix() -> None:
    assert len(ALL) >= 500
    assert len({reply.family for reply in ALL}) >= 10
    assert {(len(reply.steps), reply.answer) for reply in ALL} == {(n, a) for n in (1, 5) for a in ("score", "error")}
    assert sum(bool(reply.answers) for reply in ALL) > len(ALL) / 2
