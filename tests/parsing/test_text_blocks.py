"""What a reply says of the whole, or of a step that nobody asked about, is not read into the step before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from siming_tasks import rubrics
from siming_tasks.common.schema import Answer
from siming_tasks.parsing.steps import StepNames
from siming_tasks.parsing.text_answers import read_text
from siming_tasks.rubrics import load_rubric


@pytest.mark.parametrize(
    ("answer", "reply", "expected"),
    [
        ("error", "cpr_02: correct\ncpr_03: correct\n\nOverall verdict: incorrect", {"cpr_02": 0.0, "cpr_03": 0.0}),
        ("error", "### cpr_03\nVerdict: correct\n### Conclusion\nIncorrect", {"cpr_03": 0.0}),
        ("score", "- cpr_03: 3\n\nOverall score: 2", {"cpr_03": 3.0}),
        ("score", "### cpr_03\nScore: 3\n\n### Overall\nScore: 1", {"cpr_03": 3.0}),
        ("score", "**cpr_03**\nScore: 3\n---\nFinal score: 2", {"cpr_03": 3.0}),
        ("score", "### cpr_03\nNot seen.\n\n### cpr_12 Compression rate\nScore: 2", {}),
        ("score", "### cpr_03\n#### Score\n3", {"cpr_03": 3.0}),
    ],
)
def test_a_block_ends_where_another_matter_begins(answer: Answer, reply: str, expected: dict[str, float]) -> None:
    rubric = load_rubric(Path(rubrics.__file__).with_name("default.yaml"))
    steps = [rubric.by_id[step] for step in ("cpr_02", "cpr_03")]
    assert read_text(reply, StepNames(steps), answer) == expected
