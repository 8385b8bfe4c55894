"""Oddities of a submission: coverage, constants, claims that its predictions do not give, wrong arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from siming_tasks.common.errors import Problem
from siming_tasks.common.sanitize import visible
from siming_tasks.metrics.catalogue import headline
from siming_tasks.metrics.thresholds import COMPARABLE
from siming_tasks.report.published_tables.model import COLUMNS, Document, Row, Table
from siming_tasks.report.published_tables.numbers import parse
from siming_tasks.tasks import TASKS
from siming_tasks.tools.board.submission import Received
from siming_tasks.tools.table_lint.lint import lint

__all__ = ["CLAIM_TOLERANCE", "submission_findings"]

CLAIM_TOLERANCE = 0.0005
"""A claim agrees with the recomputed value if it rounds to the same third digit, give or take one rounding."""


def submission_findings(
    received: Received, settings: Mapping[str, Mapping[str, Any]], problems: Sequence[Problem]
) -> Iterator[str]:
    """Findings in sentences: they say what is odd, not why.

    Args:
        received: the submission with its claims.
        settings: evaluation of its predictions by setting (:mod:`siming_tasks.results.evaluate_records`).
        problems: of reading the predictions.
    """
    yield from _warnings(problems)
    yield from _coverage_and_claims(received, settings)
    yield from _arithmetic_contradictions(received)


def _warnings(problems: Sequence[Problem]) -> Iterator[str]:
    """Problems counted by kind: a thousand missing answers are one line."""
    counts: dict[str, int] = {}
    for problem in problems:
        counts[problem.code] = counts.get(problem.code, 0) + 1
    words = {"answer-missing": "steps without a usable answer", "prediction-missing": "settings with missing lines"}
    for code, n in counts.items():
        yield f"{n:,} {words.get(code, code)}."


def _coverage_and_claims(received: Received, settings: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Coverage, constants, and claims against what the predictions give."""
    about = received.submission
    if about.model.saw_test_data == "yes":
        yield "The model has seen test data, by its own card."
    for name, evaluation in settings.items():
        coverage = evaluation["metrics"]["coverage"]["value"]
        if coverage is not None and coverage < COMPARABLE:
            yield f"{name}: coverage {coverage:.1%}; not comparable below {100 * COMPARABLE:g} %."
        if "constant-prediction" in evaluation["metrics"][headline(TASKS[name].answer)]["flags"]:
            yield f"{name}: every prediction is the same."
        comparable = all(
            about.options.get(key) == evaluation["options"].get(key) for key in ("rater", "mapping", "positive")
        )
        for metric, claimed in about.claims.get(name, {}).items() if comparable else ():
            value = evaluation["metrics"].get(metric, {}).get("value")
            if (claimed is None) != (value is None) or (
                claimed is not None and value is not None and abs(claimed - value) > CLAIM_TOLERANCE
            ):
                yield f"{name}: {metric} is claimed as {_printed(claimed)}; the predictions give {_printed(value)}."
    for name in about.claims.keys() - settings.keys():
        yield f"{visible(name)[:40]}: numbers are claimed without predictions."


def _arithmetic_contradictions(received: Received) -> Iterator[str]:
    """Contradictions among the claimed numbers, by the table linter."""
    columns = {"qwk": "kappa"}
    tables = []
    for name, claims in received.submission.claims.items():
        values = {columns.get(key, key): parse(f"{v:.4f}") for key, v in claims.items() if v is not None}
        known = {key: printed for key, printed in values.items() if printed and key in COLUMNS}
        tables.append(Table(visible(name), (Row(received.submission.model.name, known),)))
    for finding in lint(Document("claims", tuple(tables))).inconsistent:
        yield f"{finding.table}: {finding.what}"


def _printed(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
