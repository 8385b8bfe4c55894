"""The part of a reply that is its answer: thinking blocks set apart, later turns cut off.

Dialects (any case): ``<think>``, ``<thinking>``, ``<thought>``, ``<reasoning>``, ``<reflection>``, ``<analysis>``,
``<scratchpad>``, also prefixed (``<seed:think>``) or with bars (``<|thinking|>``); ``[THINK]``; ``◁think▷``;
``<|begin_of_thought|>``; ``<|START_THINKING|>``; ``<unused94>thought``; gpt-oss channels
(``<|channel|>analysis<|message|>``), also as ``analysis...assistantfinal`` where the host drops special tokens.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from dataclasses import dataclass

from siming_tasks.parsing.lenient_json import Group, read

# Of a longer reply and a longer answer (what follows the thinking), only so many characters at the end are read: more
# than models write, and 3,000 on each of 33 steps; and some at an answer's beginning: some models repeat themselves.
MAX_REPLY, MAX_ANSWER, MAX_HEAD = 1_000_000, 100_000, 25_000

_WORD = r"(?:[a-z]{1,16}[:_])?(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad)"
_OPEN = re.compile(
    rf"""[<\[◁] (?: (?<=<)\|?{_WORD}\|?> | (?<=\[)THINK(?:ING)?\] | (?<=◁){_WORD}▷
                  | (?<=<)\|(?:begin_of_|start_)(?:thought|thinking|reasoning)\|> | (?<=<)unused94>thought
                  | (?<=<)\|channel\|>\s{{0,4}}(?:analysis|commentary)[^<]{{0,64}}<\|message\|> )""",
    re.VERBOSE | re.IGNORECASE,
)
_CLOSE = re.compile(
    rf"""[<\[◁] (?: (?<=<)(?:/\|?|\|/){_WORD}\|?> | (?<=\[)/THINK(?:ING)?\] | (?<=◁)/{_WORD}▷
                  | (?<=<)\|end_(?:of_)?(?:thought|thinking|reasoning)\|> | (?<=<)unused95>
                  | (?<=<)\|channel\|>\s{{0,4}}final[^<]{{0,64}}<\|message\|> ) | assistantfinal""",
    re.VERBOSE | re.IGNORECASE,
)
_FIRST = re.compile(rf"\s{{0,9}}(?:{_OPEN.pattern} | (?-i:analysis(?=[A-Z])))", re.VERBOSE | re.IGNORECASE)


@dataclass(frozen=True)
class Answered:
    """The part of a reply that is its answer, and the brackets in it."""

    text: str
    groups: list[Group]
    unfinished: bool  # the reply ended while thinking
    unread: bool = False  # there are brackets in the middle of a long answer that are none of those that were read


def set_apart(reply: str) -> Answered:
    """Answer of a reply: the text after the last closing tag, up to a thinking block that is never closed.

    A tag in a string of a valid JSON object is something that the model mentions, no end or beginning of thinking.
    """
    thinking_first = _FIRST.match(reply) is not None
    reply = reply[-MAX_REPLY:]
    cut = max(0, len(reply) - MAX_ANSWER)
    begin = _end_of_thoughts(reply, cut, thinking_first)
    if (begin is None and thinking_first) or _OPEN.search(reply, begin or 0, cut):
        return Answered("", [], unfinished=True)
    text = reply[max(begin or 0, cut) :]
    groups = read(text)
    position = 0
    while tag := _OPEN.search(text, position):
        around = _around(text, groups, tag.start())
        if around is None:
            return Answered(text[: tag.start()], [g for g in groups if g.end <= tag.start()], unfinished=True)
        position = around.end
    if (begin or 0) >= cut:
        return Answered(text, groups, unfinished=False)
    # Of a long answer, the last part and the first are read.
    before = reply[begin or 0 : cut]
    head = before[:MAX_HEAD]
    for group in groups:
        group.start += len(head)
        group.end += len(head)
    pieces = before.split("}")
    seen = {*head.split("}")[:-1], *text.split("}")}
    unread = any("{" in piece and piece not in seen for piece in pieces[:-1])
    return Answered(head + text, [group for group in read(head) if group.closed] + groups, False, unread)


def _end_of_thoughts(reply: str, cut: int, thinking_first: bool) -> int | None:
    """End of the last closing tag that is no mention; mentions are looked for from ``cut`` on."""
    spans = [tag.span() for tag in _CLOSE.finditer(reply)]
    if not spans:
        return None
    if thinking_first:
        cut = max(cut, spans[0][1])
    text = reply[cut:]
    groups = read(text)
    mention = len(reply)
    for start, end in reversed(spans):
        if start >= mention:
            continue
        around = _around(text, groups, start - cut)
        if around is None:
            return end
        mention = cut + around.start
    return None


def _around(text: str, groups: list[Group], position: int) -> Group | None:
    """The valid JSON object that ``position`` lies in, or None.

    Validity is the proof: thoughts that break off inside a string never make valid JSON with the answer after them.
    """
    index = bisect_left(groups, position, key=lambda group: group.start) - 1
    if index < 0 or not groups[index].closed or position >= groups[index].end:
        return None
    try:
        json.loads(text[groups[index].start : groups[index].end], strict=False)
    except (ValueError, RecursionError):
        return None
    return groups[index]


_ENDS = re.compile(
    r"""<\|(?:im_start|im_end|eot_id|eom_id|start_header_id|endoftext|end_of_text|user|assistant|return|eos)\|>
      | <\|(?:START|END)_OF_TURN_TOKEN\|> | <｜[^<>｜]{1,24}｜> | </s> | <(?:start|end)_of_turn> | <eos> | \[/?INST\]
      | \[UNUSED_TOKEN_14[56]\]
      | ^[ \t]* (?:\#{1,4}[ \t]*)? \**
        (?: (?:USER|User|HUMAN|Human|ASSISTANT|Assistant|用户|助手)\** [ \t]* [:：]
          | (?<=\#[ ])(?:Instruction|User|Human|Input|Response)\b )""",
    re.VERBOSE | re.MULTILINE,
)
"""End of the model's turn: its family's special tokens, or a line on which another speaks."""

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
    bracket = reply.find("{", begin)
    tags: list[tuple[int, bool]] | None = None
    for mark in _ENDS.finditer(reply, begin):
        if mark[0][0] in "<[":
            return reply[begin : mark.start()]
        if tags is None:
            opens = ((tag.start(), True) for tag in _OPEN.finditer(reply))
            tags = sorted([*opens, *((tag.start(), False) for tag in _CLOSE.finditer(reply))])
        place = bisect_left(tags, (mark.start(), False))
        thinking = tags[place - 1][1] if place else bool(tags) and not tags[0][1]
        if not thinking:
            return reply[begin : mark.start()]
        if not place and 0 <= bracket < mark.start():
            # These are thoughts whose opening tag the chat template wrote, or those of a later turn.
            return ""
    return reply[begin:]
