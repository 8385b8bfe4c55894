"""The metrics of tasks with another form of the reply: those of the kind of answer, and what the form adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from siming_tasks.plugin.hooks.run_context import RUN, Item, records_of
from siming_tasks.results.format_results import form_results
from siming_tasks.tasks import TASKS, TaskSpec

__all__ = ["added_by", "form_aggregator"]


class _Column(NamedTuple):
    """Where a number stands in what :func:`siming_tasks.results.format_results.form_results` says."""

    part: str
    key: str
    higher_is_better: bool


_COLUMNS: Mapping[str, _Column] = {
    "abstained": _Column("abstention", "abstained", False),
    "aurc": _Column("abstention", "area", False),
    "headline_full": _Column("abstention", "headline", True),
    "headline_gain": _Column("abstention", "gain", True),
    "evidence": _Column("evidence", "claimed", True),
    "evidence_iou": _Column("evidence", "iou", True),
    "evidence_hit": _Column("evidence", "hit", True),
    "wrong_reason": _Column("evidence", "elsewhere", False),
}
"""By the name in the printed table."""


def added_by(setting: TaskSpec) -> Mapping[str, bool]:
    """Names of the metrics that a setting's form of the reply adds, and whether more of them is better."""
    part = "abstention" if setting.abstain else "evidence" if setting.evidence else None
    return {name: column.higher_is_better for name, column in _COLUMNS.items() if column.part == part}


def form_aggregator(name: str) -> Callable[..., float | None] | None:
    """The aggregation of one of these metrics; None if the name is none."""
    if name not in _COLUMNS:
        return None
    column = _COLUMNS[name]

    def aggregate(items: Sequence[Item]) -> float | None:
        records, dataset = records_of(items), RUN.dataset_with_digest(items[0]["dataset"])
        setting, quick = TASKS[records[0]["setting"]], replace(RUN.options, resamples=2)
        found = form_results(records, dataset, setting.name, quick).get(column.part) or {}
        value: float | None = (found.get(column.key) or {}).get("value")
        return value

    aggregate.__name__ = aggregate.__qualname__ = name
    return aggregate
