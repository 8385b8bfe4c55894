"""The reader's tables as text. ``python tests/parsing/grammar_docs.py`` writes them into docs/reference/parsing.md."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

from siming_tasks.parsing.bracket_roles import LABELS
from siming_tasks.parsing.grammar import ANYWHERE, DENIED, FAMILIES, NEGATIONS, NEUTRAL, STATED
from siming_tasks.parsing.lexicon import CORRECT, ERROR, INCORRECT, NO, NO_VALUE, NUMBER_FORMS, SYMBOLS, YES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "parsing.md"
BLOCK = re.compile(r"(?<=<!-- grammar -->\n```text\n).*?(?=```\n<!-- /grammar -->)", re.DOTALL)
_YES = {STATED: "correct", DENIED: "incorrect", NEUTRAL: "ambiguous", None: "as under the key outside"}


def _line(title: str, text: str) -> str:
    return textwrap.fill(
        text,
        118,
        initial_indent=f"  {title + ':':13}",
        subsequent_indent=" " * 15,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _words(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))


def grammar() -> str:
    """The tables, in the order in which they are tried."""
    lines = ["KEYS"]
    for family in FAMILIES:
        holds = " and ".join({"score": "points", "error": "verdicts"}[kind] for kind in family.holds.split())
        lines += ["", f"{family.name}: {family.says}", _line("words", _words(family.words))]
        lines.append(_line("beside them", "any" if family.with_ is None else _words(family.with_) or "none"))
        if family.chinese != r"(?!)":
            lines.append(f"  {'Chinese:':13}{family.chinese}")
        if family.answers("error"):
            lines.append(_line("yes", _YES[family.polarity]))
        if holds:
            lines.append(_line("may hold", holds))
    lines += ["", _line("everywhere", _words(ANYWHERE)), _line("turned by", _words(NEGATIONS)), "", "VALUES", ""]
    for title, words in (
        ("correct", CORRECT),
        ("incorrect", INCORRECT),
        ("error", ERROR),
        ("yes", YES),
        ("no", NO),
        ("no value", NO_VALUE - {""}),
        ("signs", [f"{sign} {'in' * int(wrong)}correct" for sign, wrong in SYMBOLS.items()]),
    ):
        lines.append(_line(title, _words(words)))
    lines += [
        _line("2 points of m", "; ".join(form.format(m="m") for form in NUMBER_FORMS)),
        "",
        "WORDS BEFORE A BRACKET",
    ]
    for role, says, pattern in LABELS:
        lines += ["", f"{role}: {says}", f"  {pattern.pattern}"]
    return "\n".join(line.rstrip() for line in lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(BLOCK.sub(lambda _: grammar(), PAGE.read_text("utf-8")), "utf-8")
