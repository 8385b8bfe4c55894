"""A comparison as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from siming_tasks.metrics.compare.paired import Comparison
from siming_tasks.metrics.compare.twoway import CLAIMS
from siming_tasks.metrics.estimate import FLAGS, Estimate
from siming_tasks.metrics.summary import TRUSTED

__all__ = ["NAMES", "markdown", "table", "two_way_markdown"]

NAMES = {
    "plcc": "PLCC",
    "srcc": "SRCC",
    "qwk": "kappa (qwk)",
    "mcc": "MCC",
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "coverage": "coverage",
}
"""Printed names of the metrics."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table; the first column is text, the others numbers."""
    lines = [head, [":--"] + ["--:"] * (len(head) - 1), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def markdown(found: Comparison, *, joint: bool = False) -> str:
    """The comparison as Markdown: estimates with ranks, differences, detectable effects, and what each rests on.

    Args:
        found: the comparison.
        joint: print the step-down max-T p-values beside Holm's.
    """
    names = list(next(iter(found.estimates.values())))
    options = found.options
    facts = "".join(f", {name} {value}" for name, value in options["facts"].items())
    lines = [f"{len(found.runs)} runs over the same {found.n_videos} videos{facts}.", ""]
    if options["allowed"]:
        lines += [f"**Differences between the runs that were allowed: {', '.join(options['allowed'])}.**", ""]
    if found.n_videos < TRUSTED:
        lines += [f"**{FLAGS['few-videos']}**", ""]
    rows = [[run, *(_cell(found, run, name) for name in names)] for run in found.runs]
    lines += table(["run", *(NAMES[name] for name in names)], rows)
    lines += ["", "95 % intervals over videos; in parentheses the rank and its 95 % interval."]
    lines += _notes(found)
    head = ["metric", "a", "b", "a - b", "95 % interval", "p", "p (Holm)", *(["p (max-T)"] if joint else [])]
    rows = [
        [NAMES[d.metric], d.a, d.b, f"{d.value:+.3f}", f"{d.low:+.3f} .. {d.high:+.3f}", _p(d.p), _p(d.p_holm)]
        + ([_p(d.p_max_t)] if joint else [])
        for d in found.differences
    ]
    if rows:
        lines += ["", *table(head, rows), ""]
        lines += [
            "Paired intervals over videos; p by sign flips of pseudo-value differences, Holm within each metric. "
            "Judge a difference by its own row; whether the intervals of two runs overlap says nothing about it."
        ]
    if found.detectable:
        pairs = next(iter(found.detectable.values())).pairs
        rows = [
            [NAMES[name], f"{d.against_zero:.3f}", f"{d.between_two:.3f}", f"{d.corrected:.3f}"]
            for name, d in found.detectable.items()
        ]
        head = ["metric", "one run against 0", "two runs", f"two runs, Holm over {pairs} comparisons"]
        lines += ["", *table(head, rows), ""]
        lines += ["Smallest true effect that these videos would show with 80 % power at the 5 % level."]
    return "\n".join(lines) + "\n"


def two_way_markdown(runs: Mapping[str, Mapping[str, Estimate]]) -> str:
    """Intervals over videos and steps of several runs, with what each kind of interval claims."""
    names = list(next(iter(runs.values())))
    rows = [[run, *(str(row[name]) for name in names)] for run, row in runs.items()]
    lines = table(["over videos and steps", *(NAMES[name] for name in names)], rows)
    return "\n".join([*lines, "", *CLAIMS.values()]) + "\n"


def _cell(found: Comparison, run: str, metric: str) -> str:
    estimate = found.estimates[run][metric]
    if metric == "coverage" or metric in found.skipped:
        return _short(estimate)
    standing = found.ranks[metric][run]
    return f"{estimate} ({standing.rank}; {standing.low}-{standing.high})"


def _short(estimate: Estimate) -> str:
    return "-" if estimate.value is None else f"{estimate.value:.3f}"


def _notes(found: Comparison) -> list[str]:
    """Undefined values, reasons and flags, one line for each run that has any."""
    lines = [f"{NAMES[name]} is not compared: {reason}" for name, reason in found.skipped.items()]
    for run, row in found.estimates.items():
        said: dict[str, list[str]] = {}
        for name, estimate in row.items():
            for note in estimate.notes:
                if note != FLAGS["few-videos"]:
                    said.setdefault(note, []).append(NAMES[name])
        parts = [
            note if len(metrics) == len(row) else f"{', '.join(metrics)}: {note}" for note, metrics in said.items()
        ]
        lines += [f"{run}: {' '.join(parts)}"] if parts else []
    if any(estimate.undefined for row in found.estimates.values() for estimate in row.values()):
        lines.append("0.000* is undefined, printed as zero.")
    return [line for note in lines for line in ("", note)]


def _p(p: float) -> str:
    return "<.001" if p < 0.001 else f"{p:.3f}".lstrip("0")
