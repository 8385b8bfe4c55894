"""Values measured in a step's span, and the points that the rubric's facts make of them.

A fact of a rubric that an instrument can decide says what is measured, within which bounds the step is well done, and
which of the step's errors was made if it is not::

    facts:
      - {measure: rate, within: [100, 120], error: slightly_out, value: 100-120/min, source: AHA_DOS}
      - {measure: depth, within: [50, null], share: 0.9, error: some_shallow, source: AHA_DOS}

With ``share`` the bounds are for each compression, and that share of them must lie within. Of the facts about one
measure the one whose error costs most counts. A step loses the points of the errors that were measured and of no
others: what a sensor cannot tell (counting aloud, where the hands are) costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from siming_tasks.common.errors import RubricError
from siming_tasks.common.files import read_yaml
from siming_tasks.rubrics import DEFAULT_ID, Rubric, RubricStep
from siming_tasks.tools.instruments.exports import Compressions

PAUSE = 2.0
"""Seconds between two compressions from which on nobody compresses (https://github.com/rsh52/CPR-Report-Card-App)."""
EACH = ("depth", "release")
"""Measures that every compression has, in millimetres."""
MEASURES: Mapping[str, str] = {
    "count": "compressions in the span",
    "rate": "compressions a minute while somebody compresses: 60 / mean interval shorter than a pause",
    "unevenness": "standard deviation of those intervals, in ratio to their mean",
    "pause": "longest interval between two compressions, seconds",
    "fraction": "share of the span's seconds in which somebody compresses (compression fraction)",
    "depth": "depth, millimetres: the mean, or with `share` of each compression",
    "release": "millimetres that the chest stays pressed in: the mean, or with `share` after each compression",
}
"""Everything that is measured in a span, by the word of a fact's ``measure``."""

NO_COMPRESSION = "no compression"


class MeasuredFact(BaseModel):
    """A fact of a rubric step that an instrument can decide; further keys (``value``, ``source``) are for readers."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    measure: str
    within: tuple[float | None, float | None]
    share: float | None = Field(default=None, gt=0, le=1)
    error: str


@dataclass(frozen=True)
class Measured:
    """Values of one span by measure (:data:`MEASURES`); None: not measured, or fewer than two compressions."""

    values: Mapping[str, float | None]
    each: Mapping[str, Sequence[float]]

    def holds(self, fact: MeasuredFact) -> bool | None:
        """True if the measured values lie within a fact's bounds; None if they were not measured."""
        low, high = (
            edge if edge is not None else sign * np.inf for edge, sign in zip(fact.within, (-1, 1), strict=True)
        )
        if fact.share is None:
            value = self.values[fact.measure]
            return None if value is None else bool(low <= value <= high)
        values = np.array(self.each[fact.measure])
        values = values[~np.isnan(values)]
        return bool(((values >= low) & (values <= high)).mean() >= fact.share) if len(values) else None


@dataclass(frozen=True)
class Judgement:
    """Points of an instrument and the errors that they follow from; no points and ``why`` where it cannot tell."""

    points: float | None
    errors: tuple[str, ...] = ()
    why: str = ""


def measure(compressions: Compressions, start: float, end: float) -> Measured:
    """Measured values of the compressions from ``start`` to ``end`` seconds of the video."""
    inside = (compressions.time >= start) & (compressions.time < end)
    each = {"depth": compressions.depth[inside], "release": compressions.release[inside]}
    between = np.diff(compressions.time[inside])
    working = between[between < PAUSE]
    values: dict[str, float | None] = {
        "count": float(inside.sum()),
        "rate": 60 / working.mean() if len(working) else None,
        "unevenness": working.std() / working.mean() if len(working) > 1 else None,
        "pause": between.max() if len(between) else None,
        "fraction": working.sum() / (end - start),
        **{name: float(np.nanmean(column)) if np.isfinite(column).any() else None for name, column in each.items()},
    }
    rounded = {name: None if value is None else round(float(value), 4) for name, value in values.items()}
    return Measured(rounded, {name: column.tolist() for name, column in each.items()})


def judge(step: RubricStep, facts: Sequence[MeasuredFact], measured: Measured) -> Judgement:
    """Points of a step from what was measured in its span; see the module's text for the rule."""
    if not measured.values["count"]:
        omitted = [error.id for error in step.errors if error.name == "omitted"]
        return Judgement(0.0, tuple(omitted), NO_COMPRESSION)
    dearest: dict[str, tuple[float, str]] = {}
    for fact in facts:
        held = measured.holds(fact)
        if held is None:
            return Judgement(None, why=f"{fact.measure} was not measured")
        if not held:
            error = step.error(fact.error)
            dearest[fact.measure] = max(dearest.get(fact.measure, (0.0, "")), (error.deduct, error.id))
    lost = sum(cost for cost, _ in dearest.values())
    return Judgement(max(0.0, step.max_score - lost), tuple(name for _, name in dearest.values()))


def measured_facts(rubric: Rubric) -> dict[str, tuple[MeasuredFact, ...]]:
    """The facts of a rubric that an instrument can decide, by step; those of the embedded rubric stand beside it.

    Raises:
        RubricError: there are none, or one names an unknown measure or an error that its step lacks.
    """
    stated = {step.id: [fact for fact in step.facts if "measure" in fact] for step in rubric.steps}
    if not any(stated.values()) and rubric.rubric_id == DEFAULT_ID:
        with resources.as_file(resources.files("siming_tasks.rubrics") / "measured.yaml") as path:
            stated = read_yaml(Path(path))
    facts = {name: tuple(_fact(rubric.by_id[name], fact) for fact in own)
             for name, own in stated.items() if own and name in rubric.by_id}  # fmt: skip
    if not facts:
        raise RubricError(
            f"rubric {rubric.rubric_id}: no step has a fact that an instrument can decide. Write one below `facts` of "
            "the step, such as `{measure: rate, within: [100, 120], error: slightly_out}`."
        )
    return facts


def _fact(step: RubricStep, stated: Mapping[str, Any]) -> MeasuredFact:
    where = f"step {step.id}, fact {stated.get('measure')!r}"
    try:
        fact = MeasuredFact.model_validate(stated)
        step.error(fact.error)
    except ValidationError as error:
        what = error.errors(include_url=False)[0]
        raise RubricError(f"{where}: {'.'.join(map(str, what['loc']))}: {what['msg']}.") from None
    except KeyError:
        names = ", ".join(error.name for error in step.errors)
        raise RubricError(f"{where}: the step has no error {stated['error']!r}; it has {names}.") from None
    if fact.measure not in MEASURES or (fact.share is not None and fact.measure not in EACH):
        known = ", ".join(EACH if fact.measure in MEASURES else MEASURES)
        raise RubricError(f"{where}: not measured{' of each compression' * bool(fact.share)}; there are {known}.")
    return fact
