"""Where the reference points come from."""

from __future__ import annotations

from typing import Any

import pytest

from siming_tasks.common.schema import Rater
from siming_tasks.tools.builder.build_plan import decide, rater_names
from siming_tasks.tools.builder.label_rows import LabelRow


def row(scores: dict[str, float], **more: Any) -> LabelRow:
    return LabelRow("v1", "cpr_01", "sheet.csv", (2,), scores=scores, **more)


@pytest.mark.parametrize(
    ("scores", "rule", "expected", "origin"),
    [
        ({"consensus": 1.0, "a": 2.0, "b": 0.0}, "agree", 1.0, "given"),
        ({"a": 2.0, "b": 2.0}, "agree", 2.0, "raters agree"),
        ({"a": 2.0, "b": 2.0, "c": 2.0}, "mean", 2.0, "raters agree"),
        ({"a": 2.0, "b": 1.0}, "mean", 1.5, "mean of raters"),
        ({"a": 2.0}, "mean", 2.0, "mean of raters"),
        ({"a": 2.0, "b": 1.0}, "b", 1.0, "points of b"),
        ({"a": 2.0}, "a", 2.0, "points of a"),
    ],
)
def test_consensus_rules_decide_as_calculated_by_hand(
    scores: dict[str, float], rule: str, expected: float, origin: str
) -> None:
    decision = decide([row(scores)], rule)
    assert decision.scores["v1", "cpr_01"] == {**scores, "consensus": expected}
    assert (decision.origins, decision.problems, decision.open) == ({origin: 1}, (), ())


@pytest.mark.parametrize(
    ("scores", "rule", "code", "message"),
    [
        ({"a": 2.0, "b": 1.0}, "agree", "consensus-open", "the raters differ (a 2, b 1). Add a row of consensus"),
        (
            {"a": 2.0},
            "agree",
            "consensus-missing",
            "only one rater gave points (a 2). Add a row of consensus, or --consensus a.",
        ),
        ({"a": 2.0}, "b", "consensus-missing", "no points of 'b' (a 2)."),
        ({}, "mean", "label-missing", "no rater gave points."),
    ],
)
def test_undecided_steps_are_listed(scores: dict[str, float], rule: str, code: str, message: str) -> None:
    undecided = row(scores)
    decision = decide([undecided, row({"a": 1.0, "b": 1.0})], rule)
    assert [problem.code for problem in decision.problems] == [code]
    assert message in str(decision.problems[0])
    assert str(decision.problems[0]).startswith("sheet.csv:2: ")
    assert decision.open == (undecided,)


def test_no_points_at_all_are_withheld_labels() -> None:
    decision = decide([row({}), row({}, applicable=False)])
    assert decision.problems == ()
    assert decision.scores == {("v1", "cpr_01"): {"consensus": None}}
    assert decision.origins == {"withheld": 1}


FACTS = {"manikin": Rater("instrument"), "timing": Rater("rule")}


@pytest.mark.parametrize(
    ("scores", "rule", "expected", "origin"),
    [
        ({"a": 2.0, "b": 2.0, "manikin": 0.0}, "agree", 2.0, "raters agree"),
        ({"a": 2.0, "b": 1.0, "manikin": 0.0}, "mean", 1.5, "mean of raters"),
        ({"a": 2.0, "manikin": 0.0}, "manikin", 0.0, "points of manikin"),
    ],
)
def test_an_instrument_has_no_voice_in_a_consensus_unless_it_is_named(
    scores: dict[str, float], rule: str, expected: float, origin: str
) -> None:
    decision = decide([row(scores)], rule, FACTS)
    assert decision.scores["v1", "cpr_01"] == {**scores, "consensus": expected}
    assert decision.origins == {origin: 1}


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"a": 2.0, "manikin": 2.0}, "only one rater gave points (a 2, manikin 2). Add a row of consensus, or --co"),
        (
            {"manikin": 2.0, "timing": 2.0},
            "no person gave points (manikin 2, timing 2). Add a row of consensus, or --co",
        ),
    ],
)
def test_a_person_and_an_instrument_that_agree_are_no_two_raters(scores: dict[str, float], message: str) -> None:
    assert message in str(decide([row(scores)], "agree", FACTS).problems[0])


def test_instruments_keep_their_names_and_persons_do_not() -> None:
    given = row({"Li": 2.0, "manikin": 2.0, "Wang": 1.0})
    assert rater_names([given], facts=FACTS) == {"Li": "rater_a", "manikin": "manikin", "Wang": "rater_b"}
