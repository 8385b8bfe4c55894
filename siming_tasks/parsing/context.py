"""The words around a bracket: part of what is accepted as an answer, see :mod:`siming_tasks.parsing.grammar`."""

from __future__ import annotations

import re

from siming_tasks.parsing.grammar import FAMILIES

__all__ = ["AFTERWARDS", "ENDS", "LABELS", "NAMED_TOP", "SHORT_LABEL"]

ENDS = re.compile(
    r"""<\|(?:im_start|im_end|eot_id|eom_id|start_header_id|endoftext|end_of_text|user|assistant|return|eos)\|>
      | <\|(?:START|END)_OF_TURN_TOKEN\|> | <｜[^<>｜]{1,24}｜> | </s> | <(?:start|end)_of_turn> | <eos> | \[/?INST\]
      | \[UNUSED_TOKEN_14[56]\]
      | ^[ \t]* (?:\#{1,4}[ \t]*)? \**
        (?: (?:USER|User|HUMAN|Human|ASSISTANT|Assistant|用户|助手)\** [ \t]* [:：]
          | (?<=\#[ ])(?:Instruction|User|Human|Input|Response)\b )""",
    re.VERBOSE | re.MULTILINE,
)
"""End of the model's turn: its family's special tokens, or a line on which another speaks."""

_QUANTITY = "|".join(
    sorted(word for family in FAMILIES[:5] for word in family.words if word not in ("full", "out", "available"))
)
LABELS = (
    (
        "aside",
        "an example or a form: never an answer",
        re.compile(
            r"\b(?:examples?|e\.g|for instance|templates?|placeholders?|samples?|hypothetical|illustrat\w*|schema)\b"
            r"|\b(?:opposite|inverse|each step is worth|points? (?:lost|deducted)|number of)\b"
            r"|\b(?:max|maximum|possible|available|full) (?:points?|scores?|marks?)\b"
            r"|\blooks? like\b|示例|样例|例如|比如|模板|参考.{0,6}格式"
        ),
    ),
    (
        "aside",
        "not, if, instead of, or",
        re.compile(
            r"(?:\b(?:not|never|than|instead of|unlike|if|unless|from|versus|vs)|n't)\W+(?:\w+\W+){0,2}$"
            r"|(?:不是|而非|如果)\W*$"
        ),
    ),
    (
        "draft",
        "counts only until it is replaced: alone it is ambiguous",
        re.compile(
            r"\b(?:draft|initial|initially|preliminary|tentative|at first|first impression|could|might|may be|perhaps"
            r"|either|possibly|if|else|otherwise|whether)\b|\bwould be\W*$|^\W*or\W*$|初步|草稿|最初|起初|可能"
        ),
    ),
    (
        "revision",
        "replaces what was said before",
        re.compile(
            r"\b(?:final|finally|correct(?:ed|ion)|revised|revision|updated?|reconsider\w*|reflection|actually|amended"
            r"|adjusted|after review\w*|now all)\b|最终|修正|更正|改为|重新|修改后"
        ),
    ),
)
"""Roles of a bracket by the words before it (its line, or the line that introduces it); the first that fits counts."""

SHORT_LABEL = re.compile(
    rf"\b(?:{_QUANTITY})\b|(?<!in )\b(?:output |answer |response )?format\b|满分|扣|时间|帧|权重|格式"
)
"""In a label of up to five words: another quantity, or the form of an answer."""

NAMED_TOP = re.compile(
    r"(?:\bout of|/|\bmax(?:imum)?\b(?: is| of)?:?|满分|\b0 ?(?:-|–|to)|\b1 ?(?:-|–|to)|至|到)"
    r" ?(?P<top>[0-9]{1,4}(?:\.5)?)(?![0-9.]| ?%)"
)
"""A maximum in the words around a bracket: if it is no asked step's, the bracket is a draft."""

AFTERWARDS = re.compile(
    r"[\s`*.,，。]{0,4}(?:[(（]\s*(?:max|possible|deduct|lost|example|format|满分|扣|示例)"
    r"|(?:where|with|each|the) [^.:]{0,40}\b(?:lost|deducted|deductions?|maximum)\b)|[\s`*.,，。]{0,4}"
    r"(?:(?:would|could|might|if|unless|or|seems?|或|如果|表示|代表)\b|is (?:the|an?|too) |(?:would|could)n't\b)"
)
"""Words right after a bracket that make it a draft."""
