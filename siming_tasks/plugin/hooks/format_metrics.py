"""Metrics that an answer format adds to those of its task, as lmms-eval's aggregators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from siming_tasks.plugin.hooks.run_context import RUN, Item, records_of
from siming_tasks.results.format_results import format_results
from siming_tasks.tasks import ANSWER_FORMATS, TASKS

__all__ = ["format_aggregator"]


def format_aggregator(name: str) -> Callable[..., float | None] | None:
    """The aggregation of a metric of some answer format by its name in the printed table; None if there is none."""
    if not any(name in form.metrics for form in ANSWER_FORMATS.values()):
        return None

    def aggregate(items: Sequence[Item]) -> float | None:
        records, dataset = records_of(items), RUN.dataset_with_digest(items[0]["dataset"])
        task = TASKS[records[0].setting]
        # Only values are printed here; two resamples spare the bootstrap.
        results = format_results(records, dataset, task.name, replace(RUN.options, resamples=2))
        numbers = results.get(task.answer_format.result_name) or {}
        value: float | None = (numbers.get(task.answer_format.metrics[name].key) or {}).get("value")
        return value

    aggregate.__name__ = aggregate.__qualname__ = name
    return aggregate
