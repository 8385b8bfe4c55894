"""Two readers on the written replies: right, missing and wrong ones.

    python utils/compare_readers.py

* *siming*: :func:`siming_tasks.benchmark.parsing.parse_reply`.
* *json-repair*: the text from the first brace to the last, repaired by json-repair and looked up by step id; the last
  number or verdict of what stands there, if it is on the step's scale.

Prints a Markdown table.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import json_repair

from siming_tasks.benchmark.parsing import parse_reply
from siming_tasks.benchmark.rubrics import RubricStep

TESTS = Path(__file__).parents[1] / "tests" / "benchmark" / "parsing"
sys.path.insert(0, str(TESTS))
from replyset import Reply, replies, verdict_on  # noqa: E402

NUMBER = re.compile(r"(-?[$0-9.,]{2,})|(-?[0-9]+)")  # lm-evaluation-harness, gsm8k.yaml, flexible-extract
WORD = re.compile(r"incorrect|correct", re.IGNORECASE)


def value_of(text: Any, step: RubricStep, answer: str) -> float | None:
    """The last number or verdict of a text, if it is on the step's scale."""
    found = [match[0] for match in (NUMBER if answer == "score" else WORD).finditer(str(text))]
    if not found:
        return None
    if answer == "error":
        return float(found[-1].lower() == "incorrect")
    try:
        number = float(found[-1].strip("$,.").replace(",", ""))
    except ValueError:
        return None
    return number if 0 <= number <= step.max_score else None


def repaired(reply: Reply) -> dict[str, float]:
    """The answers of json-repair's object, looked up by step."""
    begin, end = reply.text.find("{"), reply.text.rfind("}")
    whole = json_repair.loads(reply.text[begin : end + 1]) if 0 <= begin < end else None
    whole = whole[-1] if isinstance(whole, list) and whole else whole
    answers = {}
    for step in reply.steps:
        value = whole
        for key in ("scores", "verdicts", step.id, "score", "verdict"):
            value = value[key] if isinstance(value, dict) and key in value else value
        answers[step.id] = None if isinstance(value, dict | list) else value_of(value, step, reply.answer)
    return {name: value for name, value in answers.items() if value is not None}


READERS: dict[str, Callable[[Reply], dict[str, float]]] = {
    "siming": lambda reply: dict(parse_reply(reply.text, reply.steps, reply.answer).answers),
    "json-repair": repaired,
}


def main() -> None:
    """Print the table: right / missing / wrong by kind and reader."""
    print(f"| replies | {' | '.join(READERS)} |\n|---|{'---|' * len(READERS)}")
    for kind in ("natural", "trap"):
        several = list(replies(kind))
        counts = [Counter(verdict_on(reply, read(reply)) for reply in several) for read in READERS.values()]
        cells = (" / ".join(str(count[verdict]) for verdict in ("right", "missing", "wrong")) for count in counts)
        print(f"| {len(several)} {kind} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
