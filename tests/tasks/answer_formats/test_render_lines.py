"""Abstention and evidence in words, from numbers written here."""

from __future__ import annotations

from typing import Any

from siming_tasks.tasks import ANSWER_FORMATS


def number(value: float | None) -> dict[str, Any]:
    return {"value": value}


def test_lines_on_abstention() -> None:
    values = {"headline": 0.5338, "gain": -0.0171, "precision": 1, "recall": None, "abstained": 0.515, "area": 0.0537}
    assert ANSWER_FORMATS["abstain"].render_lines(
        "x", {"abstention": {name: number(value) for name, value in values.items()}}
    ) == [
        "x: 52 % called not visible (precision 1.000, recall -); AURC 0.054",
        "  at full coverage, with the step prior for these: 0.534, -0.017 over the step prior",
    ]


def test_lines_on_evidence() -> None:
    chance = {"random": {"iou": number(0.047), "hit": number(0.062)}, "prior": {"iou": number(None), "hit": number(0)}}
    values = {"claimed": 0.9, "iou": 0.25, "hit": 0.5, "elsewhere": 0.04, "elsewhere_wrong": None}
    metrics = {"chance": chance, **{name: number(value) for name, value in values.items()}}
    assert ANSWER_FORMATS["evidence"].render_lines("x", {"evidence": metrics}) == [
        "x: seconds named for 90 % of the answers",
        "  temporal IoU 0.250 (by chance: random 0.047, prior -)",
        "  pointed into the step 0.500 (by chance: random 0.062, prior 0.000)",
        "  rest on other seconds than the step's: 4 % of the right answers, - of the wrong",
    ]
    assert ANSWER_FORMATS["evidence"].render_lines("x", {"evidence": {**metrics, "iou": number(None)}}) == [
        "x: seconds named for 90 % of the answers"
    ]


def test_lines_on_named_errors() -> None:
    values = {"listed": 0.9, "reasoned": 1.0, "f1": 0.5, "precision": 0.6, "recall": 0.4286}
    numbers = {name: number(value) for name, value in values.items()}
    assert ANSWER_FORMATS["named_errors"].render_lines("x", {"named_errors": numbers}) == [
        "x: errors listed for 90 % of the answers, a reason for 100 %",
        "  F1 of the named errors 0.500 (precision 0.600, recall 0.429)",
    ]
    row = {"f1": number(0.4), "macro_f1": number(0.3)}
    kind = {"stated": 3, "named": 2, "both": 1, "f1": number(0.4)}
    more = {"macro_f1": number(0.45), "kappa": number(0.2), "reason_kappa": number(None), "unlisted": 2}
    full = {**numbers, **more, "kinds": {"slip": kind}, "baselines": {"none": row, "every": row}}
    assert ANSWER_FORMATS["named_errors"].render_lines("x", {"named_errors": full})[2:] == [
        "  mean F1 of the kinds 0.450; kappa of the kinds: all steps 0.200, steps to which both give an error -",
        "    slip: F1 0.400 (3 in the labels, 2 named, 1 both)",
        "  left out: 2 steps whose labels state an error that the rubric does not list",
        "  without the video, F1 of naming: none 0.400 (mean of kinds 0.300), every 0.400 (mean of kinds 0.300)",
    ]
    numbers["f1"] = {"value": None, "reason": "No labels."}
    assert ANSWER_FORMATS["named_errors"].render_lines("x", {"named_errors": numbers})[1:] == [
        "  agreement of the named errors has no value: No labels."
    ]


def test_results_without_those_of_a_format_have_no_lines() -> None:
    assert [form.render_lines("x", {}) for form in ANSWER_FORMATS.values()] == [[]] * len(ANSWER_FORMATS)
