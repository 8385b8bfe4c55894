"""A comparison as Markdown."""

from __future__ import annotations

from collections.abc import Mapping

from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.compare.paired import Comparison
from siming_tasks.metrics.compare.twoway import CLAIMS
from siming_tasks.metrics.estimate import FLAGS, Estimate
from siming_tasks.metrics.thresholds import ALPHA, POWER, TRUSTED
from siming_tasks.plaintext import literal
from siming_tasks.present.cells import pvalue, short, table

__all__ = ["markdown", "two_way_markdown"]


def markdown(found: Comparison, *, joint: bool = False) -> str:
    """The comparison as Markdown: estimates with ranks, differences, detectable effects, and what each rests on.

    Args:
        found: the comparison.
        joint: print the step-down max-T p-values beside Holm's.
    """
    names = list(next(iter(found.estimates.values())))
    options = found.options
    facts = "".join(f", {name} {literal(value)}" for name, value in options["facts"].items())
    lines = [f"{len(found.runs)} runs over the same {found.n_videos} videos{facts}.", ""]
    if options["allowed"]:
        lines += [f"**Differences between the runs that were allowed: {', '.join(options['allowed'])}.**", ""]
    if found.n_videos < TRUSTED:
        lines += [f"**{FLAGS['few-videos']}**", ""]
    rows = [[literal(run), *(_cell(found, run, name) for name in names)] for run in found.runs]
    lines += table(["run", *(CATALOGUE[name].label for name in names)], rows)
    lines += ["", "95 % intervals over videos; in parentheses the rank and its 95 % interval."]
    lines += _notes(found)
    head = ["metric", "a", "b", "a - b", "95 % interval", "p", "p (Holm)", *(["p (max-T)"] if joint else [])]
    rows = [
        [
            CATALOGUE[d.metric].label,
            literal(d.a),
            literal(d.b),
            f"{d.value:+.3f}",
            f"{d.low:+.3f} .. {d.high:+.3f}",
            pvalue(d.p),
            pvalue(d.p_holm),
        ]
        + ([pvalue(d.p_max_t)] if joint else [])
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
            [CATALOGUE[name].label, f"{d.against_zero:.3f}", f"{d.between_two:.3f}", f"{d.corrected:.3f}"]
            for name, d in found.detectable.items()
        ]
        head = ["metric", "one run against 0", "two runs", f"two runs, Holm over {pairs} comparisons"]
        lines += ["", *table(head, rows), ""]
        lines += [f"Smallest true effect that these videos would show with {100 * POWER:g} % power at the "
                  f"{100 * ALPHA:g} % level."]  # fmt: skip
    return "\n".join(lines) + "\n"


def two_way_markdown(runs: Mapping[str, Mapping[str, Estimate]]) -> str:
    """Intervals over videos and steps of several runs, with what each kind of interval claims."""
    names = list(next(iter(runs.values())))
    rows = [[literal(run), *(str(row[name]) for name in names)] for run, row in runs.items()]
    lines = table(["over videos and steps", *(CATALOGUE[name].label for name in names)], rows)
    return "\n".join([*lines, "", *CLAIMS.values()]) + "\n"


def _cell(found: Comparison, run: str, metric: str) -> str:
    estimate = found.estimates[run][metric]
    if not CATALOGUE[metric].compared or metric in found.skipped:
        return short(estimate)
    standing = found.ranks[metric][run]
    return f"{estimate} ({standing.rank}; {standing.low}-{standing.high})"


def _notes(found: Comparison) -> list[str]:
    """Undefined values, reasons and flags, one line for each run that has any."""
    lines = [f"{CATALOGUE[name].label} is not compared: {reason}" for name, reason in found.skipped.items()]
    for run, row in found.estimates.items():
        said: dict[str, list[str]] = {}
        for name, estimate in row.items():
            for note in estimate.notes:
                if note != FLAGS["few-videos"]:
                    said.setdefault(note, []).append(CATALOGUE[name].label)
        parts = [
            note if len(metrics) == len(row) else f"{', '.join(metrics)}: {note}" for note, metrics in said.items()
        ]
        lines += [f"{literal(run)}: {' '.join(parts)}"] if parts else []
    if any(estimate.undefined for row in found.estimates.values() for estimate in row.values()):
        lines.append("0.000* is undefined, printed as zero.")
    return [line for note in lines for line in ("", note)]
