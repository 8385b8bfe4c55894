"""Setting thinking blocks apart from the answer.

Dialects (any case): ``<think>``, ``<thinking>``, ``<thought>``, ``<reasoning>``, ``<reflection>``, ``<analysis>``,
``<scratchpad>``, also prefixed (``<seed:think>``) or with bars (``<|thinking|>``); ``[THINK]``; ``◁think▷``;
``<|begin_of_thought|>``; ``<|START_THINKING|>``; ``<unused94>thought``; gpt-oss channels
(``<|channel|>analysis<|message|>``), also as ``analysis...assistantfinal`` where the host drops special tokens.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from siming_tasks.parsing.reader import Group, read

__all__ = ["MAX_ANSWER", "MAX_REPLY", "Answered", "set_apart"]

MAX_REPLY = 1_000_000
"""Of longer replies the last million characters are read: more than models write, thinking included."""

MAX_ANSWER = 150_000
"""Of longer answers (what follows the thinking) the last part is read: more than any answer to us needs."""

_WORD = r"(?:[a-z]{1,16}[:_])?(?:think|thinking|thoughts?|reason|reasoning|reflection|analysis|scratchpad)"
_OPEN = re.compile(
    rf"""[<\[◁] (?: (?<=<)\|?{_WORD}\|?> | (?<=\[)THINK(?:ING)?\] | (?<=◁){_WORD}▷
                  | (?<=<)\|(?:begin_of_|start_)(?:thought|thinking|reasoning)\|> | (?<=<)unused94>thought
                  | (?<=<)\|channel\|>\s{{0,4}}(?:analysis|commentary)[^<]{{0,64}}<\|message\|> )""",
    re.VERBOSE | re.IGNORECASE,
)
_CLOSE = re.compile(
    rf"""[<\[◁] (?: (?<=<)(?:/\|?|\|/){_WORD}\|?> | (?<=\[)/THINK(?:ING)?\] | (?<=◁)/{_WORD}▷
                  | (?<=<)\|end_(?:of_)?(?:thought|thinking|reasoning)\|> | (?<=<)unused95>
                  | (?<=<)\|channel\|>\s{{0,4}}final[^<]{{0,64}}<\|message\|> )""",
    re.VERBOSE | re.IGNORECASE,
)
_FIRST = re.compile(rf"\s{{0,9}}(?:{_OPEN.pattern} | (?-i:analysis(?=[A-Z])))", re.VERBOSE | re.IGNORECASE)
_PLAIN_CLOSE = "assistantfinal"


@dataclass(frozen=True)
class Answered:
    """The part of a reply that is its answer, the brackets in it, and whether the reply ended while thinking."""

    text: str
    groups: list[Group]
    unfinished: bool


def set_apart(reply: str) -> Answered:
    """What follows the last closing tag, up to a thinking block that is never closed.

    A tag in a string of a complete, tidy object is something that the model mentions, no end or beginning of thinking.
    """
    thinking_first = _FIRST.match(reply) is not None
    reply = reply[-MAX_REPLY:]
    closing = _last_closing(reply)
    begin = 0
    cut = max(0, len(reply) - MAX_ANSWER)
    if closing is not None:
        around = _around(read(reply[cut:]), closing[0] - cut)
        begin = closing[1] if around is None else cut + around.start
        cut = max(begin, cut)
    if (closing is None and thinking_first) or _OPEN.search(reply, begin, cut):
        return Answered("", [], unfinished=True)
    text = reply[cut:]
    groups = read(text)
    for tag in _OPEN.finditer(text):
        if _around(groups, tag.start()) is None:
            return Answered(text[: tag.start()], [g for g in groups if g.end <= tag.start()], unfinished=True)
    return Answered(text, groups, unfinished=False)


def _last_closing(reply: str) -> tuple[int, int] | None:
    """Span of the last closing tag."""
    plain = reply.rfind(_PLAIN_CLOSE)
    span = None if plain < 0 else (plain, plain + len(_PLAIN_CLOSE))
    for tag in _CLOSE.finditer(reply, max(0, plain)):
        span = tag.span()
    return span


def _around(groups: list[Group], position: int) -> Group | None:
    """The complete, tidy bracket that ``position`` lies in, or None."""
    index = bisect_left(groups, position, key=lambda group: group.start) - 1
    if index < 0 or groups[index].odd or not groups[index].closed or position >= groups[index].end:
        return None
    return groups[index]
