"""Setting thinking blocks apart from the answer.

Dialects (any case): ``<think>``, ``<thinking>``, ``<thought>``, ``<reasoning>``, ``<reflection>`` and the like, also
with a prefix (``<seed:think>``); ``[THINK]``; ``◁think▷``; ``<|begin_of_thought|>``; ``<|START_THINKING|>``;
gpt-oss channels (``<|channel|>analysis<|message|>``), also as ``analysis...assistantfinal`` where the host has
dropped the special tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from siming_tasks.parsing.reader import Group, read

__all__ = ["Answered", "set_apart"]

_WORD = r"(?:[a-z]{1,16}[:_])?(?:think|thinking|thoughts?|reason|reasoning|reflection|scratchpad|analysis)"
_OPEN = re.compile(
    rf"""<{_WORD}> | \[{_WORD}\] | ◁{_WORD}▷ | <\|(?:begin_of_|start_)(?:thought|thinking|reasoning)\|>
       | <\|channel\|>\s*(?:analysis|commentary)[^<]{{0,64}}<\|message\|> | \Aanalysis(?=(?-i:[A-Z]))""",
    re.VERBOSE | re.IGNORECASE,
)
_CLOSE = re.compile(
    rf"""</{_WORD}> | \[/{_WORD}\] | ◁/{_WORD}▷ | <\|end_(?:of_)?(?:thought|thinking|reasoning)\|>
       | <\|channel\|>\s*final[^<]{{0,64}}<\|message\|> | assistantfinal""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Answered:
    """The part of a reply that is its answer, the brackets in it, and whether the reply ended while thinking."""

    text: str
    groups: list[Group]
    unfinished: bool


def set_apart(text: str) -> Answered:
    """What follows the last closing tag, up to a thinking block that is never closed.

    A tag inside a string of a complete, tidy JSON object is something that the model mentions, not the end or
    beginning of its thinking.
    """
    last = None
    for last in _CLOSE.finditer(text):
        pass
    groups = read(text)
    start = 0
    if last is not None:
        around = [group for group in groups if _covers(group, last.start())]
        start = around[0].start if around else last.end()
        text = text[start:]
        groups = read(text)
    for tag in _OPEN.finditer(text):
        if not any(_covers(group, tag.start()) for group in groups):
            return Answered(text[: tag.start()], [g for g in groups if g.end <= tag.start()], unfinished=True)
    return Answered(text, groups, unfinished=False)


def _covers(group: Group, position: int) -> bool:
    return group.closed and not group.odd and group.start < position < group.end
