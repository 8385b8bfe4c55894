"""A comparison as Markdown."""

from __future__ import annotations

from collections.abc import Mapping

from siming_tasks.analysis.comparison.pairwise import Comparison
from siming_tasks.analysis.comparison.two_way_bootstrap import CLAIMS
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import FLAGS, Estimate
from siming_tasks.metrics.thresholds import ALPHA, POWER, TRUSTED
from siming_tasks.report.tables.cells import UNDEFINED, key, plain_value, pvalue, short, table

__all__ = ["markdown", "ranked", "two_way_markdown"]

FILLED = (
    'Every missing answer as full points ("correct"), which no run can gain from by answering less; in parentheses the '
    "rank and its 95 % interval. Ranks and tests are of these values."
)


def markdown(found: Comparison, *, joint: bool = False) -> str:
    """The comparison as Markdown: estimates with ranks, differences, detectable effects, and what each rests on.

    Args:
        found: the comparison.
        joint: print the step-down max-T p-values beside Holm's.
    """
    names = list(next(iter(found.estimates.values())))
    runs = ranked(found)
    options = found.options
    facts = "".join(f", {name} {literal(value)}" for name, value in options["facts"].items())
    lines = [f"{len(found.runs)} runs over the same {found.n_videos} videos{facts}.", ""]
    if options["allowed"]:
        lines += [f"**Differences between the runs that were allowed: {', '.join(options['allowed'])}.**", ""]
    if found.n_videos < TRUSTED:
        lines += [f"**{FLAGS['few-videos']}**", ""]
    head = ["run", *(CATALOGUE[name].label for name in names)]
    if found.complete:
        lines += table(head, [[literal(run), *(_cell(found, run, name) for name in names)] for run in runs])
        lines += ["", "95 % intervals over videos; in parentheses the rank and its 95 % interval."]
    else:
        rows = [[literal(run), *(_plain(found.estimates[run][name]) for name in names)] for run in runs]
        lines += [*table(head, rows), "", "Of what each run answered; 95 % intervals over videos.", ""]
        judged = [name for name in names if CATALOGUE[name].compared]
        head = ["missing answers imputed", *(CATALOGUE[name].label for name in judged)]
        lines += table(head, [[literal(run), *(_cell(found, run, name) for name in judged)] for run in runs])
        lines += ["", FILLED]
    lines += _notes(found)
    lines += _differences(found, joint=joint)
    if found.detectable:
        rows = [
            [CATALOGUE[name].label, *map(plain_value, (d.against_zero, d.between_two, d.corrected)), str(d.pairs)]
            for name, d in found.detectable.items()
        ]
        head = ["metric", "one run against 0", "two runs", "two runs, Holm", "over comparisons"]
        lines += ["", *table(head, rows), ""]
        lines += [f"Smallest true effect that these videos would show with {100 * POWER:g} % power at the "
                  f"{100 * ALPHA:g} % level; -: none that the metric can reach, or 0 is no benchmark."]  # fmt: skip
    return "\n".join(lines) + "\n"


def ranked(found: Comparison) -> list[str]:
    """The runs by their rank in the primary metric, those without one last; equal ones as they were given."""
    ranks = found.ranks.get(found.primary, {})
    return sorted(found.runs, key=lambda run: ranks[run].rank if run in ranks else len(found.runs) + 1)


def two_way_markdown(runs: Mapping[str, Mapping[str, Estimate]]) -> str:
    """Intervals over videos and steps of several runs, with what each kind of interval claims."""
    names = list(next(iter(runs.values())))
    rows = [[literal(run), *(str(row[name]) for name in names)] for run, row in runs.items()]
    lines = table(["over videos and steps", *(CATALOGUE[name].label for name in names)], rows)
    return "\n".join([*lines, *key(rows), "", *CLAIMS.values()]) + "\n"


def _differences(found: Comparison, *, joint: bool) -> list[str]:
    """Every comparison with its interval and p, the primary metric first."""
    if not found.differences:
        return []
    head = ["metric", "a", "b", "a - b", "95 % interval", "p", "p (Holm)", *(["p (max-T)"] if joint else [])]
    head += [] if found.complete else ["both answered"]
    rows = []
    for d in sorted(found.differences, key=lambda item: not item.primary):
        span = "-" if d.low is None or d.high is None else f"{d.low:+.3f} .. {d.high:+.3f}"
        cells = [CATALOGUE[d.metric].label, literal(d.a), literal(d.b), f"{d.value:+.3f}", span, pvalue(d.p)]
        cells += [pvalue(d.p_holm), *([pvalue(d.p_max_t)] if joint else [])]
        there = "-" if d.answered is None else f"{d.answered:+.3f} (p {pvalue(d.answered_p)})"
        rows.append(cells if found.complete else [*cells, there + ("" if d.holds else " ✗")])
    primary = CATALOGUE[found.primary].label
    others = [row for row in found.differences if not row.primary]
    lines = ["", *table(head, rows), ""]
    lines += [
        f"{primary} is the primary metric, Holm over its {len(found.differences) - len(others)} comparisons"
        + (f"; the others are secondary, Holm over all their {len(others)}" if others else "")
        + ". Interval and p of a difference are the jackknife's t over videos. Judge a difference by its own row; "
        "whether the intervals of two runs overlap says nothing about it."
    ]
    if not found.complete:
        lines += ["", "✗: the lead is not one of the answers too: the run that answered no more than the other is not "
                  "ahead (or not significantly) on the items that both answered. It is not called better."]  # fmt: skip
    return lines


def _plain(estimate: Estimate) -> str:
    return short(estimate) if estimate.low is None else str(estimate)


def _cell(found: Comparison, run: str, metric: str) -> str:
    if not CATALOGUE[metric].compared:
        return short(found.estimates[run][metric])
    estimate, standing = found.imputed[run][metric], found.ranks.get(metric, {}).get(run)
    return f"{estimate} ({standing.rank}; {standing.low}-{standing.high})" if standing else str(estimate)


def _notes(found: Comparison) -> list[str]:
    """Undefined values, reasons and flags, one line for each run that has any."""
    lines = [
        f"{literal(run)} is not compared in {CATALOGUE[name].label}: {reason}"
        for name, reasons in found.skipped.items()
        for run, reason in reasons.items()
    ]
    if any("tailed" in estimate.flags for row in found.estimates.values() for estimate in row.values()):
        lines.insert(0, FLAGS["tailed"])  # of the videos, so of every run
    for name, ranks in found.ranks.items():
        lines += [
            f"{literal(run)} is not ranked above {', '.join(map(literal, standing.tied_with))} in "
            f"{CATALOGUE[name].label}, although its imputed value is larger: "
            "it is not ahead on the items both answered."
            for run, standing in ranks.items()
            if standing.tied_with
        ]
    for run, row in found.estimates.items():
        said: dict[str, list[str]] = {}
        for name, estimate in row.items():
            for note in estimate.notes:
                if note not in (FLAGS["few-videos"], FLAGS["tailed"]):
                    said.setdefault(note, []).append(CATALOGUE[name].label)
        parts = [
            note if len(metrics) == len(row) else f"{', '.join(metrics)}: {note}" for note, metrics in said.items()
        ]
        lines += [f"{literal(run)}: {' '.join(parts)}"] if parts else []
    if any(estimate.undefined for row in found.estimates.values() for estimate in row.values()):
        lines.append(UNDEFINED)
    each = [
        f"{literal(run)} {plain_value(row['gwet_ac2'])}, {plain_value(row['krippendorff_alpha'])}"
        for run, row in ((run, found.footnote[run]) for run in ranked(found) if run in found.footnote)
    ]
    blind = next(iter(found.footnote.values()))["gwet_ac2_of_always_correct"]
    lines.append(
        f"Footnote, chance taken otherwise (Gwet's AC2, Krippendorff's alpha): {'; '.join(each)}. Calling everything "
        f"correct has an AC2 of {plain_value(blind)}."
    )
    return [line for note in lines for line in ("", note)]
