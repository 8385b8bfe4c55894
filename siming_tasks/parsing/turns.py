"""The first turn: what a model writes after its answer, in another's name, is no answer."""

from __future__ import annotations

import re
from bisect import bisect_left

from siming_tasks.parsing.context import ENDS
from siming_tasks.parsing.thinking import CLOSE, OPEN

__all__ = ["first_turn"]

_OWN = re.compile(
    r"""\s* (?: (?: <s> | <\|im_start\|>\s*assistant\b | <start_of_turn>\s*model\b | <\|assistant\|>
              | <\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>
              | (?:\#{1,4}[ ]*)? \**(?:ASSISTANT|Assistant|助手)\**\s*[:：]
              | \#{1,4}[ ]*Response\b\s*[:：]? ) \s* )+""",
    re.VERBOSE,
)
"""The model's own heading, where the host leaves it in."""


def first_turn(reply: str) -> str:
    """The reply up to where its turn ends; "" where it begins in the user's name, or where that is not clear.

    Inside thinking only special tokens end a turn: thoughts may quote what "User:" asked.
    """
    own = _OWN.match(reply)
    begin = own.end() if own else 0
    tags: list[tuple[int, bool]] | None = None
    bracket = reply.find("{", begin)
    for mark in ENDS.finditer(reply, begin):
        if mark[0][0] in "<[":
            return reply[begin : mark.start()]
        if tags is None:
            tags = sorted([*_tags(OPEN, reply, True), *_tags(CLOSE, reply, False)])
        place = bisect_left(tags, (mark.start(), False))
        if place and tags[place - 1][1]:
            continue
        if (
            not place and tags and not tags[0][1]
        ):  # thoughts whose opening tag the chat template wrote, or a later turn's
            if 0 <= bracket < mark.start():
                return ""
            continue
        return reply[begin : mark.start()]
    return reply[begin:]


def _tags(tag: re.Pattern[str], reply: str, opens: bool) -> list[tuple[int, bool]]:
    return [(found.start(), opens) for found in tag.finditer(reply)]
