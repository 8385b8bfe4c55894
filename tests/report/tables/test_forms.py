"""Abstention and evidence in words, from numbers written here."""

from __future__ import annotations

from typing import Any

from siming_tasks.report.tables.forms import form_lines


def number(value: float | None) -> dict[str, Any]:
    return {"value": value}


def test_abstention() -> None:
    values = {"headline": 0.5338, "gain": -0.0171, "precision": 1, "recall": None, "abstained": 0.515, "area": 0.0537}
    assert form_lines("x", {"abstention": {name: number(value) for name, value in values.items()}}) == [
        "x: 52 % called not visible (precision 1.000, recall -); AURC 0.054",
        "  at full coverage, with the step prior for these: 0.534, -0.017 over the step prior",
    ]


def test_evidence() -> None:
    chance = {"random": {"iou": number(0.047), "hit": number(0.062)}, "prior": {"iou": number(None), "hit": number(0)}}
    values = {"claimed": 0.9, "iou": 0.25, "hit": 0.5, "elsewhere": 0.04, "elsewhere_wrong": None}
    found = {"chance": chance, **{name: number(value) for name, value in values.items()}}
    assert form_lines("x", {"evidence": found}) == [
        "x: seconds named for 90 % of the answers",
        "  temporal IoU 0.250 (by chance: random 0.047, prior -)",
        "  pointed into the step 0.500 (by chance: random 0.062, prior 0.000)",
        "  rest on other seconds than the step's: 4 % of the right answers, - of the wrong",
    ]
    assert form_lines("x", {"evidence": {**found, "iou": number(None)}}) == ["x: seconds named for 90 % of the answers"]
    assert form_lines("x", {}) == []
