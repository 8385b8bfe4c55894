"""Numbers with a noun: one function writes them, so that no sentence says "1 videos"."""

import re
from pathlib import Path

import pytest

from siming_tasks.common.printed_value import counted
from siming_tasks.study.words import WORDS

pytestmark = pytest.mark.fast
PACKAGE = Path(__file__).parents[2] / "siming_tasks"
NOUNS = (
    "archive|attempt|cell|character|clip|cluster|error|exam|file|fold|frame|judge|line|model|packet|pair|picture|point|problem|"
    "question|rater|recording|replie|repeat|request|row|run|setting|site|skill|span|step|student|submission|test|video"
)
NUMBER = re.compile(rf"(?<!of )(?<!at most )(?<!more than )\{{[^{{}}]*:,\}} ((?!of )\w+ )?({NOUNS})s\b(?!; the rest)")
"""A number for people, formatted with its separators; the limits among them are never 1."""


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [(1, "exam", "1 exam"), (2, "exam", "2 exams"), (0, "reply", "0 replies"), (1, "reply", "1 reply"),
     (12345, "SYNTHETIC exam", "12,345 SYNTHETIC exams"), (1.0, "point", "1 point"), (0.5, "point", "0.5 points")],
)  # fmt: skip
def test_a_noun_agrees_with_its_number(number: float, noun: str, said: str) -> None:
    assert counted(number, noun) == said


def test_no_sentence_writes_a_number_before_a_plural_by_itself() -> None:
    sources = [*(path.read_text() for path in sorted(PACKAGE.rglob("*.py"))), "\n".join(WORDS.values())]
    assert [line.strip() for text in sources for line in text.splitlines() if NUMBER.search(line)] == []
