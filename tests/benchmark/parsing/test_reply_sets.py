"""The written sets of replies: what a careful person reads in them, and what is read.

Each set was written before the rules that were in force then; ``sixth_hand`` before the present rule, from the prompts
alone. A trap has something that misleads a naive reader; what is read of it wrongly is counted, not chased.
"""

from __future__ import annotations

from collections import Counter

import pytest
from replyset import FOLDER, replies, verdict_on

from siming_tasks.benchmark.parsing import MISSING, STATUSES, parse_reply

SETS = {
    ("replies", "mixed"): (503, 393, 25),
    ("heldout", "natural"): (230, 178, 0),
    ("heldout", "trap"): (252, 221, 17),
    ("second_hand", "natural"): (320, 277, 0),
    ("third_hand", "trap"): (280, 214, 26),
    ("fourth_hand", "natural"): (140, 125, 0),
    ("fourth_hand", "trap"): (120, 73, 13),
    ("fifth_hand", "natural"): (120, 100, 0),
    ("fifth_hand", "trap"): (120, 78, 12),
    ("sixth_hand", "natural"): (300, 299, 0),
    ("sixth_hand", "trap"): (100, 96, 3),
}
"""Set and kind: number of replies, at least so many of which are read right, at most so many wrongly."""


@pytest.mark.parametrize(("name", "kind"), SETS)
def test_a_set_is_read_as_well_as_the_documentation_says(name: str, kind: str) -> None:
    size, right, wrong = SETS[name, kind]
    verdicts: Counter[str] = Counter()
    for reply in replies(FOLDER if name == "replies" else FOLDER / name):
        if reply.family.partition(":")[0] != kind and kind != "mixed":
            continue
        parsed = parse_reply(reply.text, reply.steps, reply.answer)
        assert parsed.status in STATUSES and set(parsed.missing.values()) <= set(MISSING), reply.name
        verdicts[verdict_on(reply, dict(parsed.answers))] += 1
    assert verdicts.total() == size
    assert verdicts["right"] >= right and verdicts["wrong"] <= wrong, verdicts
