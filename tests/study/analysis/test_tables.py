"""Texts of tables: every number has a head, every caption is one sentence that names its reference, nothing is NaN."""

import json
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from siming_tasks.benchmark.metrics import ScoreMatrix
from siming_tasks.benchmark.metrics.estimate import Rows
from siming_tasks.study.analysis import tables
from siming_tasks.study.analysis.disputed import disputed_steps
from siming_tasks.study.analysis.groups import groups
from siming_tasks.study.analysis.history import history
from siming_tasks.study.analysis.inputs import changed_input
from siming_tasks.study.analysis.paper_claims import full_video_and_clip, points_and_verdicts, totals_and_steps
from siming_tasks.study.analysis.pass_decisions import pass_decisions
from siming_tasks.study.analysis.repeats import repeats
from siming_tasks.study.analysis.sequence import sequential_credit
from siming_tasks.study.analysis.severity import severity
from siming_tasks.study.analysis.steps import steps
from tests.study.analysis.exams import drawn, rubric

NONE = np.full((12, 4), np.nan)
CASES: dict[str, Callable[[ScoreMatrix], ScoreMatrix]] = {
    "plain": lambda matrix: matrix,
    "one video": lambda matrix: matrix.videos([0]),
    "all missing": lambda matrix: matrix.predicting(NONE),
    "no reference": lambda matrix: replace(matrix, reference=NONE),
    "one class": lambda matrix: replace(matrix, reference=np.broadcast_to(matrix.max_score, NONE.shape)),
    "one step": lambda matrix: matrix.subset(["s00"]),
}


@pytest.mark.parametrize("answer", ["score", "error"])
@pytest.mark.parametrize("case", CASES)
def test_every_number_has_a_head_and_every_absence_a_reason(answer, case):
    matrix = CASES[case](drawn(np.random.default_rng(0), 12, 4, answer=answer))
    book = rubric(4, scopes=["history"] + ["local"] * 3, requires={1: [0]}, critical=(0,), heard=(0,))
    raters = {"a": matrix.reference, "b": np.round(matrix.reference / 2)}
    said = np.where(np.isnan(matrix.predicted), np.nan, matrix.predicted_wrong)
    verdicts = matrix if answer == "error" else replace(matrix, answer="error", predicted=said)
    found: Rows = Rows()
    for given in ({}, raters):
        found += steps(matrix, given) + severity(matrix, given) + history(matrix, book, given)
        found += pass_decisions(matrix, book, given) + disputed_steps(matrix, given) + sequential_credit(matrix)
    found += totals_and_steps(matrix) + full_video_and_clip(matrix, matrix) + repeats([matrix, matrix])
    found += points_and_verdicts(matrix, verdicts) if answer == "score" else ()
    found += groups(matrix, {"site": {name: "ab"[place % 2] for place, name in enumerate(matrix.video_ids)}})
    for table in ("ablations", "sound"):
        found += changed_input(table, "x", matrix, matrix, book)
    texts = tables.table_texts()
    for each in found:
        assert each.metric in texts[each.table].heads, each
        assert each.value is not None or each.why, each
        assert each.low is not None or each.why, each
        assert each.p is None or each.low is not None or each.why == "no-variation"
        assert each.low is None or each.low <= each.value <= each.high
    json.dumps(found.to_json(), allow_nan=False)


def test_captions_are_sentences_that_name_the_reference_and_no_name_is_taken_twice():
    rooms = [import_module(f"siming_tasks.study.analysis.{module}") for module in tables.MODULES]
    assert sum(len(room.TABLES) for room in rooms) == len(tables.table_texts())
    for name, text in tables.table_texts().items():
        assert "{reference}" in text.caption or "physician" in name or "raters" in name or name == "severity", name
        assert text.sentence("rater b").endswith(".") and "{" not in text.sentence("rater b")
